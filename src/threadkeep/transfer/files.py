"""Attached files on their way out and in: what a line of an export says of one, its bytes in an archive, and copies.

The id of a file follows from its owner, its content and its name. So a file that goes to somebody else gets another id,
and the messages that came with it are changed to name that one. No message that comes in names a file of anybody else.
"""

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex

from pydantic import Field

from threadkeep.conversation.entry import Body, Entry
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment, Part
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange
from threadkeep.conversation.value import Text, Value
from threadkeep.errors import FileNotFound, ImportDamaged, StoreCorrupt
from threadkeep.store.attachments import Attachments, FileLimits, file_id
from threadkeep.store.file_tables import StoredFile, attached_parts

SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
LARGEST_SHOWN = 2_000_000
"""How many bytes an image may have that stands in a page for people to read."""
READ_AT_ONCE = 192 * 1024
"""How much of an image is read at a time; base64 takes three bytes at a time."""
UNLIMITED = FileLimits(file=0, message=0, user=0, tenant=0)
"""For whoever operates a store."""


class FileLine(Value):
    """What a line of an export says of a file."""

    id: Id
    name: Text = Field(max_length=255)
    media_type: Text = Field(max_length=255)
    size: int = Field(ge=1)
    sha256: Text = Field(pattern="^[0-9a-f]{64}$")

    @classmethod
    def in_part(cls) -> list[str]:
        """Return the fields that a part of a message has, too."""
        return [name for name in cls.model_fields if name != "id"]


Opened = Callable[[str], Iterator[bytes] | None]
"""Returns the bytes of a file by its digest, piece by piece; None where they did not come along."""


@dataclass(frozen=True, slots=True)
class PortableFile:
    """A file that was named in an export, and where its bytes are."""

    line: FileLine
    opened: Opened

    def check(self) -> None:
        """Read the bytes; `ImportDamaged` if they are not there, or others than were exported."""
        digest = sha256()
        for piece in self.opened(self.line.sha256) or ():
            digest.update(piece)
        if digest.hexdigest() != self.line.sha256:
            raise ImportDamaged(f"The file {self.line.name} is not what was exported.")


class FilesFound:
    """Looks up the files that conversations use while they are exported; `by_digest` are those that were found."""

    def __init__(self, attachments: Attachments | None) -> None:
        self._attachments = attachments
        self.by_digest: dict[str, tuple[Scope, StoredFile]] = {}

    async def lines(self, scope: Scope, parts: Iterable[Attachment]) -> AsyncIterator[str]:
        """Yield what an export says of the files of messages, also of those whose bytes are not here."""
        for part in parts:
            if self._attachments is not None:
                with suppress(FileNotFound):
                    found = await self._attachments.stored(scope, part.file)
                    self.by_digest.setdefault(found.sha256, (scope, found))
            if part.sha256 and part.size:
                line = FileLine(id=part.file, **{name: getattr(part, name) for name in FileLine.in_part()})
                yield f'{{"file":{line.model_dump_json()}}}\n'

    async def data(self, digest: str) -> AsyncIterator[bytes]:
        """Yield the bytes of a file that was found; fewer if it is removed meanwhile."""
        scope, found = self.by_digest[digest]
        if self._attachments is not None:
            with suppress(FileNotFound):
                async for piece in self._attachments.stream(scope, found.id):
                    yield piece


async def take_files(attachments: Attachments | None, scope: Scope, files: Iterable[PortableFile]) -> dict[str, str]:
    """Keep the files whose bytes came along; return the ids that all of them have here. `ImportDamaged` if the bytes
    are others than were exported: then nothing of them is kept."""
    named: dict[str, str] = {}
    for file in files:
        line = file.line
        named[line.id] = id = file_id(scope, line.sha256, line.name)
        data = file.opened(line.sha256)
        if attachments is None or data is None or await _is_there(attachments, scope, id):
            continue
        kept, is_new = await attachments.receive(scope, line.name, line.media_type, _read(data), size=line.size)
        if kept.id != id:
            if is_new:
                await attachments.delete(scope, kept.id)
            raise ImportDamaged(f"The file {line.name} is not what was exported.")
    return named


async def copy_files(source: Attachments, target: Attachments, scope: Scope, ids: Iterable[str]) -> None:
    """Copy the files of a user from store to store, but for those that are gone or there already."""
    for id in ids:
        with suppress(FileNotFound):
            found = await source.stored(scope, id)
            if not await _is_there(target, scope, id):
                await target.receive(scope, found.name, found.media_type, source.stream(scope, id), size=found.size)


async def with_images(
    attachments: Attachments | None, scope: Scope, entry: Entry, write: Callable[[Entry, Mapping[str, str]], str]
) -> AsyncIterator[str]:
    """Yield what is written of an entry, with its images as `data:` URIs; not large ones, and not those that are gone.

    It is written with marks in their places, and a piece of one image is read at a time: who reads slowly has it held.
    """
    marks = {token_hex(): part for part in await _shown(attachments, scope, entry)}
    uris = {part.file: f"data:{part.media_type};base64,{mark}" for mark, part in marks.items()}
    # To draw a long message takes a while.
    text = await asyncio.to_thread(write, entry, uris)
    for piece in re.split(f"({'|'.join(marks)})", text) if marks else (text,):
        if attachments is not None and (part := marks.get(piece)) is not None:
            with suppress(FileNotFound, StoreCorrupt):
                for start in range(0, part.size or 0, READ_AT_ONCE):
                    yield b64encode(await attachments.read(scope, part.file, start, start + READ_AT_ONCE)).decode()
        elif piece:
            yield piece


async def _shown(attachments: Attachments | None, scope: Scope, entry: Entry) -> list[Attachment]:
    """Return the images of a message that stand in a page, each once."""
    if attachments is None or not isinstance(entry.body, Message):
        return []
    found = {part.file: part for part in entry.body.parts if isinstance(part, Attachment) and part.media_type in SHOWN}
    small = [part for part in found.values() if (part.size or 0) <= LARGEST_SHOWN]
    return [part for part in small if await _is_there(attachments, scope, part.file)]


async def _is_there(attachments: Attachments, scope: Scope, id: str) -> bool:
    try:
        await attachments.stored(scope, id)
    except FileNotFound:
        return False
    return True


async def _read(data: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, data, None)) is not None:
        yield piece


async def with_files_of(scope: Scope, entries: AsyncIterator[Entry], named: Mapping[str, str]) -> AsyncIterator[Entry]:
    """Yield the entries with the files in them named as this user's; `named` are those that an export tells of."""
    async for entry in entries:
        is_changed = any(True for _ in attached_parts(entry.body))
        yield entry.model_copy(update={"body": _with_files_of(scope, entry.body, named)}) if is_changed else entry


def _with_files_of(scope: Scope, body: Body, named: Mapping[str, str]) -> Body:
    if isinstance(body, TurnChange) and body.message is not None:
        return body.model_copy(update={"message": _with_files_of(scope, body.message, named)})
    if not isinstance(body, Message):
        return body
    parts: list[Part] = [
        part.model_copy(update={"file": _own_id(scope, part, named)}) if isinstance(part, Attachment) else part
        for part in body.parts
    ]
    return body.model_copy(update={"parts": tuple(parts)})


def _own_id(scope: Scope, part: Attachment, named: Mapping[str, str]) -> str:
    """Return the id that a file has if it is this user's. One of which nobody tells the content gets an id that no file
    has, because what it names may be somebody else's."""
    if part.sha256:
        return file_id(scope, part.sha256, part.name)
    return named.get(part.file) or file_id(scope, "", part.file)
