"""A process that runs turns with tools and dies: at a chosen moment by its own hand, or when somebody kills it.

It writes a line of JSON for everything that a client would know: that a conversation is there, that a message was
accepted, every event that was shown. A moment is the instant before or after a write of the store.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import asyncpg

from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, ended
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Role, Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text, Used
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.providers import check_everywhere
from threadkeep.tools.base import Tool, ToolContext
from threadkeep.tools.decorator import tool

WRITES = {"create", "update", "append", "begin", "start", "take", "write"}
QUESTIONS = ("Charge my account [charge]", "And tell me a story [story]")
STORY = ("Once ", "upon ", "a time ", "日本語 🙂 ", "there was a log.")
LEASE_AND_MORE = timedelta(hours=1)
"""By so much the clock of a process is ahead of the one before it: what the dead have held is free."""


class Mortal:
    """A store whose process dies at the n-th moment (0: never)."""

    def __init__(self, store: Store, moment: int) -> None:
        self.__dict__.update(_store=store, _left=moment)

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        return self._dying(verb) if name in WRITES else verb

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self if name in self.__dict__ else self._store, name, value)  # listeners hear the store

    def _dying(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        async def write(*arguments: Any, **named: Any) -> Any:
            self._pass()
            try:
                return await verb(*arguments, **named)
            finally:
                self._pass()

        return write

    def _pass(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Teller(Model):
    """A model whose answer follows from the request alone, as it must after a crash. It refuses an invalid request."""

    name = "teller"
    is_scripted = True

    def __init__(self, pace: float) -> None:
        self._pace = pace

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Charge once if that is asked for, then tell the story."""
        check_everywhere(request)
        asked = max(at for at, message in enumerate(request.messages) if _marker(message.content))
        behind = request.messages[asked + 1 :]
        if _marker(request.messages[asked].content) == "charge" and all(m.role is not Role.TOOL for m in behind):
            yield Text("Let me see. ")
            await asyncio.sleep(self._pace)
            for index, name in enumerate(("look", "charge")):
                yield CallPart(index=index, id=f"call_{new_id()}", name=name, args='{"amount": 5}')
        else:
            for piece in STORY:
                yield Text(piece)
                await asyncio.sleep(self._pace)
        yield Used(Usage(input_tokens=10, output_tokens=5))
        yield Stopped("stop")


def _marker(text: str) -> str | None:
    """Return what the last question in a text asks for."""
    places = {name: text.rfind(f"[{name}]") for name in ("charge", "story")}
    name = max(places, key=lambda name: places[name])
    return name if places[name] >= 0 else None


def tools(charges: Path, conversation: str) -> list[Tool]:
    """Return a tool that may run twice, and one that may not: every run of it is a line in a file."""

    @tool(repeatable=True)
    async def look(amount: int) -> str:
        """Look whether there is enough."""
        return f"{amount} is fine"

    @tool
    async def charge(amount: int, context: ToolContext) -> str:
        """Charge an amount."""
        line = f"{conversation} {context.call_id}\n".encode()
        book = os.open(charges, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(book, line)
        os.fsync(book)
        os.close(book)
        return f"charged {amount}"

    return [look, charge]


class Player:
    """Runs the turns of one conversation in this process; `lives` counts the processes before it."""

    def __init__(self, url: str, conversation: str, charges: Path, *, lives: int = 0, pace: float = 0.0) -> None:
        self._url = url
        self._conversation = conversation
        self._charges = charges
        self._pace = pace
        self._clock = FakeClock(datetime.now(UTC) + lives * LEASE_AND_MORE)
        self._processes = Processes(self._open_store, self._clock)
        self.store: Store | None = None

    async def _open_store(self) -> Store:
        return await open_store(self._url, clock=self._clock)

    async def _let_leases_run_out(self) -> None:
        """Let time pass in the database as it does here: leases go by its clock, not by ours."""
        connection = await asyncpg.connect(self._url)
        await connection.execute("UPDATE threadkeep.turn SET until = until - $1::interval", LEASE_AND_MORE)
        await connection.close()

    async def open(self, moment: int = 0) -> Conversations:
        """Open everything; what others left is taken up."""
        if self._url.startswith("postgresql:"):
            await self._let_leases_run_out()
        self.store = await self._open_store()
        mortal = cast(Store, Mortal(self.store, moment))
        model, given = Teller(self._pace), tools(self._charges, self._conversation)
        return await self._processes.open(model, *given, store=mortal)

    async def chat(self, conversations: Conversations) -> ConversationHandle:
        """Create the conversation, or find it if an earlier process has created it."""
        key = IdempotencyKey.of("create", self._conversation, None)
        return await conversations.create(id=self._conversation, key=key)

    async def close(self) -> None:
        """Close everything."""
        await self._processes.close()


async def play(player: Player, moment: int, out: int) -> None:
    """Ask both questions, the second while the first is being answered, and tell all that a client would see."""
    conversations = await player.open(moment)
    chat = await player.chat(conversations)
    _tell(out, {"created": chat.id})
    watching = asyncio.create_task(_watch(player, conversations, chat.id, out))
    turns = []
    for number, question in enumerate(QUESTIONS):
        turns.append(await chat.send(question, key=f"question {number}"))
        _tell(out, {"accepted": number, "turn": turns[-1].number})
    for turn in turns:
        await ended(turn)
    watching.cancel()
    await asyncio.wait((watching,))
    await player.close()
    _tell(out, {"survived": True})


async def _watch(player: Player, conversations: Conversations, conversation: str, out: int) -> None:
    events = conversations.at(LOCAL, conversation).follow(Cursor())
    async with aclosing(events) as stream:
        async for event in stream:
            _tell(out, {"event": name_of(event), "data": data_of(event)})


def _tell(out: int, line: dict[str, Any]) -> None:
    os.write(out, json.dumps(line).encode() + b"\n")
