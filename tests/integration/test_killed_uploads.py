"""A process that dies at any step of an upload or a send: whoever tries again has the file and the message, once."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from threadkeep.conversation.scope import Scope
from threadkeep.errors import UploadNotFound
from threadkeep.runtime import open_store
from threadkeep.store.attachments import UNUSED_FOR, Attachments
from threadkeep.store.base import Store
from threadkeep.store.file_tables import CHUNK, FileTables, FileUsage
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import asked, key, new

DATA = bytes(range(251)) * (2 * CHUNK // 251 + 1)
HALF = len(DATA) // 2


class KilledError(Exception):
    """The process is dead: nothing that it would have done later is done."""


class Mortal:
    """Passes calls on until the last one that it is granted, which is done or not; all later ones are too late."""

    def __init__(self, steps: int, *, is_done: bool) -> None:
        self.left = steps
        self._is_done = is_done

    def around(self, inside: Any) -> Any:
        mortal = self

        class Around:
            size = getattr(inside, "size", 0)

            def __getattr__(self, name: str) -> Callable[..., Any]:
                async def call(*args: Any, **kwargs: Any) -> Any:
                    mortal.left -= 1
                    if mortal.left < 0 or (mortal.left == 0 and not mortal._is_done):
                        raise KilledError
                    answer = await getattr(inside, name)(*args, **kwargs)
                    if mortal.left == 0:
                        raise KilledError
                    return answer

                return call

        return Around()


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 200_000):
        yield data[start : start + 200_000]


async def _send(files: Attachments, store: Store, scope: Scope, file: str) -> None:
    part = await files.find(scope, file)
    message = asked("Look.").model_copy(update={"parts": (part,), "id": "m1"})
    await store.append(scope, scope.user, Append(bodies=(message,), key=key("once")))


async def _at_once(files: Attachments, store: Store, scope: Scope) -> None:
    file, _ = await files.receive(scope, "a.bin", "", _pieces(DATA))
    await _send(files, store, scope, file.id)


class InPieces:
    """A client that remembers the upload that it began, and asks how far it has come."""

    def __init__(self) -> None:
        self.upload = ""

    async def __call__(self, files: Attachments, store: Store, scope: Scope) -> None:
        try:
            offset = (await files.upload(scope, self.upload)).size
        except UploadNotFound:
            self.upload, offset = (await files.begin(scope, "a.bin")).id, 0
        if offset < HALF:
            offset = (await files.append(scope, self.upload, offset, _pieces(DATA[offset:HALF]))).size
        if offset < len(DATA):
            await files.append(scope, self.upload, offset, _pieces(DATA[offset:]))
        file, _ = await files.complete(scope, self.upload)
        await _send(files, store, scope, file.id)


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("client", ["at once", "in pieces"])
async def test_a_process_that_dies_at_any_step_loses_nothing_and_leaves_nothing(
    client: str, *, is_done: bool, clock: FakeClock
) -> None:
    store = await open_store("memory:", clock=clock)
    assert store.files is not None
    whole, steps, is_killed = Attachments(store.files, clock), 0, True
    while is_killed:
        steps += 1
        scope, mortal = Scope(tenant=f"t{steps}", user=f"u{steps}"), Mortal(steps, is_done=is_done)
        await new(store, scope, name=scope.user)
        work = _at_once if client == "at once" else InPieces()
        dying = Attachments(cast(FileTables, mortal.around(store.files)), clock)
        try:
            await work(dying, cast(Store, mortal.around(store)), scope)
            is_killed = False
        except KilledError:
            await work(whole, store, scope)
        clock.advance(UNUSED_FOR.total_seconds() + 1)
        await whole.remove_unused(scope.tenant)
        (entry,) = await store.newest(scope, scope.user)
        (part,) = vars(entry.body)["parts"]
        assert await whole.read(scope, part.file) == DATA
        assert await whole.usage(scope.tenant) == FileUsage(1, len(DATA)) == await whole.usage(scope.tenant, scope.user)
        await store.delete(scope, scope.user)
    assert steps > 10
    await store.operations.purge(timedelta(0))
    assert [await whole.remove_unused(tenant) for tenant in await whole.tenants()] == [1] * steps
    assert [await whole.usage(f"t{step + 1}") for step in range(steps)] == [FileUsage(0, 0)] * steps
    await store.close()
