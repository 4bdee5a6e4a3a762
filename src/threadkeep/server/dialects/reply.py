"""What the dialects that wait for an answer give back: what was said at the end of a turn, and how it ended."""

from typing import Any

from pydantic import Field
from starlette.responses import JSONResponse, Response

from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.marks import NO_CONTENT
from threadkeep.conversation.events import TurnEnded, TurnWaiting
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import TurnOutcome
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


def reply_to(outcome: TurnOutcome, session: str, *, replayed: bool) -> Response:
    """Return the answer to a request; a turn that failed is a problem that names the session."""
    message, end = outcome.message, outcome.end
    if isinstance(end, TurnEnded) and end.failure is not None:
        return problem_of_turn(end.failure, session_id=session)
    reply = Reply(
        response=(message.content.strip() or text_of_blocks(message) or NO_CONTENT) if message else end.detail or "",
        session_id=session,
        status=status_of(end),
        detail=end.detail,
        blocks=list(message.blocks) if message else [],
        tool_calls=[UsedTool.of(call) for call in outcome.calls],
    )
    return JSONResponse(reply.model_dump(mode="json"), headers=replay_headers(replayed))


def status_of(end: TurnEnded | TurnWaiting) -> str:
    """Return how a turn ended, by its last event."""
    return end.state if isinstance(end, TurnEnded) else TurnState.WAITING
