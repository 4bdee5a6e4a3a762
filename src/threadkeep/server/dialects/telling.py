"""One turn in the words of the chat dialect: `delta`, `tool_call`, `tool_result` and `error`.

Events of other turns, which may run before or be queued behind it, are left out.
"""

from typing import Any

from threadkeep.context.blocks import text_of_blocks
from threadkeep.conversation.events import (
    Event,
    MessageCompleted,
    MessageStarted,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnQueued,
)
from threadkeep.conversation.message import Message, Role

Told = list[tuple[str, dict[str, Any]]]


class Telling:
    """Translates the events of a turn; without a number it is the first turn that an event is about.

    `begun` is the message that the reader has the beginning of already, if it comes back in the middle of one.
    """

    def __init__(self, turn: int | None, begun: str | None = None) -> None:
        self._turn = turn
        self._begun = {begun}
        self._of_others: set[str] = set()

    def is_about(self, event: Event) -> bool:
        """Whether an event belongs to the turn."""
        match event.what:
            case TextDelta(message=message) | ToolCalled(message=message):
                return message not in self._of_others
            case TurnQueued():
                return False
        if event.turn is not None and self._turn is None:
            self._turn = event.turn
        if event.turn is not None and event.turn == self._turn:
            return True
        match event.what:
            case MessageStarted(message=message):
                self._of_others.add(message)
            case MessageCompleted(message=whole):
                self._of_others.add(whole.id)
        return False

    @property
    def turn(self) -> int:
        """The turn that is told; 0 before it is known."""
        return self._turn or 0

    def tell(self, event: Event) -> Told:
        """Return what to say of an event of the turn; the end of a turn that did not fail is the caller's to tell."""
        match event.what:
            case TextDelta(message=message, text=text):
                self._begun.add(message)
                return [("delta", {"text": text})]
            case MessageCompleted(message=whole):
                return self._whole(whole)
            case ToolCalled(call=call):
                return [("tool_call", {"id": call.id, "name": call.name, "args": call.args})]
            case ToolReturned(result=result, content=content):
                return [("tool_result", {"tool_call_id": result.tool_call_id, "content": content})]
            case TurnEnded(failure=failure) if failure is not None:
                return [("error", failure.model_dump())]
            case _:
                return []

    def _whole(self, message: Message) -> Told:
        """Return a finished answer as one delta, unless its text was told as it was written."""
        if message.role is not Role.ASSISTANT or message.id in self._begun:
            return []
        text = message.content or text_of_blocks(message)
        return [("delta", {"text": text})] if text else []
