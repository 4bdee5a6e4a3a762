"""Obeying the rules: what is due and nothing else, the oldest first where there is too much, one instance at a time."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.jobs import OBEY_EVERY
from threadkeep.retention.holds import Holds
from threadkeep.retention.rules import Action, Retention
from threadkeep.retention.run import CLAIMED_FOR, READ, READS_ARRIVE, RetentionRunner
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import Wanted
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, asked, new, run, say
from threadkeep.testing.stores import OpenAnother

DAY = 86_400
Runner = Callable[..., RetentionRunner]


@pytest.fixture
def runner(store: Store, clock: FakeClock) -> Runner:
    def make(on: Store = store, **rules: Any) -> RetentionRunner:
        return RetentionRunner(on, Retention.model_validate(rules), clock, new_id)

    return make


async def _left(store: Store, scope: Scope = ADA) -> dict[str, Status]:
    return {item.id: item.status for item in (await store.list(scope, limit=1000)).items}


async def _planned(runner: RetentionRunner, tenant: str = "acme", **when: Any) -> list[tuple[str, Action, str]]:
    return [(each.conversation, each.action, each.reason) async for each in runner.preview(tenant, **when)]


async def _aged(store: Store, clock: FakeClock, *names: str, scope: Scope = ADA, text: str = "12345") -> None:
    """Make conversations, the first one the oldest, an hour apart."""
    for name in names:
        await new(store, scope, text, name=name)
        clock.advance(3600)


async def test_idle_ones_are_marked_completed_ones_go_and_the_young_stay(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await _aged(store, clock, "idle", "done", "running")
    await store.update(ADA, "done", Update(status=Status.COMPLETED))
    await run(store, "running")
    clock.advance(91 * DAY)
    await _aged(store, clock, "young")
    due = [("done", Action.DELETE, "completed_kept"), ("idle", Action.ABANDON, "abandoned_after")]
    assert await _planned(runner()) == due
    before = await store.get(ADA, "idle")
    assert await runner().run("acme") == {"abandon": 1, "delete": 1}
    assert await _left(store) == {"young": Status.ACTIVE, "running": Status.ACTIVE, "idle": Status.ABANDONED}
    assert list(await _left(store))[-1] == "idle"
    assert (await store.get(ADA, "idle")).updated_at == before.updated_at
    assert await _planned(runner()) == []


async def test_a_rule_can_be_tried_out_at_another_time_without_doing_anything(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await _aged(store, clock, "idle")
    at = clock.now + timedelta(days=120)
    assert await _planned(runner()) == []
    assert await _planned(runner(), now=at) == [("idle", Action.ABANDON, "abandoned_after")]
    assert await _left(store) == {"idle": Status.ACTIVE}
    assert await runner().run("acme", at) == {"abandon": 1}


async def test_an_assistant_has_rules_of_its_own(store: Store, clock: FakeClock, runner: Runner) -> None:
    for assistant in ("shop", "chat"):
        await store.create(ADA, NewConversation(id=assistant, assistant=assistant))
    clock.advance(2 * DAY)
    rules = {"assistants": {"shop": {"abandoned_after": "1d", "time_to_live": "3d"}}}
    assert await runner(**rules).run("acme") == {"abandon": 1}
    clock.advance(2 * DAY)
    assert await _planned(runner(**rules)) == [("shop", Action.DELETE, "time_to_live")]


async def test_a_message_that_comes_between_wins(store: Store, clock: FakeClock, runner: Runner) -> None:
    await _aged(store, clock, "idle", "done")
    await store.update(ADA, "done", Update(status=Status.COMPLETED))
    at = clock.now + timedelta(days=100)
    async for planned in (one := runner()).preview("acme", at):
        await say(store, planned.conversation, "I am back")
        assert not await one._obey(planned)
    assert set(await _left(store)) == {"idle", "done"}
    assert (await store.get(ADA, "idle")).status is Status.ACTIVE


async def test_too_many_conversations_of_a_user_go_oldest_first_but_not_held_or_running_ones(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await _aged(store, clock, "held", "running", "c1", "c2", "c3")
    await _aged(store, clock, "bobs", scope=BOB)
    lease = (await run(store, "running")).lease
    assert lease is not None
    await say(store, "c3", "still used")
    await Holds(store, clock, new_id).add("acme", conversation="held", reason="case 7")
    gone = [("c1", Action.DELETE, "user_conversations"), ("c2", Action.DELETE, "user_conversations")]
    assert await _planned(runner(user_conversations=3)) == gone
    assert await runner(user_conversations=3).run("acme") == {"delete": 2}
    assert set(await _left(store)) == {"held", "running", "c3"}
    assert set(await _left(store, BOB)) == {"bobs"}
    assert await runner(user_conversations=1).run("acme") == {"delete": 1}
    assert set(await _left(store)) == {"held", "running"}


@pytest.mark.parametrize("cap", ["user_bytes", "tenant_bytes"])
async def test_too_many_bytes_go_oldest_first(store: Store, clock: FakeClock, runner: Runner, cap: str) -> None:
    await _aged(store, clock, "a1", "a2", "a3")
    await _aged(store, clock, "b1", "b2", scope=BOB)
    await _aged(store, clock, "elsewhere", scope=EVE)
    await runner(**{cap: 12}).run("acme")
    kept = {*await _left(store), *await _left(store, BOB)}
    assert kept == ({"a2", "a3", "b1", "b2"} if cap == "user_bytes" else {"b1", "b2"})
    assert set(await _left(store, EVE)) == {"elsewhere"}


async def test_files_count_as_long_as_a_conversation_uses_them(store: Store, clock: FakeClock, runner: Runner) -> None:
    await _aged(store, clock, "a1", "a2")
    assert store.files is not None
    for name in ("a1", "a2"):
        file = await Attachments(store.files, clock).save(ADA, name, "", name.encode() * 50)
        message = asked("Look.").model_copy(update={"parts": (file,)})
        await store.append(ADA, name, Append(bodies=(message,)))
        clock.advance(3600)
    await _aged(store, clock, "a3")
    text = (await store.operations.statistics("acme", user="ada")).bytes
    for _ in range(2):
        await runner(user_bytes=text + 150, abandoned_after="forever").run("acme")
        assert set(await _left(store)) == {"a2", "a3"}
        clock.advance(2 * DAY)


async def test_a_preview_says_what_a_run_does_with_rules_of_time_and_caps_together(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await _aged(store, clock, "c1", "c2", "c3", "c4", "c5")
    for name in ("c2", "c5"):
        await store.update(ADA, name, Update(status=Status.COMPLETED))
    clock.advance(90 * DAY)
    one = runner(user_conversations=2, abandoned_after="forever")
    planned = await _planned(one)
    assert planned == [
        ("c5", Action.DELETE, "completed_kept"),
        ("c2", Action.DELETE, "completed_kept"),
        ("c1", Action.DELETE, "user_conversations"),
    ]
    assert await one.run("acme") == {"delete": 3}
    assert set(await _left(store)) == {"c3", "c4"}


async def test_rules_of_a_tenant_take_the_place_of_the_settings_until_they_are_reset(
    store: Store, runner: Runner, open_another: OpenAnother
) -> None:
    one = runner(completed_kept="10d", user_bytes=7)
    changed = await one.set_rules("acme", Retention.model_validate({"completed_kept": "20d"}))
    assert (changed.completed_kept, changed.user_bytes) == (timedelta(days=20), 7)
    other = await open_another()
    assert await runner(other, completed_kept="10d", user_bytes=7).rules("acme") == changed
    assert (await one.rules("umbrella")).completed_kept == timedelta(days=10)
    await one.set_rules("acme", Retention())
    assert (await one.rules("acme")).completed_kept == timedelta(days=10)
    await other.close()


async def test_one_instance_at_a_time_works_on_a_tenant_and_once_a_day(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await new(store, ADA, "hello")
    one, two = runner(), runner()
    assert await one._claim("acme") is not None
    assert await two.run("acme") is None
    assert await two.run("umbrella") is not None
    clock.advance(CLAIMED_FOR.total_seconds() - 1)
    assert await one._claim("acme") is not None
    clock.advance(2)
    assert await two.run("acme", only_if_due=True) is None
    clock.advance(CLAIMED_FOR.total_seconds())
    assert await two.run("acme", only_if_due=True) == {}
    assert await one.run("acme", only_if_due=True) is None
    assert await one.run("acme") == {}
    clock.advance(DAY + 1)
    assert await one.run("acme", only_if_due=True) == {}


async def test_what_another_instance_did_while_one_looked_is_not_done_again(
    store: Store, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(store, ADA, "hello")
    one, two = runner(), runner()
    claim = two._claim

    async def claim_late(tenant: str) -> datetime | None:
        assert await one.run(tenant, only_if_due=True) == {}
        return await claim(tenant)

    monkeypatch.setattr(two, "_claim", claim_late)
    assert await two.run("acme", only_if_due=True) is None
    assert len(await store.audit.read("acme", Wanted(actions=("retention.ran",)))) == 1


@pytest.mark.parametrize("rules", [{"time_to_live": "24h"}, {"abandoned_after": "12h", "time_to_live": "24h"}])
async def test_what_outlives_its_time_to_live_goes_in_one_run_also_if_there_was_one_today(
    store: Store, clock: FakeClock, runner: Runner, rules: dict[str, str]
) -> None:
    await new(store, ADA, "hello", name="idle")
    one = runner(**rules)
    assert await one.run_all() == {}
    clock.advance(23 * 3600)
    await one.run_all()
    assert set(await _left(store)) == {"idle"}
    clock.advance(3600)
    assert await _planned(one) == [("idle", Action.DELETE, "time_to_live")]
    clock.advance(READS_ARRIVE.total_seconds())
    assert await runner(**rules).run_all() == {"delete": 1}
    assert await _left(store) == {}


async def test_a_temporary_conversation_goes_an_hour_after_its_last_word_and_the_daily_run_still_comes(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await _aged(store, clock, "kept", "changed")
    await store.update(ADA, "changed", Update(temporary=True))
    await store.update(ADA, "kept", Update(status=Status.COMPLETED))
    one = runner(completed_kept="3h")
    assert await one.run_all() == {}
    await store.create(ADA, NewConversation(id="passing", temporary=True))
    clock.advance(3600 + READS_ARRIVE.total_seconds() - 1)
    assert await one.run_all() == {}
    clock.advance(1)
    assert await one.run_all() == {"delete": 2}
    assert set(await _left(store)) == {"kept"}
    clock.advance(DAY - 3600)
    assert await one.run_all() == {"delete": 1}, "what was done lately is not the run of the day"
    assert await _left(store) == {}


async def test_a_preview_of_later_shows_what_will_have_been_deleted(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await new(store, ADA, "hello", name="idle")
    one = runner(abandoned_after="12h", time_to_live="24h")
    assert await _planned(one, now=clock.now + timedelta(days=9)) == [("idle", Action.DELETE, "time_to_live")]


async def test_reading_is_access_also_for_other_processes_and_costs_one_record_of_all(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await new(store, ADA, "hello", name="read")
    await new(store, ADA, "hello", name="forgotten")
    one = runner(time_to_live="24h")
    clock.advance(23 * 3600)
    for _ in range(3):
        one.note_read(ADA, "read")
    await one.record_reads()
    clock.advance(3600)
    await one.record_reads()
    assert await _planned(runner(time_to_live="24h")) == [("forgotten", Action.DELETE, "time_to_live")]
    assert len(await store.audit.read("acme", Wanted(actions=(READ,)))) == 1
    clock.advance(23 * 3600)
    assert len(await _planned(runner(time_to_live="24h"))) == 2


async def test_what_was_read_elsewhere_just_before_its_end_stays_though_that_is_put_on_record_only_later(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await new(store, ADA, "hello", name="read")
    one, other = runner(time_to_live="24h"), runner(time_to_live="24h")
    clock.advance(24 * 3600 - 1)
    other.note_read(ADA, "read")
    for _ in range(2):
        clock.advance(OBEY_EVERY)
        await one.run_all()
        await other.record_reads()
    assert set(await _left(store)) == {"read"}
    clock.advance(24 * 3600)
    assert await one.run_all() == {"delete": 1}


async def test_of_two_claims_at_once_the_first_is_in_force(
    store: Store, clock: FakeClock, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(store, ADA, "hello")
    one, two = runner(), runner()
    looked = one._claims
    told: list[datetime | None] = []

    async def overtaken(tenant: str) -> tuple[bool, str | None]:
        seen = await looked(tenant)
        if not told:
            told.append(await two._claim(tenant))
        return seen

    monkeypatch.setattr(one, "_claims", overtaken)
    assert await one.run("acme") is None
    assert told[0] is not None


async def test_all_tenants_get_what_is_due_to_them_and_it_is_on_record(
    store: Store, clock: FakeClock, runner: Runner
) -> None:
    await _aged(store, clock, "c1", "c2")
    await _aged(store, clock, "c1", scope=EVE)
    clock.advance(31 * DAY)
    assert await runner().run_all() == {"abandon": 3}
    assert await runner().run_all() == {}
    (act,) = [audited.act for audited in await store.audit.read("acme", Wanted(actions=("retention.ran",)))]
    assert (act.actor, act.details) == ("system", {"abandon": 2})
