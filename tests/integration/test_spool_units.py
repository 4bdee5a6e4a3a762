"""What an outage may not do: ask again what the database has, lose a queued message, bring an erased person back, lose
what was acknowledged without a word, let anybody into a conversation of somebody else."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.database_proxy import before
from tests.integration.serving import serving
from tests.integration.test_spool import answer, begins, places, spooling, until_reached, until_status, until_well
from tests.postgres_server import Urls
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import ConversationNotFound, SpoolFull
from threadkeep.hosting import Hosting
from threadkeep.retention.erasure import Erasure
from threadkeep.runtime import open_conversations, open_store
from threadkeep.settings import Settings
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, BOB, MINUTE, answered, asked, key, new, run, settle, texts_of
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_postgres.spool.spool_file import spool_path

PRICES = {"demo": {"input": "1", "output": "2"}}


async def test_a_turn_of_an_outage_works_in_a_long_conversation_with_recall_and_prices(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy:
        settings: dict[str, Any] = {"spool_dir": str(tmp_path), "outage_after": 1.0, "prices": PRICES}
        async with serving(proxy.url(), **settings) as server:
            path = await server.conversation()
            for text in ("My name is Alice.", *(f"The weather on day {day}?" for day in range(8))):
                assert (await server.say(path, text)).status_code == 200
            proxy.fall_silent()
            for text in ("What's my name?", "And the weather?"):
                sent = await server.say(path, text)
                assert (sent.status_code, sent.json()["turn"]["state"]) == (200, "completed"), sent.text
                assert sent.json()["turn"]["spooled"]
            proxy.speak()
            await until_status(server, "ok")
            said = [message["content"] for message in (await server.client.get(path)).json()["messages"]]
            assert (said.count("What's my name?"), said.count("And the weather?"), said[-2]) == (1, 1, text)


async def test_what_the_database_had_before_is_found_by_its_key_in_an_outage(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        await answer(store, name, "three", "four", key=key("third"))
        proxy.fall_silent()
        again = await store.begin(ADA, name, begins("three", "third"))
        assert (again.replayed, again.turn, again.lease) == (True, 3, None)
        await answer(store, name, "five", "six", key=key("fifth"))
        again = await store.begin(ADA, name, begins("five", "fifth"))
        assert (again.replayed, again.lease) == (True, None)
        proxy.speak()
        await until_well(store)
        assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four", "five", "six"]


async def test_a_message_that_another_instance_may_have_accepted_waits_and_is_asked_once(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        await answer(other, name, "three", "four", key=key("third"))
        await store.get(ADA, name)
        await store.newest(ADA, name)
        proxy.fall_silent()
        assert (await store.begin(ADA, name, begins("three", "third"))).lease is None
        assert await store.start(ADA, name, "one", MINUTE) is None
        proxy.speak()
        await until_well(store)
    assert texts_of(await other.newest(ADA, name)) == ["one", "two", "three", "four"]
    assert await other.turns(ADA, name) == ()
    await other.close()


async def test_a_queued_message_that_arrived_unheard_and_began_here_is_there_whole_and_once(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await store.get(ADA, name)
        proxy.lose_answers()
        assert (await run(store, name, "five")).lease is None
        await settle(store, lease, answered("four"))
        begun = await store.start(ADA, name, "one", MINUTE)
        assert begun is not None
        assert begun.lease is not None
        await store.write(begun.lease, "m", 0, "six")
        await settle(store, begun.lease, answered("six").model_copy(update={"id": "m"}))
        proxy.speak()
        await until_well(store)
        assert texts_of(await store.database.newest(ADA, name)) == ["one", "two", "three", "four", "five", "six"]
        ends = [text for *_, turn, text in await places(store.database, name) if turn == begun.turn and not text]
        assert len(ends) == 3, "queued, running, completed"
        assert await store.database.turns(ADA, name) == ()


async def test_a_queued_message_stays_one_beside_a_turn_whose_text_arrived_unheard(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await store.get(ADA, name)
        proxy.lose_answers()
        assert (await run(store, name, "five")).lease is None
        await other.write(lease, "unheard", 0, "fo")
        await settle(store, lease, answered("four"))
        begun = await store.start(ADA, name, "one", MINUTE)
        assert begun is not None
        assert begun.lease is not None
        await settle(store, begun.lease, answered("six"))
        proxy.speak()
        await until_well(store)
    assert [turn.number for turn in await other.turns(ADA, name)] == [lease.turn], "it is taken up there"
    said = [(turn, text) for _, _, turn, text in await places(other, name) if text]
    assert [turn for turn, text in said if text == "five"] == [begun.turn]
    assert {"four", "six"} <= {text for _, text in said}
    await other.close()


async def test_a_tool_that_acts_waits_for_the_database_and_one_that_may_be_repeated_does_not(
    postgres_database: Urls, tmp_path: Path
) -> None:
    done: list[str] = []

    @tool(repeatable=True)
    def look() -> str:
        """Look."""
        done.append("look")
        return "seen"

    @tool
    def pay() -> str:
        """Pay."""
        done.append("pay")
        return "paid"

    model = ScriptedModel(says("Hello."), wants(("1", "look", {})), wants(("2", "pay", {})), says("Paid."))
    assistant = Assistant(name="payer", instructions="", tools=Registry((look, pay)))
    hosting = Hosting(is_server=True, settings=Settings(spool_dir=str(tmp_path), outage_after=1.0))
    async with (
        before(postgres_database.server) as proxy,
        await open_conversations(proxy.url(), [assistant], model=model, hosting=hosting) as conversations,
    ):
        chat = await conversations.create()
        await (await chat.send("Hi.")).outcome()
        proxy.fall_silent()
        turn = await chat.send("Pay.")
        outcome = asyncio.create_task(turn.outcome())
        async with asyncio.timeout(30):
            while len(model.requests) < 3:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.02)
        assert [each.state for each in await chat.turns()] == [TurnState.RUNNING]
        assert done == ["look"]
        proxy.speak()
        message = (await outcome).message
        assert message
        assert message.content == "Paid."
        # Known gap, told in docs/howto/outages.md: a turn that is taken up anew while it goes over is not acted for.
        assert done in (["look", "pay"], ["look"])


async def test_an_erased_person_does_not_come_back_from_the_spool_of_another_instance(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)

    async def nothing_runs(scope: Scope, conversation: str) -> None:
        return

    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        known, others = await new(store, ADA, "one", "two"), await new(store, BOB, "bob")
        proxy.fall_silent()
        await answer(store, known, "three", "four")
        born = (await store.create(ADA, NewConversation())).conversation.id
        await answer(store, born, "five", "six")
        await store.append(BOB, others, Append(bodies=(asked("of bob"),)))
        await Erasure(other, None, utc_now, nothing_runs).erase(ADA)
        again = (await store.create(ADA, NewConversation())).conversation.id
        await answer(store, again, "back", "welcome")
        proxy.speak()
        await until_well(store)
        assert await store.spool.copies() == []
    assert [item.id for item in (await other.list(ADA)).items] == [again]
    assert texts_of(await other.newest(BOB, others)) == ["bob", "of bob"]
    await other.close()


async def test_a_person_who_is_erased_here_is_out_of_the_spool_and_of_memory_at_once(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        proxy.fall_silent()
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        proxy.speak()
        await until_reached(store)
        await store.operations.purge(MINUTE, owner=ADA)
        assert await store.spool.copies() == []


def _taken_away(folder: Path, suffix: str) -> None:
    spool_path(folder).with_name(f"spool.db{suffix}").unlink()


async def test_a_log_that_is_missing_is_told_and_keeps_nobody_from_starting(
    postgres_database: Urls, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    async with before(postgres_database.server) as proxy:
        async with spooling(proxy.url(), tmp_path / "spool") as store:
            name = await new(store, ADA, "one", "two")
            assert store.operations.damage() is None
            proxy.fall_silent()
            await answer(store, name, "three", "four")
            shutil.copytree(tmp_path / "spool", left)
        proxy.speak()
        _taken_away(left, "-wal")
        async with spooling(proxy.url(), left) as store:
            assert "gone" in (store.operations.damage() or "")
        async with serving(proxy.url(), spool_dir=str(left)) as server:
            ready = (await server.client.get("/health/ready")).json()
            assert (ready["status"], ready["damage"]) == ("degraded", store.operations.damage())


async def test_a_spool_that_cannot_be_read_is_kept_aside_and_told(postgres_database: Urls, tmp_path: Path) -> None:
    async with spooling(postgres_database.server, tmp_path) as store:
        name = await new(store, ADA, "one", "two")
    spool_path(tmp_path).write_bytes(b"no database" * 1000)
    async with spooling(postgres_database.server, tmp_path) as store:
        assert "kept as spool.db.damaged-" in (store.operations.damage() or "")
        assert texts_of(await store.newest(ADA, name)) == ["one", "two"]
    assert len(list(tmp_path.glob("spool.db.damaged-*"))) == 1


async def test_nobody_writes_to_somebody_elses_conversation_in_an_outage_or_locks_the_owner_out(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)
    unknown = await new(other, ADA, "one")
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        known = await new(store, ADA, "one", "two")
        proxy.fall_silent()
        with pytest.raises(ConversationNotFound):
            await run(store, known, "of bob", scope=BOB)
        assert (await run(store, unknown, "of bob", scope=BOB)).lease is None
        assert (await run(store, unknown, "of ada")).lease is None
        assert (await run(store, known, "three")).lease is not None
        proxy.speak()
        async with asyncio.timeout(30):
            while len((await other.list(BOB)).items) < 1 or not await other.turns(ADA, unknown):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    (elsewhere,) = (await other.list(BOB)).items
    assert elsewhere.id != unknown
    assert await other.start(ADA, unknown, "two", MINUTE) is not None
    assert texts_of(await other.newest(ADA, unknown)) == ["one", "of ada"]
    await other.close()


async def test_no_user_fills_the_spool_for_all_others(postgres_database: Urls, tmp_path: Path) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path, max_bytes=20_000) as store:
        mine, theirs = await new(store, ADA, "one"), await new(store, BOB, "one")
        proxy.fall_silent()
        for _ in range(6):
            await store.append(BOB, theirs, Append(bodies=(asked("x" * 1000),)))
        with pytest.raises(SpoolFull):
            await store.append(BOB, theirs, Append(bodies=(asked("x" * 5000),)))
        await store.append(ADA, mine, Append(bodies=(asked("x" * 2000),)))
        proxy.speak()
        await until_well(store)
