"""Object stores, such as S3, as a place for the bytes of attachments: whatever the package `obstore` knows."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from threadkeep.errors import InvalidValue, StoreDenied, StoreUnavailable
from threadkeep.store.attachments import OBJECT
from threadkeep.store.file_tables import Chunks

NO_OBSTORE = "An object store for files needs a package: pip install 'threadkeep[s3]'"


class ObjectChunks(Chunks):
    """Chunks as objects: `<tenant>/<blob>/<number>` below the path of the URL. Called in threads: the calls of obstore
    for an event loop abort a process that ends right after one."""

    def __init__(self, objects: ModuleType, store: Any, before: Chunks, size: int = OBJECT) -> None:
        self.size = size
        self._objects = objects
        self._store = store
        self._before = before

    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        path = f"{tenant}/{blob}/{number}"
        try:
            with self._translating():
                await asyncio.to_thread(self._objects.put, self._store, path, data, use_multipart=False)
        except FileNotFoundError:
            raise StoreUnavailable("The object store of files has no such bucket.") from None

    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        def read() -> bytes:
            return bytes(self._objects.get(self._store, f"{tenant}/{blob}/{number}").bytes())

        with self._translating(), suppress(FileNotFoundError):
            return await asyncio.to_thread(read)
        return await self._before.get(tenant, blob, number)

    async def remove(self, tenant: str, blob: str) -> None:
        def clear() -> None:
            for page in self._objects.list(self._store, f"{tenant}/{blob}/"):
                for found in page:
                    with suppress(FileNotFoundError):
                        self._objects.delete(self._store, found["path"])

        with self._translating():
            await asyncio.to_thread(clear)
        await self._before.remove(tenant, blob)

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise errors of ours for those of the object store, but that something is missing."""
        errors = self._objects.exceptions
        try:
            yield
        except FileNotFoundError:
            raise
        except (errors.PermissionDeniedError, errors.UnauthenticatedError) as error:
            raise StoreDenied("The object store of files does not let us in.") from error
        except (errors.BaseError, OSError) as error:
            raise StoreUnavailable(f"The object store of files failed: {type(error).__name__}.") from error


def open_objects(url: str, before: Chunks) -> Chunks:
    """Return the place that a URL names, such as `s3://bucket/path`. Keys and the address of a server of your own are
    in the environment, as `AWS_ACCESS_KEY_ID` and `AWS_ENDPOINT_URL`."""
    try:
        objects = import_module("obstore")
    except ImportError:
        raise StoreUnavailable(NO_OBSTORE) from None
    try:
        return ObjectChunks(objects, import_module("obstore.store").from_url(url), before)
    except (objects.exceptions.BaseError, ValueError) as error:
        raise InvalidValue(f"{url.partition('?')[0]} is no place for files: {str(error).splitlines()[0]}") from None
