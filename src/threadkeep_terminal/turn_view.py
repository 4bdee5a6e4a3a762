"""What happens in a conversation, shown in a terminal: answers as they are written, tool calls as they happen."""

import json
from collections.abc import Iterable
from typing import Any

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.events import (
    Event,
    MessageCompleted,
    ReasoningDelta,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnQueued,
)
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.parts import Attachment, Part
from threadkeep.conversation.turn import TurnState
from threadkeep_pages.markdown_export import block_markdown
from threadkeep_terminal.chat_terminal import ChatTerminal
from threadkeep_terminal.markdown_stream import MarkdownStream

CUT_OFF = "(cut off here)"
WIDEST = 100
"""Characters that are shown of a tool's arguments, and of its result."""


class TurnView:
    """Shows events in order, and past messages. `mine` are the ids of messages that were typed here and are on the
    screen already."""

    def __init__(self, terminal: ChatTerminal) -> None:
        self._terminal = terminal
        self._names: dict[str, str] = {}
        self._writing: tuple[str, MarkdownStream] | None = None
        self.mine: set[str] = set()

    def show(self, event: Event) -> None:
        match event.what:
            case TextDelta(message=message, text=text):
                self._write_text(message, text)
            case ReasoningDelta(text=text):
                self._terminal.murmur(text)
            case MessageCompleted(message=whole) if whole.id not in self.mine:
                self._complete(whole)
            case ToolCalled(call=call):
                self._show_call(call.id, call.name, call.args)
            case ToolReturned(result=result, content=content, parts=parts):
                self._show_result(result.tool_call_id, content, result.error, result.duration_ms)
                self._show_files(parts)
            case TurnQueued():
                self._terminal.say("(queued: another turn runs in this conversation)")
            case TurnEnded():
                self._show_turn_end(event.what)

    def message(self, message: Message) -> None:
        if message.role is Role.TOOL and message.tool_result is not None:
            result = message.tool_result
            self._show_result(result.tool_call_id, message.content, result.error, result.duration_ms)
            self._show_files(message.parts)
            return
        self._complete(message)
        for call in message.tool_calls:
            self._show_call(call.id, call.name, call.args)

    def _show_turn_end(self, end: TurnEnded) -> None:
        match end.state:
            case TurnState.FAILED:
                self._terminal.complain(f"The turn failed: {end.failure}")
            case TurnState.CANCELLED:
                self._terminal.say("(cancelled; what was said is kept)")
            case TurnState.INTERRUPTED:
                self._terminal.say(f"(interrupted; {end.detail or 'what was said is kept'})")
            case _ if end.detail:
                self._terminal.say(f"({end.detail})")

    def _write_text(self, message: str, text: str) -> None:
        if self._writing is None or self._writing[0] != message:
            self._terminal.end_line()
            self._writing = (message, MarkdownStream(is_styled=self._terminal.is_styled))
        self._terminal.show(self._writing[1].feed(self._terminal.harmless(text)))

    def _complete(self, message: Message) -> None:
        match message.role:
            case Role.USER:
                self._terminal.say(f"you: {message.content}")
                self._show_files(message.parts)
            case Role.ASSISTANT:
                self._show_answer(message)

    def _show_answer(self, message: Message) -> None:
        if self._writing is None or self._writing[0] != message.id:
            self._write_text(message.id, message.content)
        if self._writing is not None:
            self._terminal.show(self._writing[1].finish())
        self._writing = None
        self._terminal.end_line()
        for block in message.blocks:
            self._draw(block)
        if message.status is MessageStatus.INTERRUPTED:
            self._terminal.say(CUT_OFF)

    def _show_files(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if isinstance(part, Attachment):
                self._terminal.say(f"  + {part.label}")

    def _draw(self, block: Block) -> None:
        stream = MarkdownStream(is_styled=self._terminal.is_styled)
        text = self._terminal.harmless(f"\n{block_markdown(block)}\n")
        self._terminal.show(stream.feed(text) + stream.finish())
        self._terminal.end_line()

    def _show_call(self, id: str, name: str, args: dict[str, Any]) -> None:
        self._names[id] = name
        self._terminal.say(f"  → {shown_call(name, args)}")

    def _show_result(self, id: str, content: str, error: str | None, duration_ms: int | None) -> None:
        name = self._names.pop(id, "tool")
        said = f"failed: {error}" if error else content
        took = "" if duration_ms is None else f" ({duration_ms} ms)"
        self._terminal.say(f"  ← {name}: {_first_line(said)}{took}")


def shown_call(name: str, args: dict[str, Any]) -> str:
    """Return a call as one short line: `weather(city="Oslo")`."""
    given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in args.items())
    return f"{name}({_first_line(given)})"


def _first_line(text: str) -> str:
    line, _, more = text.strip().partition("\n")
    return f"{line[:WIDEST]}…" if more or len(line) > WIDEST else line
