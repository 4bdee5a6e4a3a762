"""Attachments: files that messages refer to by id, uploaded in one go or in pieces, read as a whole or in part.

A file belongs to a user of a tenant; for others it is missing. Its id is derived from owner, content and name, so the
same file saved twice is one file. Its type is derived from its bytes. Never more than a chunk or two is in memory.

Its bytes are in the tables of the store, in a folder, or where packages around the core keep them, such as object
stores. Bytes that are in the database from before are still used there.
"""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from threadkeep import errors
from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.conversation.ids import IdSource, check_id, new_id
from threadkeep.conversation.parts import Attachment, attachment_kind, check_file_name
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidValue, UploadMismatch
from threadkeep.rings import FILE_PLACES, load
from threadkeep.store import filesystem
from threadkeep.store.file_tables import Chunks, FileCaps, FileTables, FileUsage, StoredFile, Upload
from threadkeep.store.filesystem import translating_os_errors
from threadkeep.store.media_type import media_type

MEGABYTE = 1024 * 1024
UNUSED_FOR = timedelta(days=1)
"""How long a file is kept that no message uses, and an upload that does not grow."""
TOUCHED_FOR = timedelta(hours=1)
"""A file that was touched longer ago is touched again when it is sent, so that it is kept until the message uses it."""
PAGE = 100


class FileLimits(NamedTuple):
    """How many bytes one file, the files of one message, of a user and of a tenant may have; 0 is no limit."""

    file: int = 20 * MEGABYTE
    message: int = 50 * MEGABYTE
    user: int = 1024 * MEGABYTE
    tenant: int = 0


class Attachments:
    """The files in the tables of a store, with their bytes there or in other `chunks`."""

    def __init__(
        self,
        tables: FileTables,
        clock: Clock = utc_now,
        ids: IdSource = new_id,
        limits: FileLimits | None = None,
        chunks: Chunks | None = None,
    ) -> None:
        self.limits = limits or FileLimits()
        self._tables = tables
        self._chunks = chunks or tables
        self._clock = clock
        self._ids = ids

    # Reading

    async def stored(self, scope: Scope, file: str) -> StoredFile:
        """Return the row of a file; `FileNotFound` if there is none, or it is somebody else's."""
        with suppress(errors.InvalidId):
            if (found := await self._tables.find(scope, check_id(file))) is not None:
                return found
        raise errors.FileNotFound

    async def find(self, scope: Scope, file: str) -> Attachment:
        """Return a file as a part of a message that is about to be sent."""
        found = await self.stored(scope, file)
        if found.touched_at < (now := self._clock()) - TOUCHED_FOR:
            await self._tables.touch(scope, file, now)
        return to_part(found)

    async def stream(self, scope: Scope, file: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """Yield the bytes of a file from `start` up to before `end`, chunk by chunk."""
        found = await self.stored(scope, file)
        end = found.size if end is None else min(end, found.size)
        while start < end:
            number, skipped = divmod(start, found.chunk)
            data = await self._chunks.get(scope.tenant, found.blob, number)
            if data is None or len(data) != min(found.chunk, found.size - number * found.chunk):
                # It may have been removed while it was read.
                await self.stored(scope, file)
                raise errors.StoreCorrupt(f"A part of the file {file} is missing.")
            piece = data[skipped : skipped + end - start]
            start += len(piece)
            yield piece

    async def read(self, scope: Scope, file: str, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes of a file, or a part of them."""
        return b"".join([piece async for piece in self.stream(scope, file, start, end)])

    async def files(self, tenant: str, user: str | None = None) -> AsyncIterator[StoredFile]:
        """Yield the files of a tenant, or of one user of it."""
        after = ""
        while page := await self._tables.files(tenant, user, after, PAGE):
            for file in page:
                yield file
            after = page[-1].id

    async def usage(self, tenant: str, user: str | None = None) -> FileUsage:
        """Return how much a user has, or a tenant, in which the same content counts once."""
        return await self._tables.usage(tenant, user)

    # Writing

    async def save(self, scope: Scope, name: str, media_type: str, data: bytes) -> Attachment:
        """Keep a file and return it as a part of a message; durable when it returns. The type is a hint: what the bytes
        are decides. `FileTooLarge`, `EmptyFile` or `StorageFull` if it is not kept."""
        return to_part((await self.receive(scope, name, media_type, _pieces(data), size=len(data)))[0])

    async def receive(
        self, scope: Scope, name: str, media_type: str, pieces: AsyncIterable[bytes], *, size: int | None = None
    ) -> tuple[StoredFile, bool]:
        """Keep a file that comes in pieces; return it, and whether it is new. If that is cut off, nothing is kept."""
        upload = await self.begin(scope, name, media_type, size=size)
        digest = hashlib.sha256()
        try:
            upload = await self.append(scope, upload.id, 0, _hashed(pieces, digest))
            return await self._finish(scope, upload, digest.hexdigest())
        finally:
            if await self._tables.drop_upload(scope, upload.id):
                await self._sweep(scope.tenant)

    async def begin(self, scope: Scope, name: str, media_type: str = "", *, size: int | None = None) -> Upload:
        """Begin an upload that may be resumed; `size` is how large it will be, if that is known."""
        check_file_name(name)
        await self._check_coming(scope, size or 0)
        upload = Upload(self._ids(), name, media_type[:255], 0, self._chunks.size)
        await self._tables.begin(scope, upload, self._clock())
        return upload

    async def upload(self, scope: Scope, id: str) -> Upload:
        """Return the state of an upload; `UploadNotFound` if it is complete, somebody else's or missing."""
        with suppress(errors.InvalidId):
            if (found := await self._tables.upload(scope, check_id(id))) is not None:
                return found
        raise errors.UploadNotFound

    async def append(self, scope: Scope, id: str, offset: int, pieces: AsyncIterable[bytes]) -> Upload:
        """Add what comes to an upload that has `offset` bytes, else `UploadMismatch`; what has come stays, also if the
        rest never does."""
        upload = await self.upload(scope, id)
        if upload.size != offset:
            raise errors.UploadMismatch(f"The upload goes on at byte {upload.size}.")
        number, kept = divmod(offset, upload.chunk)
        buffer = bytearray(await self._chunks.get(scope.tenant, id, number) or b"")[:kept] if kept else bytearray()
        try:
            async for piece in pieces:
                if 0 < self.limits.file < number * upload.chunk + len(buffer) + len(piece):
                    raise errors.FileTooLarge(f"A file has at most {self.limits.file} bytes.")
                buffer += piece
                while len(buffer) >= upload.chunk:
                    upload = await self._put(scope, upload, number, bytes(buffer[: upload.chunk]))
                    del buffer[: upload.chunk]
                    number += 1
        finally:
            if number * upload.chunk + len(buffer) > upload.size:
                upload = await self._put(scope, upload, number, bytes(buffer[: upload.chunk]))
        return upload

    async def _put(self, scope: Scope, upload: Upload, number: int, data: bytes) -> Upload:
        """Keep a chunk, the last one of an upload so far."""
        await self._check_coming(scope, len(data))
        await self._chunks.put(scope.tenant, upload.id, number, data)
        size = number * upload.chunk + len(data)
        if not await self._tables.grow(scope, upload.id, upload.size, size, self._clock(), self._caps):
            raise errors.UploadMismatch("The upload was continued by another request.")
        return upload._replace(size=size)

    async def uploaded(self, scope: Scope, id: str) -> AsyncIterator[bytes]:
        """Yield what an upload has so far, chunk by chunk."""
        upload = await self.upload(scope, id)
        for number in range(-(-upload.size // upload.chunk)):
            yield await self._chunks.get(scope.tenant, id, number) or b""

    async def complete(self, scope: Scope, id: str) -> tuple[StoredFile, bool]:
        """Make an upload a file; return it, and whether it is new."""
        upload, digest = await self.upload(scope, id), hashlib.sha256()
        for start in range(0, upload.size, upload.chunk):
            data = await self._chunks.get(scope.tenant, id, start // upload.chunk) or b""
            if len(data) != min(upload.chunk, upload.size - start):
                # A request that had been given up for lost wrote over what came after it.
                await self.give_up(scope, id)
                raise errors.UploadMismatch("Two requests wrote at once; begin again.")
            digest.update(data)
        return await self._finish(scope, upload, digest.hexdigest())

    async def _finish(self, scope: Scope, upload: Upload, sha256: str) -> tuple[StoredFile, bool]:
        if not upload.size:
            raise errors.EmptyFile
        id = file_id(scope, sha256, upload.name)
        head = await self._chunks.get(scope.tenant, upload.id, 0) or b""
        now, kind = self._clock(), media_type(head, upload.name)
        size, chunk = upload.size, upload.chunk
        file = StoredFile(scope.user, id, upload.name, kind, size, sha256, upload.id, chunk, now, now)
        found = await self._tables.finish(scope, file, FileCaps(self.limits.user, self.limits.tenant))
        if found is None:
            raise errors.UploadNotFound
        if found[0].blob != upload.id:
            await self._sweep(scope.tenant)
        return found

    async def _check_coming(self, scope: Scope, size: int) -> None:
        """Refuse what is more than a file may have, or a user or a tenant with one file too many on its way: only its
        bytes will tell whether that is a new one or another try of one that is there."""
        if 0 < self.limits.file < size:
            raise errors.FileTooLarge(f"A file has at most {self.limits.file} bytes.")
        for cap, user in zip(self._caps, (scope.user, None), strict=True):
            if cap and (await self._tables.usage(scope.tenant, user)).bytes + size > cap:
                raise errors.StorageFull

    @property
    def _caps(self) -> FileCaps:
        """What files and uploads may have together: there is room for one file too many."""
        user, tenant = self.limits.user, self.limits.tenant
        spare = self.limits.file or max(user, tenant)
        return FileCaps(user and user + spare, tenant and tenant + spare)

    # Removing

    async def give_up(self, scope: Scope, id: str) -> None:
        """Forget an upload."""
        await self.upload(scope, id)
        await self._tables.drop_upload(scope, id)
        await self._sweep(scope.tenant)

    async def delete(self, scope: Scope, file: str) -> None:
        """Remove a file that no message uses; `FileInUse` if one does."""
        await self.stored(scope, file)
        if not await self._tables.drop(scope.tenant, [file], self._clock() + TOUCHED_FOR):
            await self.stored(scope, file)  # unless somebody else was faster
            raise errors.FileInUse
        await self._sweep(scope.tenant)

    async def erase(self, scope: Scope) -> int:
        """Remove all files and uploads of a user, used or not; return how many files. None of their bytes is left."""
        removed, uploads = 0, await self._tables.drop_uploads(scope.tenant, _LAST, scope.user)
        while page := await self._tables.files(scope.tenant, scope.user, "", PAGE):
            removed += await self._tables.drop(scope.tenant, [file.id for file in page], None)
        if removed or uploads:
            await self._sweep(scope.tenant)
            await self._tables.scrub()
        return removed

    async def tenants(self) -> tuple[str, ...]:
        """Return the tenants that may have files."""
        return await self._tables.tenants()

    async def remove_unused(self, tenant: str, unused_for: timedelta = UNUSED_FOR) -> int:
        """Remove what no message of a tenant has used for so long, and uploads that stand still; return how many files.
        It goes in small steps, and finishes what was cut off before."""
        removed, before = 0, self._clock() - unused_for
        await self._tables.drop_uploads(tenant, before)
        while ids := await self._tables.unused(tenant, before, PAGE):
            removed += await self._tables.drop(tenant, ids, before)
        await self._sweep(tenant)
        return removed

    async def _sweep(self, tenant: str) -> None:
        """Remove the bytes of blobs that nothing refers to."""
        while blobs := await self._tables.dropped(tenant, PAGE):
            for blob in blobs:
                await self._chunks.remove(tenant, blob)
                await self._tables.forget(tenant, blob)


_LAST = datetime.max.replace(tzinfo=utc_now().tzinfo)


def to_part(file: StoredFile) -> Attachment:
    """Return a file as a part of a message."""
    kind = attachment_kind(file.media_type)
    fields = {name: getattr(file, name) for name in ("name", "media_type", "size", "sha256")}
    return Attachment(type=kind, file=file.id, **fields)


def file_id(scope: Scope, sha256: str, name: str) -> str:
    """Return the id of a file."""
    whole = "\0".join((scope.tenant, scope.user, sha256, name))
    return f"file-{hashlib.sha256(whole.encode()).hexdigest()[:40]}"


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), MEGABYTE):
        yield data[start : start + MEGABYTE]


async def _hashed(pieces: AsyncIterable[bytes], digest: "hashlib._Hash") -> AsyncIterator[bytes]:
    async for piece in pieces:
        digest.update(piece)
        yield piece


OBJECT = 4 * 1024 * 1024
"""How many bytes are one object: few requests for a large file, and little memory for many that come at once."""


class FolderChunks(Chunks):
    """Chunks as files of a folder: `<tenant>/<blob>/<number>`."""

    def __init__(self, folder: Path, before: Chunks, size: int = OBJECT) -> None:
        self.size = size
        self._folder = folder.absolute()
        self._before = before

    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        def write() -> None:
            path = self._folder / tenant / blob / str(number)
            with translating_os_errors():
                filesystem.make_folder(path.parent)
                try:
                    filesystem.write_file(draft := path.with_suffix(".new"), data)
                    os.replace(draft, path)
                    filesystem.sync_folder(path.parent)
                except FileNotFoundError:
                    raise UploadMismatch("The upload was continued or given up by another request.") from None

        await asyncio.to_thread(write)

    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        with translating_os_errors(), suppress(FileNotFoundError, NotADirectoryError):
            return await asyncio.to_thread((self._folder / tenant / blob / str(number)).read_bytes)
        return await self._before.get(tenant, blob, number)

    async def remove(self, tenant: str, blob: str) -> None:
        def clear() -> None:
            with translating_os_errors(), suppress(FileNotFoundError):
                shutil.rmtree(self._folder / tenant / blob)
                filesystem.sync_folder(self._folder / tenant)

        await asyncio.to_thread(clear)
        await self._before.remove(tenant, blob)


def open_chunks(url: str, before: Chunks) -> Chunks:
    """Return the place that a URL names: `file:///folder`, or what a package around the core knows, such as
    `s3://bucket/path`."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        objects: Chunks = load(FILE_PLACES, "objects", "a place for files outside of folders")(url, before)
        return objects
    path = unquote(parts.path)
    if parts.netloc or not path.strip("/") or "\x00" in path:
        raise InvalidValue("A folder for files is named as file:///folder.")
    return FolderChunks(Path(path), before)
