"""Following: from any cursor, stored entries first, then live ones, without gap or repeat."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from tests.told import data_of, name_of
from tests.unit.turn.processes import PATIENCE, Processes, ended, first, new_conversation, said_in, settled, told
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Update
from threadkeep.conversation.events import Event
from threadkeep.conversation.message import Message, Usage
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text, Used
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.testing.stores import whole_log
from threadkeep.tools.decorator import tool

CUTS = 10_000


@tool(repeatable=True)
async def echo(text: str) -> str:
    """Say it again."""
    return text


class Reader:
    """A client that knows nothing but its cursor, or the number of its position, and checks that it sees everything
    once, and that positions rise."""

    def __init__(self, *, by_position: bool = False) -> None:
        self.cursor = "0"
        self.position = 0
        self.by_position = by_position
        self.texts: dict[str, str] = {}
        self.told: list[tuple[str, Any]] = []
        self.last = ""

    def take(self, event: Event, conversation: str) -> None:
        """Take in one event."""
        assert event.cursor.position is not None
        assert event.cursor.position > self.position, "a position does not rise"
        self.position = event.cursor.position
        self.cursor, self.last = event.cursor.encode(conversation), name_of(event)
        match name_of(event):
            case "message.started":
                assert data_of(event)["message"] not in self.texts, "a message began twice"
                self.texts[data_of(event)["message"]] = ""
            case "text.delta":
                assert data_of(event)["text"]
                self.texts[data_of(event)["message"]] += data_of(event)["text"]
            case "message.completed":
                message = data_of(event)["message"]
                assert self.texts.setdefault(message["id"], message["content"]) == message["content"]
                self.told.append((name_of(event), message["id"]))
            case _:
                self.told.append((name_of(event), data_of(event)))

    async def read(self, chat: ConversationHandle, count: int) -> None:
        """Come back with the cursor, take in so many events, and leave again."""
        came_back_with = str(self.position) if self.by_position else self.cursor
        async with aclosing(chat.follow(await chat.cursor(came_back_with))) as events:
            for _ in range(count):
                self.take(await anext(events), chat.id)
                if self.last == LAST:
                    return

    async def read_to_the_end(self, chat: ConversationHandle, chance: random.Random) -> int:
        """Read until the last event of a scene; return how often the stream was cut."""
        cuts = 0
        async with asyncio.timeout(PATIENCE):
            while self.last != LAST:
                await self.read(chat, chance.choice((1, 1, 1, 2, 5)))
                cuts += 1
        return cuts


LAST = "turn.failed"
"""How a scene ends, because nothing else in it does."""


async def _stored(store: Store, chat: ConversationHandle) -> dict[str, str]:
    entries, draft = await whole_log(store, chat.scope, chat.id)
    assert draft is None
    said = [entry.body for entry in entries if isinstance(entry.body, Message)]
    return {message.id: message.content for message in said if message.tool_result is None}


async def test_a_queued_question_a_title_and_an_approval_may_land_in_the_middle_of_an_answer(
    processes: Processes,
) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    story = [step for gate, piece in zip(gates, "abc", strict=True) for step in (Text(piece), gate)]
    conversations = await processes.open(ScriptedModel([*story, Text("d"), Stopped("stop")], says("Again.")))
    chat = await new_conversation(conversations)
    turn = await chat.send("Tell me")
    reader = asyncio.create_task(told(turn))
    await said_in(chat, "a")
    second = await chat.send("And then?")
    gates[0].set()
    await said_in(chat, "b")
    await conversations._store.update(chat.scope, chat.id, Update(title="A story"))
    gates[1].set()
    await said_in(chat, "c")
    await conversations._store.append(
        chat.scope, chat.id, Append(bodies=(Approval(tool_call_id="from-elsewhere", approved=True),))
    )
    gates[2].set()
    events = await reader
    assert "".join(data_of(event)["text"] for event in events if name_of(event) == "text.delta") == "abcd"
    others = ["turn.queued", "conversation.updated", "call.decided"]
    assert [name_of(event) for event in events if name_of(event) in others] == others
    assert [name_of(event) for event in events if name_of(event) == "message.started"] == ["message.started"]
    assert data_of(events[-2])["message"]["content"] == "abcd"
    assert name_of(await ended(second)) == "turn.completed"


async def test_every_cursor_of_a_conversation_leads_to_exactly_the_rest_of_it(processes: Processes) -> None:
    calls = [(f"call_{number}", "echo", {"text": str(number)}) for number in range(3)]
    chat = await processes.begin(ScriptedModel(wants(*calls), says("Done.")), echo)
    turn = await chat.send("Echo three times")
    await ended(turn)
    whole = await told(turn)
    assert [name_of(event) for event in whole].count("tool.called") == 3
    assert {event.cursor.index for event in whole} >= {0, 1, 2}, "no cursor lies between the events of one entry"
    for place, event in enumerate(whole[:-1]):
        rest: list[Event] = []
        async with asyncio.timeout(PATIENCE), aclosing(chat.follow(event.cursor)) as events:
            while len(rest) < len(whole) - place - 1:
                rest.append(await anext(events))
        assert [(name_of(e), data_of(e), e.cursor) for e in rest] == [
            (name_of(e), data_of(e), e.cursor) for e in whole[place + 1 :]
        ]
        assert await chat.cursor(event.cursor.position) == event.cursor
    for event in (event for event in whole if not event.cursor.index and not event.cursor.message):
        assert event.cursor.position is not None
        async with aclosing(chat.follow(await chat.cursor(event.cursor.position - 1))) as events:
            assert (await anext(events)).what == event.what, "the number before that of an event leads past it"


async def test_a_reader_without_a_cursor_begins_in_the_present(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(ScriptedModel(says("Old."), [Text("New "), gate, Text("text."), Stopped("stop")]))
    await ended(await chat.send("First"))
    turn = await chat.send("Second")
    await said_in(chat, "New ")
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(presence=True)) as present:
        # Its own presence is the first that a reader is told: then it has begun.
        assert name_of(await anext(present)) == "presence"
        gate.set()
        events = [await anext(present)]
        while name_of(events[-1]) != "turn.completed":
            events.append(await anext(present))
    assert all(event.cursor.seq > turn.entries[-1].seq - 1 for event in events)
    assert "New text.".endswith("".join(data_of(event)["text"] for event in events if name_of(event) == "text.delta"))
    assert "message.started" not in {name_of(event) for event in events}


async def test_another_process_on_the_same_data_follows_live(processes: Processes) -> None:
    gate = asyncio.Event()
    conversations = await processes.open(ScriptedModel([Text("Far "), gate, Text("away"), Stopped("stop")]))
    other = await processes.open(ScriptedModel())
    chat = await new_conversation(conversations)
    elsewhere = await other.get(chat.id)
    turn = await chat.send("Where are you?")
    reader = Reader()
    async with asyncio.timeout(PATIENCE):
        while reader.last != "text.delta":
            await reader.read(elsewhere, 1)
        gate.set()
        while reader.last != "turn.completed":
            await reader.read(elsewhere, 1)
    assert reader.texts == await _stored(conversations._store, chat)
    await ended(turn)


async def test_a_reader_that_is_far_behind_is_only_told_to_look(processes: Processes) -> None:
    pieces = [f"{number} " for number in range(1000)]
    ready, gate = asyncio.Event(), asyncio.Event()
    conversations = await processes.open(ScriptedModel([Text("begin "), ready, *map(Text, pieces), gate, *says("end")]))
    chat = await new_conversation(conversations)
    turn = await chat.send("Count")
    reader = Reader()
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(Cursor())) as slow:
        while reader.last != "text.delta":
            reader.take(await anext(slow), chat.id)
        ready.set()
        await said_in(chat, "999 ")
        gate.set()
        await ended(turn)
        while reader.last != "turn.completed":
            reader.take(await anext(slow), chat.id)
    assert reader.texts == await _stored(conversations._store, chat)


async def test_whoever_leaves_is_no_reader_any_more(processes: Processes) -> None:
    conversations = await processes.open(ScriptedModel(says("Hello.")))
    chat = await new_conversation(conversations)
    turn = await chat.send("Hello")
    await ended(turn)
    await first(turn.events(), "turn.completed")
    assert conversations._deps.bus.readers(chat.scope.tenant, chat.id) == 0


class Storyteller(Model):
    """Tells stories in pieces of random size, with tool calls between, while other things happen to the conversation.

    The last question of a scene gets an answer that fails.
    """

    name = "storyteller"
    is_scripted = True

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.chat: ConversationHandle | None = None
        self.conversations: Conversations | None = None

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer."""
        if request.messages[-1].content == "fail":
            raise AssertionError("as it was told to")
        if request.messages[-1].tool_result is None and self.chance.random() < 0.5:
            for index in range(self.chance.randint(1, 3)):
                yield CallPart(index=index, id=f"call_{index}", name="echo", args='{"text": "日本語 🙂\\u0000"}')
        else:
            for _ in range(self.chance.randint(2, 12)):
                yield Text(self.chance.choice(("once ", "🙂", "\x00", "upon a time ", "日本", "\r\n")))
                await self._meanwhile()
        yield Used(Usage(output_tokens=3))
        yield Stopped("stop")

    async def _meanwhile(self) -> None:
        """Let others run for a moment, or change the conversation."""
        assert self.chat is not None
        assert self.conversations is not None
        match self.chance.randrange(12):
            case 0:
                title = Update(title=f"title {self.chance.random()}")
                await self.conversations._store.update(self.chat.scope, self.chat.id, title)
            case 1:
                aside = Approval(tool_call_id="elsewhere", approved=True)
                await self.conversations._store.append(self.chat.scope, self.chat.id, Append(bodies=(aside,)))
            case _:
                for _ in range(self.chance.randrange(4)):
                    await asyncio.sleep(0)


async def _scene(conversations: Conversations, model: Storyteller, chance: random.Random) -> int:
    """Play a conversation before live readers that are cut all the time, then before late ones; return the cuts."""
    chat = model.chat = await new_conversation(conversations)
    model.conversations = conversations
    live = [Reader(by_position=number % 2 == 0) for number in range(4)]
    reading = [asyncio.create_task(reader.read_to_the_end(chat, chance)) for reader in live]
    for question in ("one", "two", "fail"):
        await chat.send(question)
    cuts = sum(await asyncio.gather(*reading))
    await settled(conversations, chat)
    late = [Reader(by_position=number % 2 == 0) for number in range(24)]
    for reader in late:
        cuts += await reader.read_to_the_end(chat, chance)
    stored = await _stored(conversations._store, chat)
    for reader in [*live, *late]:
        assert reader.texts == stored
        assert reader.told == late[0].told
    return cuts


@pytest.mark.server_may_fail
@pytest.mark.parametrize("stores_of_turns", ["memory", "sqlite"], indirect=True)
async def test_a_follower_cut_ten_thousand_times_sees_every_text_and_every_event_exactly_once(
    processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(20261115)
    model = Storyteller(chance)
    conversations = await processes.open(model, echo)
    cuts = scenes = 0
    while cuts < CUTS:
        cuts += await _scene(conversations, model, chance)
        scenes += 1
    assert scenes > 5
    assert caplog.text.count("as it was told to") >= scenes
