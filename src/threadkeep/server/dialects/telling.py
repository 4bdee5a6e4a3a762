"""One turn in the words of the chat dialect: `delta`, `tool_call`, `tool_result` and `error`.

Events of other turns, which may run before or be queued behind it, are left out.
"""

from typing import Any

from threadkeep.context.blocks import text_of_blocks
from threadkeep.conversation.message import Message, Role
from threadkeep.server.failed_turn import failure
from threadkeep.turn.events import Event

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
        turn, message = event.data.get("turn"), event.data.get("message")
        if event.name in ("text.delta", "tool.called"):
            return message not in self._of_others
        if event.name == "conversation.updated" or "turn" not in event.data:
            return False
        if self._turn is None:
            self._turn = turn
        if turn is None or turn != self._turn:
            self._of_others.add(message["id"] if isinstance(message, dict) else str(message))
            return False
        return True

    def tell(self, event: Event) -> Told:
        """Return what to say of an event of the turn; the end of a turn that did not fail is the caller's to tell."""
        data = event.data
        match event.name:
            case "text.delta":
                self._begun.add(data["message"])
                return [("delta", {"text": data["text"]})]
            case "message.completed":
                return self._whole(Message.model_validate(data["message"]))
            case "tool.called":
                return [("tool_call", {"id": data["id"], "name": data["name"], "args": data["args"]})]
            case "tool.result":
                return [("tool_result", {"tool_call_id": data["tool_call_id"], "content": data["content"]})]
            case "turn.failed":
                code, detail = failure(data["error"])
                return [("error", {"code": code, "detail": detail})]
            case _:
                return []

    def _whole(self, message: Message) -> Told:
        """Return a finished answer as one delta, unless its text was told as it was written."""
        if message.role is not Role.ASSISTANT or message.id in self._begun:
            return []
        text = message.content or text_of_blocks(message)
        return [("delta", {"text": text})] if text else []
