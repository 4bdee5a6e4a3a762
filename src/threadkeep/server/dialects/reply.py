"""What the dialects that wait for an answer give back: what was said at the end of a turn, and how it ended."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import Field
from starlette.responses import JSONResponse, Response

from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.marks import NO_CONTENT
from threadkeep.conversation.events import Event, MessageCompleted, TurnEnded, TurnWaiting
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.turn import TurnState
from threadkeep.server.idempotency_header import replay_headers
from threadkeep.server.problems import problem_of_turn
from threadkeep.server.shown import Shown, ShownBlocks


class UsedTool(Shown):
    """A tool call that was made for an answer."""

    id: str
    name: str
    args: dict[str, Any]

    @classmethod
    def of(cls, call: ToolCall) -> "UsedTool":
        """Return a call in this shape."""
        return cls(id=call.id, name=call.name, args=call.args)


class Reply(Shown):
    """An answer: `status` says how the turn ended, `detail` more where there is more to say."""

    response: str
    session_id: str
    status: str = Field(examples=["completed"])
    detail: str | None = None
    blocks: ShownBlocks = Field(default_factory=list)
    tool_calls: list[UsedTool] = Field(default_factory=list)


@dataclass(kw_only=True)
class Outcome:
    """What the events of a turn add up to."""

    message: Message | None = None
    calls: list[ToolCall] = field(default_factory=list)
    end: TurnEnded | TurnWaiting | None = None

    def take(self, event: Event) -> None:
        """Take in an event of the turn."""
        match event.what:
            case MessageCompleted(message=message):
                self.calls += message.tool_calls
                self.message = message if message.role is Role.ASSISTANT else self.message
            case TurnEnded() | TurnWaiting():
                self.end = event.what

    def answer(self, session: str, *, replayed: bool) -> Response:
        """Return the answer to the request; a turn that failed is a problem that names the session."""
        if isinstance(self.end, TurnEnded) and self.end.failure is not None:
            return problem_of_turn(self.end.failure, session_id=session)
        message, detail = self.message, None if self.end is None else self.end.detail
        reply = Reply(
            response=(message.content.strip() or text_of_blocks(message) or NO_CONTENT) if message else detail or "",
            session_id=session,
            status="running" if self.end is None else status_of(self.end),
            detail=detail,
            blocks=list(message.blocks) if message else [],
            tool_calls=[UsedTool.of(call) for call in self.calls],
        )
        return JSONResponse(reply.model_dump(mode="json"), headers=replay_headers(replayed))


def status_of(end: TurnEnded | TurnWaiting) -> str:
    """Return how a turn ended, by its last event."""
    return end.state if isinstance(end, TurnEnded) else TurnState.WAITING
