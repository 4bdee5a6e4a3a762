"""Reasoning: shown as it streams, kept with what its provider wants back, and there after a refresh or a crash."""

import asyncio
from contextlib import aclosing

from tests.told import data_of, name_of
from tests.unit.turn.processes import PATIENCE, Processes, ended, new_conversation, said_in, seen
from threadkeep.conversation.event_json import message_json
from threadkeep.conversation.events import Event, MessageCompleted
from threadkeep.conversation.message import MessageStatus
from threadkeep.conversation.parts import Reasoning
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.llm.base import Reasoned, Stopped, Text
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, Step, says

THINKS: list[Step] = [
    Reasoned(text="Let me "),
    Reasoned(text="see."),
    Reasoned(payload={"signature": "abc"}),
    Reasoned(text="Again."),
    Reasoned(payload={"signature": "def"}),
    Text("It is "),
    Text("blue."),
    Stopped("stop"),
]


def joined(events: list[Event], name: str) -> str:
    """Return the text of all events of a name."""
    return "".join(data_of(event)["text"] for event in events if name_of(event) == name)


async def from_each_cursor(chat: ConversationHandle, events: list[Event]) -> None:
    """Come back behind each event, and find that nothing is missing and nothing comes twice."""
    for place, event in enumerate(events[:-1]):
        later: list[Event] = []
        async with asyncio.timeout(PATIENCE), aclosing(chat.follow(event.cursor)) as stream:
            async for again in stream:
                later.append(again)
                if name_of(again) == "turn.completed":
                    break
        began = {name_of(each) for each in events[: place + 1]} & {"message.started"}
        for name in ("reasoning.delta", "text.delta") if began else ():
            assert joined([*events[: place + 1], *later], name) == joined(events, name)


async def test_what_a_model_thinks_is_shown_as_it_comes_and_kept_with_its_payload(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await new_conversation(await processes.open(ScriptedModel([*THINKS[:1], gate, *THINKS[1:]])))
    turn, events = await chat.send("Which colour?"), list[Event]()
    async with asyncio.timeout(PATIENCE):
        async for event in turn.events():
            events.append(event)
            if name_of(event) == "reasoning.delta":
                gate.set()
    assert joined(events, "reasoning.delta") == "Let me see.Again."
    assert joined(events, "text.delta") == "It is blue."
    answer = (await chat.messages())[-1]
    first, second = (part for part in answer.parts if isinstance(part, Reasoning))
    assert (first.text, first.payload, first.model) == ("Let me see.", {"signature": "abc"}, "scripted")
    assert (second.text, second.payload) == ("Again.", {"signature": "def"})
    assert first.duration is not None
    assert answer.content == "It is blue."
    *_, whole = (event.what.message for event in events if isinstance(event.what, MessageCompleted))
    shown = message_json(whole)["parts"]
    assert [part["text"] for part in shown] == ["Let me see.", "Again."]
    assert "signature" not in str(shown)
    await from_each_cursor(chat, events)


async def test_a_reader_who_comes_while_a_model_thinks_gets_all_of_it_once(processes: Processes) -> None:
    gate = asyncio.Event()
    steps = [*THINKS[:1], gate, *THINKS[1:]]
    chat = await new_conversation(await processes.open(ScriptedModel(steps)))
    turn = await chat.send("Which colour?")
    thinking = await seen(chat, "reasoning.delta")
    gate.set()
    await ended(turn)
    later: list[Event] = []
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(thinking.cursor)) as stream:
        async for event in stream:
            later.append(event)
            if name_of(event) == "turn.completed":
                break
    assert data_of(thinking)["text"] + joined(later, "reasoning.delta") == "Let me see.Again."
    assert joined(later, "text.delta") == "It is blue."


async def test_an_owner_that_dies_while_its_model_thinks_leaves_what_was_thought(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(ScriptedModel([Reasoned(text="Hm, "), Text("It is"), gate, *says(" red.")]))
    turn = await chat.send("Which colour?")
    await said_in(chat, "It is")
    model = ScriptedModel(says("It is blue."))
    other = await processes.open(model)
    processes.clock.advance(11)
    assert await other._runner.recover() == 1
    assert name_of(await ended(turn)) == "turn.completed"
    _, partial, whole = await chat.messages()
    assert partial.status is MessageStatus.INTERRUPTED
    assert (partial.content, [part.model_dump() for part in partial.parts]) == (
        "It is",
        [{"type": "reasoning", "text": "Hm, "}],
    )
    assert whole.content == "It is blue."
    check_everywhere(model.requests[0])
    gate.set()


async def test_an_answer_that_is_only_thought_is_kept_and_the_turn_says_that_it_is_empty(processes: Processes) -> None:
    chat = await new_conversation(await processes.open(ScriptedModel([Reasoned(text="Hm."), Stopped("stop")])))
    end = await ended(await chat.send("Which colour?"))
    assert (name_of(end), data_of(end)["detail"]) == ("turn.completed", "The model gave an empty answer.")
    answer = (await chat.messages())[-1]
    assert (answer.content, [part.model_dump()["text"] for part in answer.parts]) == ("", ["Hm."])


async def test_what_was_thought_of_an_answer_that_breaks_off_is_kept(processes: Processes) -> None:
    chat = await new_conversation(await processes.open(ScriptedModel([Reasoned(text="Hm.")], says("Blue."))))
    await ended(await chat.send("Which colour?"))
    _, partial, whole = await chat.messages()
    assert (partial.status, partial.content, len(partial.parts)) == (MessageStatus.INTERRUPTED, "", 1)
    assert whole.content == "Blue."
