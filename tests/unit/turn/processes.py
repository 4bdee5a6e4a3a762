"""Conversations for tests: turns that run in this process, on any store, with models that play what a test says.

Everything waits for something that can be seen, and gives up after `PATIENCE` seconds.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import timedelta
from typing import Any

from tests.told import data_of, name_of
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.events import Event, TurnEnded, TurnWaiting
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.llm.base import Delta, Model, Request, Stopped
from threadkeep.llm.choice import Choice
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.testing.stores import OpenAnother, whole_log
from threadkeep.tools.base import Tool
from threadkeep.tools.mcp import McpServers
from threadkeep.tools.registry import Registry
from threadkeep.turn.active_turn import EngineDeps
from threadkeep.turn.after_turn import after_turn
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn_handle import TurnHandle
from threadkeep_integrations.conversion.converter import FileConverter

PATIENCE = 20.0
Names = list[str]


class WatchedRunner(TurnRunner):
    """A runner that tells when it has looked for turns to recover for the first time, at its start."""

    def __init__(self, parts: EngineDeps) -> None:
        super().__init__(parts, after_turn)
        self.has_looked = asyncio.Event()

    async def recover(self, limit: int = 100) -> int:
        """Take up what nobody sees to."""
        try:
            return await super().recover(limit)
        finally:
            self.has_looked.set()


class Processes:
    """Opens conversations on one store, each with a handle, a bus and an owner of its own, as processes would."""

    def __init__(self, open_another: OpenAnother, clock: FakeClock) -> None:
        self.open_store = open_another
        self._opened: list[Conversations] = []
        self._models: list[Model] = []
        self.clock = clock
        self.lease_for = timedelta(seconds=10)

    async def open(
        self, model: Model, *tools: Tool, assistant: Assistant | None = None, store: Store | None = None, **parts: Any
    ) -> Conversations:
        """Open conversations whose one assistant has these tools; `parts` are further fields of `EngineDeps`."""
        chosen = assistant or Assistant(name="tester", instructions="Be brief.", tools=Registry(tools))
        fields: dict[str, Any] = {
            "store": store or await self.open_store(),
            "assistant_of": lambda conversation: chosen,
            "models": lambda name, assistant: model,
            "clock": self.clock,
            "ids": new_id,
            "owner": f"process-{len(self._opened)}",
            "pauses": (0.0, 0.0),
            "lease_for": self.lease_for,
            "converter": FileConverter(),
        }
        runner = WatchedRunner(EngineDeps(**(fields | parts)))
        choice = Choice(model.name, "The test plays it.")
        conversations = Conversations(runner, {chosen.name: chosen}, choice, McpServers({}))
        # Turns are recovered when a test says so.
        conversations.start(recover_every=3600.0)
        self._opened.append(conversations)
        self._models.append(model)
        await runner.has_looked.wait()
        return conversations

    async def begin(self, model: Model, *tools: Tool, **parts: Any) -> ConversationHandle:
        """Open conversations as `open` does, and create one in them."""
        return await new_conversation(await self.open(model, *tools, **parts))

    async def close(self) -> None:
        """Close everything, and fail if a model was asked too often or not often enough."""
        for conversations in self._opened:
            await conversations.close(patience=0.0)
        for model in self._models:
            if isinstance(model, ScriptedModel):
                model.assert_finished()


class Silent(Model):
    """A model that never says anything, whoever asks."""

    name = "silent"
    is_scripted = True

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Wait for ever."""
        await asyncio.Event().wait()
        yield Stopped("never")


async def new_conversation(conversations: Conversations, **fields: Any) -> ConversationHandle:
    """Create a conversation that needs no title."""
    return await conversations.create(**({"title": "Kept"} | fields))


async def first(
    events: AsyncGenerator[Event, None], name: str, holds: Callable[[Event], bool] = lambda event: True
) -> Event:
    """Return the first event of that name for which something holds, and close the stream."""
    async with asyncio.timeout(PATIENCE), aclosing(events) as stream:
        async for event in stream:
            if name_of(event) == name and holds(event):
                return event
    raise AssertionError(f"{name} never came")


async def seen(chat: ConversationHandle, name: str, holds: Callable[[Event], bool] = lambda event: True) -> Event:
    """Wait until an event is in the conversation, or find that it is there already."""
    return await first(chat.follow(Cursor()), name, holds)


async def told(turn: TurnHandle, on_text: Callable[[], None] = lambda: None) -> list[Event]:
    """Return all events of the conversation from a turn's beginning to its end; `on_text` is called at its text."""
    found: list[Event] = []
    async with asyncio.timeout(PATIENCE):
        async for event in turn.events():
            found.append(event)
            if name_of(event) == "text.delta":
                on_text()
    return found


async def ended(turn: TurnHandle) -> Event:
    """Wait for the end of a turn, and return the event that told it."""
    return (await told(turn))[-1]


async def said_in(chat: ConversationHandle, text: str) -> None:
    """Wait until the text that is being written ends with `text`."""
    so_far: dict[str, str] = {}
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(Cursor())) as events:
        async for event in events:
            if name_of(event) == "text.delta":
                message = data_of(event)["message"]
                so_far[message] = so_far.get(message, "") + data_of(event)["text"]
                if so_far[message].endswith(text):
                    return


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that nobody tells of."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0)


async def called(model: ScriptedModel, times: int = 1) -> None:
    """Wait until the model was called so often."""
    await until(lambda: len(model.requests) >= times)


async def hung_up(model: ScriptedModel, times: int = 1) -> None:
    """Wait until so many calls of the model are over."""
    await until(lambda: len(model.closed) >= times)


async def entries_of(chat: ConversationHandle, store: Store) -> tuple[Entry, ...]:
    """Return the whole log of a conversation."""
    return (await whole_log(store, chat.scope, chat.id))[0]


async def settled(conversations: Conversations, chat: ConversationHandle) -> None:
    """Wait until no turn of the conversation is open."""
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(Cursor())) as events:
        async for event in events:
            if isinstance(event.what, TurnEnded | TurnWaiting) and not await conversations._store.turns(LOCAL, chat.id):
                return


def names(events: Sequence[Event]) -> Names:
    """Return the names of events; pieces of one text that follow each other count once."""
    found: Names = []
    for event in events:
        if name_of(event) != "text.delta" or not found or found[-1] != "text.delta":
            found.append(name_of(event))
    return found


def contents(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return who said what."""
    return [(str(message.role), message.content) for message in messages]
