"""Stretches of turns: what one response tells, from the beginning of a turn or from a wait, to its end or next wait."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.events import Event, TurnQueued, TurnStarted, TurnWaiting
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Raw
from threadkeep.conversation.turn import ClientTool, TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidCursor, NotFound
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.chats import log_behind, pages_behind, who_is_asked
from threadkeep_protocols.openai.events import Callers, EventWriter
from threadkeep_protocols.openai.ids import CONVERSATION, ResponseId
from threadkeep_protocols.openai.items import Json
from threadkeep_protocols.parts import AnswerEnded, AnswerReader

FORM = "openai"
"""The form of the part that keeps, beside a question, what its sender said of the response."""
_OPENING = 4
"""Among so many entries are the question of a turn and the change with which it begins."""


async def opening_of(chat: ConversationHandle, turn: int) -> tuple[list[Entry], TurnChange]:
    """Return the first entries of a turn, and the change with which it began."""
    with suppress(InvalidCursor):  # behind the end of the log
        page = await chat.reading.log(Cursor(seq=turn - 1), limit=_OPENING)
        opening = [entry for entry in page.entries if entry.turn == turn]
        change = next((entry.body for entry in opening if isinstance(entry.body, TurnChange)), None)
        if change is not None and opening[0].seq == turn:
            return opening, change
    raise NotFound("There is no such response.")


class Stretch:
    """A stretch of a turn; `begin` is the entry that told of the wait before it. It is told once, in one way."""

    def __init__(self, chat: ConversationHandle, turn: TurnHandle, begin: int | None = None) -> None:
        self.chat = chat
        self.turn = turn
        self.begin = begin
        self.writer = EventWriter(chat.id, {}, Callers(frozenset(), lambda name: False))
        self._reader = AnswerReader(turn.number)
        self._wait: Entry | None = None
        self._before: int | None = None
        self._is_running = False

    @property
    def id(self) -> ResponseId:
        """The id of the response that tells it."""
        return ResponseId(self.chat.id, self.turn.number, self.begin)

    async def open(self, conversations: Conversations) -> "Stretch":
        """Read what is before it; `NotFound` if there is no such stretch."""
        opening, change = await opening_of(self.chat, self.turn.number)
        if self.begin is not None:
            await self._read_before(self.begin)
        conversation = await self.chat.read()
        callers = Callers(frozenset(tool.name for tool in change.tools), who_is_asked(conversations, conversation))
        self.writer = EventWriter(self.chat.id, self._facts(conversation, opening, change), callers)
        return self

    async def _read_before(self, begin: int) -> None:
        async for entry in log_behind(self.chat, self.turn.number - 1):
            if entry.seq > begin:
                break
            if not self._is_mine(entry):
                continue
            if self._wait is not None and self._wait.seq < begin:
                self._before, self._wait = self._wait.seq, None
            self._reader.take_entry(entry)
            if isinstance(entry.body, TurnChange) and entry.body.state is TurnState.WAITING:
                self._wait = entry
        if self._wait is None or self._wait.seq != begin:
            raise NotFound("There is no such response.")

    def _is_mine(self, entry: Entry) -> bool:
        return entry.turn == self.turn.number or isinstance(entry.body, Approval)

    def _facts(self, conversation: Conversation, opening: list[Entry], change: TurnChange) -> Json:
        """Return what is known of the response from its beginning."""
        asked = next((entry.body for entry in opening if isinstance(entry.body, Message)), change.message)
        told = told_of(asked) if self.begin is None else {}
        options = conversation.metadata.get("model_options") or {}
        previous = None if self.begin is None else str(self.id._replace(begin=self._before))
        return {
            "id": str(self.id),
            "object": "response",
            "created_at": int((self._wait or opening[0]).created_at.timestamp()),
            "status": "in_progress",
            "background": bool(told.get("background")),
            "conversation": {"id": f"{CONVERSATION}{conversation.id}"},
            "error": None,
            "incomplete_details": None,
            "instructions": conversation.system,
            "max_output_tokens": options.get("max_tokens"),
            "metadata": told.get("metadata") or {},
            "model": conversation.assistant or "",
            "output": [],
            "parallel_tool_calls": True,
            "previous_response_id": told.get("previous_response_id") or previous,
            "reasoning": {"effort": options.get("reasoning_effort"), "summary": None},
            "service_tier": "default",
            "store": True,
            "temperature": options.get("temperature"),
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [_tool(tool) for tool in change.tools],
            "top_p": options.get("top_p"),
            "truncation": "auto",
            "usage": None,
        }

    # Told live

    async def events(self, source: AsyncGenerator[Event, None] | None = None) -> AsyncGenerator[Json, None]:
        """Yield the events of the response, the same whether it is being written or was long ago. A source of the
        turn's events may be given."""
        for told in self.writer.begin():
            yield told
        start = None if self.begin is None else Cursor(seq=self.begin)
        async with aclosing(source or self.turn.events(start)) as events:
            async for event in events:
                for told in self._told(event):
                    yield told
                if isinstance(event.what, TurnWaiting) and event.what.turn == self.turn.number:
                    return

    def _told(self, event: Event) -> list[Json]:
        number = self._reader.turn = self.turn.number
        told: list[Json] = []
        if isinstance(event.what, TurnQueued) and event.turn == number:
            told += self.writer.stands(TurnState.QUEUED)
        elif isinstance(event.what, TurnStarted) and event.turn == number and not self._is_running:
            self._is_running = True
            told += self.writer.stands(TurnState.RUNNING)
        for change in self._reader.take(event):
            told += self.writer.tell(change)
        if isinstance(event.what, TurnWaiting) and event.turn == number and self._reader.end is not None:
            told += self.writer.end(self._reader.end)
        return told

    # Told at once

    async def whole(self) -> Json:
        """Return the response as it is now."""
        state, end = TurnState.QUEUED if self.begin is None else TurnState.RUNNING, None
        async for page in pages_behind(self.chat, self.begin or self.turn.number - 1):
            for entry in filter(self._is_mine, page.entries):
                self._tell(self._reader.take_entry(entry))
                if isinstance(entry.body, TurnChange):
                    state, end = entry.body.state, self._reader.end
                    if state is TurnState.WAITING or not state.is_open:
                        return self.writer.state(state, end)
            if page.draft is not None and page.draft.turn == self.turn.number:
                self._tell(self._reader.take_draft(page.draft.message, page.draft.text))
        return self.writer.state(state, end)

    def _tell(self, changes: list[Any]) -> None:
        for change in changes:
            if not isinstance(change, AnswerEnded):
                self.writer.tell(change)


def told_of(question: Message | None) -> Json:
    """Return what the sender of a question said of its response."""
    parts = question.parts if question is not None else ()
    found = next((part.items for part in parts if isinstance(part, Raw) and part.of == FORM and part.items), None)
    return found[0] if found and isinstance(found[0], dict) else {}


def _tool(tool: ClientTool) -> Json:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **about, "strict": None}
