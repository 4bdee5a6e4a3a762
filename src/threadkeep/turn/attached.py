"""Files in a turn: what a person attaches and what tools return, and their bytes for the model that is asked.

The text of a document is extracted once, before its message is stored, and is part of the message: what models are told
and what search finds follows from the log alone.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from pathlib import Path

from threadkeep import errors
from threadkeep.conversation.parts import MAX_PARTS, Attachment, Part, safe_file_name
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import storable
from threadkeep.conversion import LARGEST_FILE
from threadkeep.llm.base import FileReader
from threadkeep.store.attachments import to_part
from threadkeep.tools.base import ToolFile
from threadkeep.turn.active_turn import EngineDeps

Attachable = Path | tuple[str, bytes] | str | Attachment
"""A file to attach: its path, its name and bytes, or the id of one that is kept."""
PIECE = 1 << 20
MOST_TEXT = 100_000
"""How many characters of the texts of all files of one message are kept, together; search looks at no more."""
LARGEST_IMAGE = 3_900_000
"""The largest image in bytes that every provider takes: 5 MB in base64."""


async def attached(deps: EngineDeps, scope: Scope, given: Attachable) -> Attachment:
    """Keep a file for a message that is about to be sent, and return it as a part; one that is kept already is found.
    `InvalidValue` if it cannot be read."""
    if deps.attachments is None:
        raise errors.InvalidValue("This store keeps no files.")
    match given:
        case Attachment():
            return given.model_copy(update={"at": 0})
        case str():
            return await deps.attachments.find(scope, given)
        case name, data:
            return await deps.attachments.save(scope, name, "", data)
        case path:
            try:
                # A pipe or a device would be waited for, maybe for ever.
                if not await asyncio.to_thread(path.is_file):
                    raise FileNotFoundError(None, "there is no such file")
                size = (await asyncio.to_thread(path.stat)).st_size
                kept, _ = await deps.attachments.receive(scope, path.name, "", _pieces(path), size=size)
            except OSError as error:
                raise errors.InvalidValue(f"{path} cannot be read: {error.strerror}") from None
            return to_part(kept)


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece


async def stored(deps: EngineDeps, scope: Scope, parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with what is stored of their files, whatever the client wrote. `FileNotFound`
    if one is missing, `AttachmentsTooLarge` if they are too large together."""
    known = [await _known(deps, scope, part) if isinstance(part, Attachment) else part for part in parts]
    most = deps.attachments.limits.message if deps.attachments else 0
    if 0 < most < sum(part.size or 0 for part in known if isinstance(part, Attachment)):
        raise errors.AttachmentsTooLarge(f"The files of a message have at most {most} bytes together.")
    return await _with_texts(deps, scope, known)


async def kept(deps: EngineDeps, scope: Scope, files: tuple[ToolFile, ...]) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """Keep the files of a tool's result; return them as parts, and a line for each that cannot be kept."""
    parts, unkept = list[Part](), list[str]()
    for file in files:
        try:
            if deps.attachments is None or len(parts) == MAX_PARTS:
                raise errors.TooManyParts
            name = safe_file_name(file.name)
            parts.append(await deps.attachments.save(scope, name, file.media_type, file.data))
        except (errors.InvalidInput, errors.LimitReached):
            unkept.append(storable(file.line))
    with suppress(errors.RateLimited):  # then the model reads the result without what is written in its files
        parts = list(await _with_texts(deps, scope, parts))
    return tuple(parts), tuple(unkept)


def file_reader(deps: EngineDeps, scope: Scope) -> FileReader | None:
    """Return the function that reads the files of a scope for a model. Images are made smaller; one that is still too
    large is `FileNotFound`, as is a file that cannot be read in an outage."""
    attachments = deps.attachments
    if attachments is None:
        return None

    async def read(part: Attachment) -> bytes:
        try:
            data = await attachments.read(scope, part.file)
        except errors.StoreError:
            if deps.store.operations.outage() is None:
                raise
            raise errors.FileNotFound from None  # the turn goes on in the spool, without the file
        if part.type == "image":
            data = await deps.converter.image(part.file, data, scope)
            if len(data) > LARGEST_IMAGE:
                raise errors.FileNotFound
        return data

    return read


async def _known(deps: EngineDeps, scope: Scope, part: Attachment) -> Attachment:
    if deps.attachments is None:
        raise errors.FileNotFound
    found = await deps.attachments.find(scope, part.file)
    if found.type != part.type:
        raise errors.InvalidPart(f"The file {part.file} is of the type {found.type}, and not {part.type}.")
    known = {name: getattr(found, name) for name in ("name", "media_type", "size", "sha256", "extract")}
    return part.model_copy(update=known)


async def _with_texts(deps: EngineDeps, scope: Scope, parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts, each document with its text, up to `MOST_TEXT` characters together."""
    read, left = list[Part](), MOST_TEXT
    for part in parts:
        if isinstance(part, Attachment) and _is_read(part) and deps.attachments is not None and left > 0:
            data = await deps.attachments.read(scope, part.file)
            text = (await deps.converter.text(data, scope))[:left]
            left -= len(text)
            part = part.model_copy(update={"extract": text})
        read.append(part)
    return tuple(read)


def _is_read(part: Attachment) -> bool:
    return part.type == "file" and (part.size or 0) <= LARGEST_FILE
