"""A disk that is full, read-only or not ours, seen by a process of its own: `python -m tests.integration.bad_disk`.

The disk is a small tmpfs in a private mount namespace, so that nothing is left behind however the process ends. Each
scenario asserts what a caller sees; the process ends with an error if it sees anything else.
"""

import asyncio
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreDenied, StoreError, StoreFull, StoreReadOnly
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.samples import new, say, texts_of
from threadkeep.testing.stores import everything, whole_log

NOBODY = 65534


def mount(folder: Path, options: str) -> None:
    """Mount a disk that lies in memory."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def _texts() -> list[str]:
    """Return texts that no compression makes small."""
    chance = random.Random(1)
    return [chance.randbytes(10_000).hex() for _ in range(1500)]


def _check(error: StoreError, expected: type[StoreError]) -> None:
    if type(error) is not expected:
        raise AssertionError(f"{expected.__name__} was expected") from error


async def _append_until_refused(store: Store, name: str) -> list[str]:
    """Append until the store refuses, and return what it had acknowledged."""
    stored: list[str] = []
    for text in _texts():
        try:
            await say(store, name, text, scope=LOCAL)
        except StoreError as error:
            _check(error, StoreFull)
            return stored
        stored.append(text)
    raise AssertionError("the disk was never full")


async def full(url: str, folder: Path) -> None:
    """What does not fit is refused and leaves nothing; when there is room again, the same handle goes on."""
    mount(folder, "size=6m")
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 4_000_000)  # room for a readable document, too, which is not compressed
    await fill_and_free(url, ballast)


async def fill_and_free(url: str, ballast: Path) -> None:
    """Fill the disk by appending, look what is there, make room by throwing the ballast away, and go on."""
    store = await open_store(url)
    name = await new(store, LOCAL)
    stored = await _append_until_refused(store, name)
    assert stored
    for _ in range(3):
        try:
            await say(store, name, "y" + _texts()[0], scope=LOCAL)
        except StoreFull:
            continue
        raise AssertionError("the disk had room again")
    assert texts_of((await whole_log(store, LOCAL, name))[0]) == stored
    ballast.unlink()
    await store.operations.ping()
    await say(store, name, "room again", scope=LOCAL)
    assert texts_of((await whole_log(store, LOCAL, name))[0]) == [*stored, "room again"]
    await store.close()
    again = await open_store(url)
    assert texts_of((await whole_log(again, LOCAL, name))[0]) == [*stored, "room again"]
    await again.close()


async def limited(url: str, folder: Path) -> None:
    """A file that may grow no more is as full as a disk; SQLite knows neither that error nor a quota."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
    store = await open_store(url)
    name = await new(store, LOCAL)
    stored = await _append_until_refused(store, name)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await say(store, name, "room again", scope=LOCAL)
    assert texts_of((await whole_log(store, LOCAL, name))[0]) == [*stored, "room again"]
    await store.close()


async def read_only(url: str, folder: Path) -> None:
    """A store on a read-only disk is refused as such; when it can be written again, everything is there."""
    mount(folder, "size=8m")
    store = await open_store(url)
    name = await new(store, LOCAL, "hello", "there")
    before = await everything(store, LOCAL)
    await store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    await _expect(StoreReadOnly, url, name)
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    store = await open_store(url)
    assert await everything(store, LOCAL) == before
    await say(store, name, "again", scope=LOCAL)
    await store.close()


async def denied(url: str, folder: Path) -> None:
    """A store that belongs to somebody else is refused as such."""
    # Everything that is imported late is imported now: where Python itself lies, nobody may not read.
    with tempfile.TemporaryDirectory() as other:
        store = await open_store(f"{url.partition(':')[0]}:///{other}/store")
        await new(store, LOCAL, "hello")
        await store.close()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    await _expect(StoreDenied, url, "kept")


async def _expect(error: type[StoreError], url: str, name: str) -> None:
    """Check that whoever opens the store and writes to it gets this error, at the latest with the write."""
    try:
        store = await open_store(url)
    except StoreError as caught:
        _check(caught, error)
        return
    for attempt in (store.operations.ping, lambda: say(store, name, "refused", scope=LOCAL), lambda: new(store, LOCAL)):
        try:
            await attempt()
        except StoreError as caught:
            _check(caught, error)
        else:
            raise AssertionError("the store could be written")
    entries, _ = await whole_log(store, LOCAL, name)
    assert all(isinstance(entry.body, Message) for entry in entries)
    await store.close()


if __name__ == "__main__":
    scenario = {"full": full, "limited": limited, "read_only": read_only, "denied": denied}[sys.argv[1]]
    asyncio.run(scenario(sys.argv[2], Path(sys.argv[3])))
