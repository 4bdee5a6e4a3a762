"""The tables of attachments: files by their ids, blobs of bytes that files share, and which messages use them.

A blob begins as an upload, with an owner and no digest. When it is complete it gets its digest, and files refer to
it; a blob of the same tenant with the same digest takes its place. A blob that nothing refers to any more is dropped:
first its row is marked, then its chunks are removed, then its row. So an interrupted removal is finished later.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from threadkeep.conversation.entry import Body
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange

CHUNK = 256 * 1024
"""How many bytes of a blob are one row of a database."""


class StoredFile(NamedTuple):
    """A file of a user. `touched_at` is when it was last uploaded or sent; `chunk` is how long the chunks of its blob
    are."""

    user: str
    id: str
    name: str
    media_type: str
    size: int
    sha256: str
    blob: str
    chunk: int
    created_at: datetime
    touched_at: datetime


class Upload(NamedTuple):
    """A file that has not arrived as a whole: `size` bytes of it are there. Its id is that of its blob."""

    id: str
    name: str
    media_type: str
    size: int
    chunk: int


class FileUsage(NamedTuple):
    """How many files there are, and how many bytes they take; what is being uploaded counts."""

    files: int
    bytes: int


class FileCaps(NamedTuple):
    """How many bytes a user and a tenant may have; 0 is no cap."""

    user: int = 0
    tenant: int = 0


NO_CAPS = FileCaps()


class Chunks(ABC):
    """Where the bytes of blobs are, in chunks that are numbered from 0 and have `size` bytes, except the last."""

    size: int = CHUNK

    @abstractmethod
    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        """Keep a chunk, in place of what was kept under its number; durable when this returns."""

    @abstractmethod
    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        """Return a chunk; none if it is missing."""

    @abstractmethod
    async def remove(self, tenant: str, blob: str) -> None:
        """Remove all chunks of a blob, in small steps."""


class FileTables(Chunks):
    """The tables of a store; every verb is atomic and durable. The bytes are there too, unless they are kept elsewhere.
    Whoever calls this has checked names, sizes and types."""

    @abstractmethod
    async def begin(self, scope: Scope, upload: Upload, at: datetime) -> None:
        """Begin an upload."""

    @abstractmethod
    async def upload(self, scope: Scope, id: str) -> Upload | None:
        """Return an upload of this user that is not complete."""

    @abstractmethod
    async def grow(self, scope: Scope, id: str, offset: int, size: int, at: datetime, caps: FileCaps = NO_CAPS) -> bool:
        """Note that an upload that had `offset` bytes has `size` by now; return whether it had. `StorageFull` if files
        and uploads are then more than the caps."""

    @abstractmethod
    async def finish(self, scope: Scope, file: StoredFile, caps: FileCaps = NO_CAPS) -> tuple[StoredFile, bool] | None:
        """Make the upload `file.blob` a file; return the file, and whether it is new; none if there is no such upload.
        A file that was there is touched, and what was uploaded again is dropped. `StorageFull` if a new one makes the
        files, without what is being uploaded, more than the caps."""

    @abstractmethod
    async def drop_upload(self, scope: Scope, id: str) -> bool:
        """Give an upload up; return whether it was there."""

    @abstractmethod
    async def find(self, scope: Scope, id: str) -> StoredFile | None:
        """Return a file of this user, unless the conversations that use it were all deleted and it was not uploaded
        again since; if one is restored, it is back."""

    @abstractmethod
    async def touch(self, scope: Scope, id: str, at: datetime) -> None:
        """Note that a file is about to be used."""

    @abstractmethod
    async def files(self, tenant: str, user: str | None, after: str, limit: int) -> list[StoredFile]:
        """Return files of a tenant, or of one user, in the order of their ids, behind an id."""

    @abstractmethod
    async def unused(self, tenant: str, before: datetime, limit: int) -> list[str]:
        """Return files that were not touched since then and that no message uses, nor one that can be restored."""

    @abstractmethod
    async def drop(self, tenant: str, ids: Sequence[str], before: datetime | None) -> int:
        """Remove files; return how many. With `before`, only those that `unused` would return now."""

    @abstractmethod
    async def drop_uploads(self, tenant: str, before: datetime, user: str | None = None) -> int:
        """Give up uploads, of anybody or of one user, that did not grow since then; return how many."""

    @abstractmethod
    async def dropped(self, tenant: str, limit: int) -> list[str]:
        """Return blobs that were dropped and whose chunks may still be there."""

    @abstractmethod
    async def forget(self, tenant: str, blob: str) -> None:
        """Remove the row of a dropped blob, whose chunks are gone."""

    @abstractmethod
    async def usage(self, tenant: str, user: str | None = None) -> FileUsage:
        """Return what a user has, or what a tenant has, in which every blob counts once."""

    @abstractmethod
    async def used_bytes(self, tenant: str, user: str | None = None, conversation: str | None = None) -> int:
        """Return how many bytes the files have that conversations of a tenant, of a user or one conversation use; what
        was deleted uses none. Each file counts once."""

    @abstractmethod
    async def tenants(self) -> tuple[str, ...]:
        """Return the tenants that may have files."""

    async def scrub(self) -> None:
        """Overwrite what removed chunks have left behind in files of ours, if anything stays there."""
        return


def attached_parts(body: Body) -> Iterator[Attachment]:
    """Yield the parts of an entry that are files; a queued message has its files, too."""
    message = body.message if isinstance(body, TurnChange) else body
    if isinstance(message, Message) and message.parts:
        yield from (part for part in message.parts if isinstance(part, Attachment))


def attached_files(body: Body) -> Iterator[str]:
    """Yield the ids of the files that an entry uses."""
    return (part.file for part in attached_parts(body))
