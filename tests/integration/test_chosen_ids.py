"""An id that one user chose tells another nothing, and keeps nobody from having the same: on every backend."""

import asyncio
import io
from pathlib import Path

import pytest

from tests.backends import BACKENDS, opener
from tests.roundtrips import exported
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import AlreadyExists, ConversationNotFound, InvalidId, KeyReused
from threadkeep.runtime import open_conversations, open_store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, new
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.jsonl import JsonlReader

pytestmark = [pytest.mark.asyncio, pytest.mark.parametrize("backend", BACKENDS)]


async def _opened(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Conversations:
    return await open_conversations(await opener(backend, tmp_path, request)(FakeClock()))


async def test_two_users_choose_the_same_id_and_each_has_a_conversation(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with await _opened(backend, tmp_path, request) as conversations:
        made = {scope: (await conversations.create(scope=scope, id="mine")).id for scope in (ADA, BOB)}
        assert made[ADA] != made[BOB]
        for scope, id in made.items():
            assert (await conversations.get("mine", scope=scope)).id == id
            with pytest.raises(AlreadyExists):
                await conversations.create(scope=scope, id="mine")
        with pytest.raises(ConversationNotFound):
            await conversations.get(made[ADA], scope=BOB)


async def test_the_id_of_another_and_an_id_of_nobody_are_refused_alike(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with await _opened(backend, tmp_path, request) as conversations:
        theirs = (await conversations.create(scope=ADA)).id
        for id in (theirs, "0190d5a2-7c3f-7000-8000-000000000000"):
            with pytest.raises(InvalidId, match="Ids of this form are made here"):
                await conversations.create(scope=BOB, id=id)


async def test_a_conversation_is_got_or_created_in_one_call_for_each_user(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with await _opened(backend, tmp_path, request) as conversations:
        chosen = "7d4f0a0e-3f3b-4d44-9a7e-0f3f7f0c2f11"  # as a browser makes them
        for scope in (ADA, BOB):
            made = await asyncio.gather(
                *(conversations.get_or_create(chosen, scope=scope, title=scope.user) for _ in range(4))
            )
            assert len({each.id for each in made}) == 1
            assert sorted(each.replayed for each in made) == [False, True, True, True]
            assert (await conversations.named(scope, chosen)).id == made[0].id
            (listed,) = (await conversations.list(scope=scope)).items
            assert (listed.name, listed.title) == (chosen, scope.user)
        theirs = await conversations.get(chosen, scope=ADA)
        with pytest.raises(ConversationNotFound):
            await conversations.get_or_create(theirs.id, scope=BOB)
        await theirs.delete()
        assert not (await conversations.get_or_create(chosen, scope=ADA)).replayed


async def test_a_message_keeps_the_id_that_was_chosen_and_is_sent_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with await _opened(backend, tmp_path, request) as conversations:
        for scope in (ADA, BOB):
            chat = await conversations.get_or_create("chat", scope=scope)
            turns = [await chat.send("Hello", id="m1", key=key) for key in ("a", "b", None)]
            assert len({turn.number for turn in turns}) == 1
            await turns[0].answer()
            assert next(message.id for message in await chat.messages()) == "m1"
            with pytest.raises(KeyReused):
                await chat.send("Goodbye", id="m1")


async def _imported(conversations: Conversations, scope: Scope, lines: bytes) -> tuple[int, int, list[str]]:
    importer = conversations.importer(scope)
    for item in JsonlReader(io.BytesIO(lines), "file").read():
        await importer.add(item)
    await importer.finish()
    return importer.report.added, importer.report.unchanged, [problem.code for problem in importer.report.problems]


async def test_an_import_with_the_id_of_another_goes_like_one_with_an_id_of_nobody(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with await _opened(backend, tmp_path, request) as conversations:
        store, elsewhere = conversations._store, await open_store("memory:")
        theirs, nobodys = await new(store, ADA, "a secret"), await new(elsewhere, ADA, "another")
        mine = Selection(ADA.tenant, ADA.user)
        for source, id in ((store, theirs), (elsewhere, nobodys)):
            lines = await exported(source, mine)
            assert await _imported(conversations, BOB, lines) == (1, 0, [])
            assert (await store.get(BOB, BOB.own_id(id))).entries == 1
            assert await _imported(conversations, BOB, lines) == (0, 1, [])
        assert await _imported(conversations, ADA, await exported(store, mine)) == (0, 1, [])
        assert [item.id for item in (await store.list(ADA)).items] == [theirs]
        await elsewhere.close()
