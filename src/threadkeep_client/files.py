"""Files that go with a message: sent to the server before it."""

import asyncio
from pathlib import Path
from urllib.parse import quote

from threadkeep.conversation.parts import Attachment
from threadkeep.errors import InvalidValue
from threadkeep_client.wire import Wire

Attachable = Path | tuple[str, bytes] | str | Attachment
"""A file to attach: its path, its name and bytes, or the id of one that the server has."""


async def attached(wire: Wire, given: Attachable) -> Attachment:
    """Have the server keep a file, and return it as a part to send."""
    match given:
        case Attachment():
            return given
        case str():
            return Attachment(type="file", file=given)
        case name, data:
            pass
        case path:
            try:
                name, data = path.name, await asyncio.to_thread(path.read_bytes)
            except OSError as error:
                raise InvalidValue(f"{path} cannot be read: {error.strerror}") from None
    headers = {"Content-Type": "application/octet-stream"}
    made = await wire.call("POST", f"/v1/files?name={quote(name, safe='')}", content=data, headers=headers)
    known = {field: made[field] for field in Attachment.model_fields if field in made}
    return Attachment.model_validate({**known, "file": made["id"]})
