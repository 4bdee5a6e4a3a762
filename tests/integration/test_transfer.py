"""Any conversation that a store can come to have survives every way out and in, on every pair of backends."""

import io
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.backends import BACKENDS, EACH_WAY, opener
from tests.integration.model.log_rules import LogRules
from tests.integration.model.machine import Stage
from tests.integration.model.turn_rules import TurnRules
from tests.roundtrips import exported, import_lines
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, EVE, answered, new, run, running, say, settle
from threadkeep.testing.stores import whole_log
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import Importer
from threadkeep.transfer.jsonl import JsonlReader
from threadkeep.transfer.moving import copy


class Moving(LogRules, TurnRules):
    """Writes as the store's own test does; in the end everything is moved to other stores and back."""

    others: list[Store]

    def teardown(self) -> None:
        if hasattr(self, "scopes"):
            selection = Selection(tenant=self.scopes[0].tenant)
            here = self.stage.handles[0]
            whole = self.stage.run(exported(here, selection))
            for other in self.others:
                self._move(other, selection, whole)
        super().teardown()

    def _move(self, other: Store, selection: Selection, whole: bytes) -> None:
        scope, run = self.scopes[0], self.stage.run
        assert run(import_lines(other, whole, scope)).problems == []
        assert run(exported(other, selection)) == whole
        assert run(import_lines(other, whole, scope)).added == 0
        assert run(exported(other, selection)) == whole
        for each in self.model:
            here = self.stage.handles[0]
            trees = [run(store.snapshot(each.scope, each.id)).tree for store in (other, here)]
            assert trees[0] == trees[1]
            assert run(other.count(each.scope, each.id)) == run(here.count(each.scope, each.id))
            assert run(other.turns(each.scope, each.id)) == (), "what was imported starts nothing"


@pytest.mark.parametrize(("backend", "examples"), [("memory", 25), ("sqlite", 10), ("files", 8)])
def test_any_reachable_conversation_survives_every_round_trip(
    backend: str, examples: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "one").mkdir()
    stage = Stage(opener(backend, tmp_path / "one", request))
    (tmp_path / "two").mkdir()
    others = [stage.run(opener(kind, tmp_path / "two", request)(stage.clock)) for kind in ("memory", "sqlite", "files")]
    machine = type("Machine", (Moving,), {"stage": stage, "others": others})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=30,
                deadline=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        for other in others:
            stage.run(other.close())
        stage.close()


async def _fill(store: Store, clock: FakeClock) -> None:
    """Store what is hard to keep: branches, states, odd text, a long log, an open turn, two tenants."""
    first = await new(store, ADA, "a question", "an answer \x00 \u2028 東京", name="first")
    await say(store, first, "again", parent=1)
    state = {"z": 1, "a": [1e22, -0.0, 1.0, None, {"b": "\x00"}]}
    await store.append(ADA, first, Append(bodies=(StateChange(set=state, whole=True),)))
    clock.advance(1)
    await store.update(ADA, first, Update(title="Title \x1a", metadata={"z": 1, "a": 2}, archived=True))
    await new(store, EVE, *map(str, range(700)), name="long")
    lease = await running(store, await new(store, ADA, name="open"))
    await settle(store, lease, answered("done"))
    await running(store, "open")


@pytest.mark.asyncio
@pytest.mark.parametrize(("source", "target"), EACH_WAY)
async def test_an_export_of_an_import_is_the_same_bytes(
    source: str, target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = FakeClock()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = await opener(source, tmp_path / "one", request)(clock)
    two = await opener(target, tmp_path / "two", request)(clock)
    await _fill(one, clock)
    whole = await exported(one)
    report = await import_lines(two, whole)
    assert (report.problems, report.added) == ([], 3)
    assert await exported(two) == whole
    assert (await import_lines(two, whole)).unchanged == 3
    assert await exported(two) == whole
    mine = Scope(tenant="elsewhere", user="me")
    one_user = await exported(one, Selection(tenant="acme", user="ada"))
    assert (await import_lines(two, one_user, mine)).problems == []
    assert await exported(two, Selection(tenant="elsewhere", user="me")) == one_user
    await one.close()
    await two.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("backend", BACKENDS)
async def test_open_turns_are_history_where_they_are_imported_and_go_on_where_they_are_moved(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = FakeClock()
    source = await opener("memory", tmp_path, request)(clock)
    lease = await running(source, await new(source, ADA, name="open"))
    await run(source, "open", "next, please")
    mine, held = Selection(ADA.tenant, ADA.user), lease.turn
    early = await exported(source, mine)
    await settle(source, lease, answered("done"))
    whole = await exported(source, mine)
    target = await opener(backend, tmp_path, request)(clock)
    # The first version of a conversation that is in an export twice is not ended before the second one comes.
    both = early.replace(b'{"total":', b'{"other":') + whole.split(b"\n", 1)[1]
    importer = Importer(target, ADA)
    for item in [*JsonlReader(io.BytesIO(both), "file").read()][:2]:
        await importer.add(item)
    await importer.finish()
    for _ in range(2):
        report = await import_lines(target, whole, ADA, finish=True)
        assert (report.problems, report.unchanged) == ([], 1)
    assert await _states(target, "open") == {held: TurnState.COMPLETED, held + 2: TurnState.CANCELLED}
    assert (await import_lines(target, early, EVE, finish=True)).problems == []
    assert await _states(target, "open", EVE) == {held: TurnState.INTERRUPTED, held + 2: TurnState.CANCELLED}
    for scope in (ADA, EVE):
        assert await target.turns(scope, "open") == ()
    assert await target.operations.expired(timedelta(0)) == ()
    moved = await open_store("memory:", clock=clock)
    await copy(source, moved, Selection(), lambda done: None)
    assert [turn.state for turn in await moved.turns(ADA, "open")] == [TurnState.QUEUED]
    await target.close()


async def _states(store: Store, name: str, scope: Scope = ADA) -> dict[int | None, TurnState]:
    """Return how each turn of a conversation stands by its log."""
    entries, _ = await whole_log(store, scope, name)
    return {entry.turn: entry.body.state for entry in entries if isinstance(entry.body, TurnChange)}
