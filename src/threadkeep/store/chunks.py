"""Places for the bytes of attachments outside of the database: a folder, and what packages around the core offer, such
as object stores. The tables of files stay in the store. Bytes that are in the database from before are still used
there.
"""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from threadkeep.errors import InvalidValue, UploadMismatch
from threadkeep.rings import FILE_PLACES, load
from threadkeep.store import filesystem
from threadkeep.store.file_tables import Chunks
from threadkeep.store.filesystem import translating_os_errors

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
