"""Answers as changes: live, replayed, cut at every place, and read as a whole, they are the same."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tests.unit.threadkeep_protocols.telling import HELPER, ToldClient, asks_and_answers, thinks_and_calls
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import Text
from threadkeep.runtime import open_conversations
from threadkeep.testing.scripted_model import ScriptedModel, Step, says
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.answers import changes_of, transcript
from threadkeep_protocols.parts import AnswerReader, Change


@asynccontextmanager
async def _conversation(model: ScriptedModel) -> AsyncIterator[ConversationHandle]:
    async with await open_conversations("memory:", [HELPER], model=model) as conversations:
        yield await conversations.create()
    model.assert_finished()


async def _told(turn: TurnHandle, after: int | None = None) -> list[Change]:
    return [change async for change in changes_of(turn, after)]


def _client(changes: Sequence[Change]) -> ToldClient:
    client = ToldClient()
    for change in changes:
        client.take(change)
    return client


async def _shown(conversation: ConversationHandle) -> AnswerReader:
    last = transcript(await conversation.snapshot(messages=100))[-1]
    assert isinstance(last, AnswerReader)
    return last


async def test_live_replayed_and_read_an_answer_is_the_same() -> None:
    async with _conversation(asks_and_answers()) as conversation:
        turn = await conversation.send("Tidy up")
        live = await _told(turn)
        assert _client(live).end is not None
        assert _client(live).end.state is TurnState.WAITING  # type: ignore[union-attr]
        assert [part.state for part in (await _shown(conversation)).parts if hasattr(part, "state")] == [
            "called",
            "asked",
        ]
        await conversation.approve("remove-1", reason="go on")
        whole = await _told(turn)
        client, shown = _client(whole), await _shown(conversation)
        assert list(client.parts.values()) == shown.parts
        assert [type(part).__name__ for part in shown.parts] == [
            *("AnswerText", "AnswerText", "AnswerCall", "AnswerCall", "AnswerBlock", "AnswerText")
        ]
        assert [part.state for part in shown.parts if hasattr(part, "state")] == ["returned", "returned"]
        assert client.end == shown.end
        assert shown.id == f"answer-{turn.number}"
        again = _client(await _told(conversation.turn(turn.number)))
        assert (again.parts, again.end) == (client.parts, client.end)


async def test_a_client_that_comes_back_with_any_position_gets_exactly_the_rest() -> None:
    gate = asyncio.Event()
    held: list[Step] = [Text("It is "), gate, *says("gone.", " Really.")]
    async with _conversation(ScriptedModel(thinks_and_calls("look"), held)) as conversation:
        turn = await conversation.send("Tidy up")
        live: list[Change] = []
        async for change in changes_of(turn):
            live.append(change)
            if getattr(change, "text", "") == "It is ":
                # An entry in the middle of the answer: the place goes on from there.
                await conversation.update(title="Tidy")
                gate.set()
        places = [place for place, change in enumerate(live) if change.position is not None]
        positions = [live[place].position for place in places]
        assert positions == sorted(set(positions))  # type: ignore[type-var]
        whole = _client(live)
        for place in places:
            begun = live[: place + 1]
            came_back = _client([*begun, *await _told(turn, begun[-1].position)])
            assert came_back.parts == whole.parts
            assert came_back.end == whole.end
        stored = await _told(turn)
        for change in stored:
            assert change.position is None or change.position in positions


async def test_a_place_between_the_pieces_of_a_text_is_exact_to_the_character() -> None:
    async with _conversation(ScriptedModel([*says("0123456789")])) as conversation:
        turn = await conversation.send("Count")
        live = await _told(turn)
        last = next(change for change in reversed(live) if getattr(change, "text", ""))
        assert last.position is not None
        for seen in range(10):
            rest = await _told(turn, last.position - 10 + seen)
            assert "".join(getattr(change, "text", "") for change in rest) == "0123456789"[seen:]


async def test_what_others_say_meanwhile_is_left_out() -> None:
    gate = asyncio.Event()
    async with _conversation(
        ScriptedModel([Text("first"), gate, *says("")], thinks_and_calls("look"), says("second"))
    ) as conversation:
        first = await conversation.send("one")
        second = await conversation.send("two")
        telling = asyncio.create_task(_told(second))
        gate.set()
        assert (await first.answer()) is not None
        changes = await telling
        assert "first" not in "".join(getattr(change, "text", "") for change in changes)
        assert list(_client(changes).parts.values()) == (await _shown(conversation)).parts


async def test_a_transcript_has_questions_answers_failures_and_the_text_being_written() -> None:
    gate = asyncio.Event()
    model = ScriptedModel(says("one"), [ModelRefused("no")], [Text("hal"), gate, *says("f")])
    async with _conversation(model) as conversation:
        await (await conversation.send("1")).outcome()
        await (await conversation.send("2")).outcome()
        said = transcript(await conversation.snapshot(messages=100))
        assert [isinstance(each, AnswerReader) for each in said] == [False, True, False, True]
        failed = said[-1]
        assert isinstance(failed, AnswerReader)
        assert failed.end is not None
        assert failed.end.state is TurnState.FAILED
        turn = await conversation.send("3")
        async for change in changes_of(turn):
            if getattr(change, "text", "") == "hal":
                shown = await _shown(conversation)
                assert [getattr(part, "text", "") for part in shown.parts] == ["hal"]
                assert shown.end is None
                gate.set()
        again = await conversation.snapshot(messages=2)
        assert isinstance(transcript(again)[-1], AnswerReader)
