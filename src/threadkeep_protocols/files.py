"""Files that clients send: in `data:` addresses, or uploaded here before, by their own or a signed address. No other
address is looked at."""

import asyncio
import binascii
from base64 import b64decode
from urllib.parse import unquote_to_bytes

from threadkeep.conversation.parts import Attachment, safe_file_name
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep_protocols.signed import SIGNED, SignedFiles

OUR_FILES = "/v1/files/"


async def kept_file(conversations: Conversations, scope: Scope, url: object, name: object = None) -> Attachment:
    """Keep the file of a `data:` address, or find one that is kept here."""
    if not isinstance(url, str):
        raise InvalidValue("A file has a `url`.")
    if SIGNED in url and not url.startswith("data:"):
        return await SignedFiles(conversations).kept(url.rpartition(SIGNED)[2], scope)
    if OUR_FILES in url and not url.startswith("data:"):
        return await conversations.attach(url.rpartition(OUR_FILES)[2], scope=scope)
    if not url.startswith("data:"):
        raise InvalidValue("A file comes as a `data:` address, or was uploaded here; other addresses are not asked.")
    data = await asyncio.to_thread(_decoded, url)
    return await conversations.attach((safe_file_name(name) if isinstance(name, str) else "", data), scope=scope)


def _decoded(url: str) -> bytes:
    about, comma, data = url.partition(",")
    try:
        if not comma:
            raise ValueError
        return b64decode(data, validate=True) if about.endswith(";base64") else unquote_to_bytes(data)
    except (ValueError, binascii.Error):
        raise InvalidValue("The `data:` address of a file cannot be read.") from None
