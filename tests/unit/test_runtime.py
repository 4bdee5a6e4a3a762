"""What is wired: stores and the counter of tokens by name, and the time that tools and scripts may take."""

import asyncio
import threading
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.told import data_of, failure_of, name_of
from threadkeep import rings, runtime
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource
from threadkeep.errors import InvalidStoreUrl, InvalidValue, StoreCorrupt, StoreUnavailable
from threadkeep.hosting import Hosting
from threadkeep.runtime import (
    database_file,
    migrate,
    open_conversations,
    open_store,
    pending_migrations,
    set_log_aside,
    store_path,
)
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.demo.script import Call, Reply, Scene, Script


async def test_tools_and_scripts_have_the_time_that_the_host_says() -> None:
    found = threading.Event()

    def slow(scene: Scene) -> Reply | None:
        found.wait()
        return None

    @tool
    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    script = Script(rules=(after_wait, call_wait, slow))
    assistant = Assistant(name="slow", script=script, tools=Registry([wait]))
    conversations = await open_conversations(
        "memory:", [assistant], model="demo", pace=0, hosting=Hosting(settings=Settings(tool_timeout=0.2))
    )
    async with conversations:
        chat = await conversations.create(title="Slow")
        ends = [event async for event in (await chat.send("wait")).events()]
        assert next(data_of(event)["error"] for event in ends if name_of(event) == "tool.result").startswith(
            "tool_timeout: "
        )
        assert name_of(ends[-1]) == "turn.completed"
        ends = [event async for event in (await chat.send("think")).events()]
        assert (name_of(ends[-1]), failure_of(ends[-1]).partition(":")[0]) == ("turn.failed", "script_timeout")
        found.set()


def after_wait(scene: Scene) -> Reply | None:
    """Answer when the tool was given up."""
    return Reply(text="Too slow.") if scene.results else None


def call_wait(scene: Scene) -> Reply | None:
    """Call the tool if somebody says its name."""
    return Reply(calls=(Call("wait"),)) if scene.question == "wait" else None


@pytest.mark.parametrize("given", [Assistant(name="alone"), ["forecast"]])
async def test_what_is_no_list_of_assistants_is_refused(given: Any) -> None:
    with pytest.raises(InvalidValue, match="assistants is not valid"):
        await open_conversations("memory:", given, model="demo")


async def test_a_store_of_ones_own_is_taken_as_it_is_and_closed_at_the_end() -> None:
    store = await open_store("memory:")
    async with threadkeep.open(store, model="demo") as conversations:
        assert conversations._store is store
        assert await (await (await conversations.create()).send("Hello")).answer() is not None
    with pytest.raises(StoreUnavailable):
        await store.operations.ping()


async def test_a_scheme_can_come_from_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "tests.unit.test_runtime:open_elsewhere", rings.STORES)
    offered = {rings.STORES: (point,)}
    for module in (rings, runtime):
        monkeypatch.setattr(module, "offered", lambda group: offered.get(group, ()))
    store = await open_store("elsewhere://somewhere/else")
    await store.operations.ping()
    await store.close()
    with pytest.raises(InvalidStoreUrl):
        await open_store("nowhere://else")


async def open_elsewhere(url: str, *, clock: Clock, ids: IdSource, max_bytes: int) -> Store:
    assert url == "elsewhere://somewhere/else"
    return MemoryStore(clock, ids, max_bytes)


@pytest.mark.parametrize(
    "url", ["files:data", "files:/srv/data", "files://data", "files:///", "sqlite:t.db", "sqlite:/t.db"]
)
def test_a_store_url_without_three_slashes_is_refused_instead_of_naming_another_place(url: str) -> None:
    with pytest.raises(InvalidStoreUrl):
        store_path(url)


async def test_the_database_of_a_folder_of_files_is_looked_after_like_any_other(tmp_path: Path) -> None:
    url = f"files:///{tmp_path / 'sessions'}"
    assert await migrate(url) == pending_migrations(url) == []
    assert not (tmp_path / "sessions").exists()
    store = await open_store(url)
    await store.close()
    file = tmp_path / "sessions" / ".threadkeep" / "threadkeep.db"
    assert (database_file(url), database_file("memory:")) == (file, None)
    assert await migrate(url) == pending_migrations(url) == []
    assert set_log_aside(url) is None
    file.unlink()
    file.with_name("threadkeep.db-wal").write_bytes(b"left alone")
    with pytest.raises(StoreCorrupt):
        await open_store(url)


async def test_migrating_a_file_in_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        await migrate(f"sqlite:///{tmp_path / 'missing' / 't.db'}")
