"""Messages: send one, answer again, cancel, approve. One path for all: the turn runs, only the answer differs."""

from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import JSONResponse, Response

from threadkeep.conversation.events import MessageCompleted, TurnEnded, TurnWaiting
from threadkeep.conversation.message import Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.keeper import Keeper, log_reused
from threadkeep.server.bodies import ApproveBody, ConversationId, RegenerateBody, SendBody, canonical_body
from threadkeep.server.idempotency_header import Key, replay_headers
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_stream, room_to_write
from threadkeep.server.middleware.tracking import unless_gone
from threadkeep.server.negotiation import wants_no_wait, wants_stream
from threadkeep.server.problems import is_conflict, problem_of_turn
from threadkeep.server.shown import Answered, ShownMessage, ShownTurn
from threadkeep.server.sse import stream
from threadkeep.store.base import Begun
from threadkeep.turn.steps.accept import Sending

Accept = Annotated[str, Header(description="`text/event-stream` streams the turn, `application/json` waits for it.")]
Prefer = Annotated[str, Header(description="`respond-async` answers 202 with the turn at once.")]

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": Answered, "content": {"text/event-stream": {}}, "description": "The turn, streamed or at its end."},
    202: {"model": Answered, "description": "The turn, which goes on by itself."},
}


_ROOM = [Depends(room_to_write), Depends(room_for_stream)]


def message_routes(keeper: Keeper) -> APIRouter:
    """The routes for one keeper."""
    router, desk = APIRouter(prefix="/v1/conversations/{id}", tags=["messages"]), keeper.desk

    @router.post("/messages", dependencies=_ROOM, responses=_ANSWERS, response_model=Answered, summary="Send a message")
    async def send(
        request: Request,
        who: Who,
        id: ConversationId,
        body: SendBody,
        key: Key,
        accept: Accept = "",
        prefer: Prefer = "",
    ) -> Response:
        sending = Sending(
            content=body.content,
            parent=body.place,
            expected_head=body.expected_head,
            policy=body.policy,
            key=key(f"POST /v1/conversations/{id}/messages", canonical_body(body)),
        )
        begun = await desk.send(who.scope, id, sending)
        log_reused(id)
        keeper.changed(who.scope)
        return await _answer(request, keeper, who.scope, id, begun)

    @router.post(
        "/regenerate",
        dependencies=_ROOM,
        responses=_ANSWERS,
        response_model=Answered,
        summary="Answer again, beside an answer",
    )
    async def regenerate(
        request: Request,
        who: Who,
        id: ConversationId,
        key: Key,
        body: RegenerateBody | None = None,
        accept: Accept = "",
        prefer: Prefer = "",
    ) -> Response:
        chosen = body or RegenerateBody()
        made = key(f"POST /v1/conversations/{id}/regenerate", canonical_body(chosen))
        begun = await desk.regenerate(who.scope, id, entry=chosen.entry, key=made)
        log_reused(id)
        keeper.changed(who.scope)
        return await _answer(request, keeper, who.scope, id, begun)

    @router.post("/cancel", summary="Stop the turn that runs or waits")
    async def cancel(who: Who, id: ConversationId) -> ShownTurn:
        turn = await desk.cancel(who.scope, id)
        return ShownTurn(id=turn.number, state="cancelled")

    @router.post("/approve", summary="Allow or refuse a tool call that waits for a person")
    async def approve(who: Who, id: ConversationId, body: ApproveBody, key: Key) -> ShownTurn:
        made = key(f"POST /v1/conversations/{id}/approve", canonical_body(body))
        entry = await desk.approve(
            who.scope, id, body.tool_call_id, approved=body.approved, reason=body.reason, key=made
        )
        turns = await keeper.store.turns(who.scope, id)
        return await ShownTurn.of(desk, turns[0]) if turns else ShownTurn(id=entry.turn or 0, state="completed")

    return router


async def _answer(request: Request, keeper: Keeper, scope: Scope, id: str, begun: Begun) -> Response:
    """Answer in the way that the client wants: streamed, at once, or at the end of the turn."""
    accept, prefer = request.headers.get("accept", ""), request.headers.get("prefer", "")
    headers = replay_headers(begun.replayed)
    events = keeper.desk.follow_turn(scope, id, begun)
    if wants_stream(accept):
        return stream(events, id, headers=headers)
    is_hasty = wants_no_wait(prefer)
    if is_hasty:
        headers["Preference-Applied"] = "respond-async"
        if (state := await _open_state(keeper, scope, id, begun)) is not None:
            body = Answered(turn=ShownTurn(id=begun.turn, state=state))
            return JSONResponse(body.model_dump(mode="json"), 202, headers)

    async def wait() -> tuple[int | None, TurnEnded | TurnWaiting | None]:
        seq, end = None, None
        async with aclosing(events):
            async for event in events:
                match event.what:
                    case MessageCompleted(message=message, turn=begun.turn) if message.role is Role.ASSISTANT:
                        seq = event.what.seq
                    case TurnEnded(turn=begun.turn) | TurnWaiting(turn=begun.turn):
                        end = event.what
        return seq, end

    seq, end = await unless_gone(request.receive, wait())
    if isinstance(end, TurnEnded) and end.failure is not None and is_conflict(end.failure):
        return problem_of_turn(end.failure, turn=begun.turn)
    whole = await _ended(keeper, scope, id, begun.turn, end, seq)
    return JSONResponse(whole.model_dump(mode="json"), 202 if is_hasty else 200, headers)


async def _open_state(keeper: Keeper, scope: Scope, id: str, begun: Begun) -> TurnState | None:
    """Return the state of a turn that has not ended; one whose request came again may have done so since."""
    if not begun.replayed:
        return TurnState.QUEUED if begun.lease is None else TurnState.RUNNING
    turns = await keeper.store.turns(scope, id)
    return next((turn.state for turn in turns if turn.number == begun.turn), None)


async def _ended(
    keeper: Keeper, scope: Scope, id: str, number: int, end: TurnEnded | TurnWaiting | None, seq: int | None
) -> Answered:
    match end:
        case TurnEnded():
            turn = ShownTurn(id=number, state=end.state, failure=end.failure, detail=end.detail)
        case TurnWaiting():
            turn = ShownTurn(id=number, state=TurnState.WAITING, detail=end.detail, calls=list(end.calls))
        case _:
            turn = ShownTurn(id=number, state=TurnState.RUNNING)
    if seq is None:
        return Answered(turn=turn)
    entry, tree = await keeper.store.entry(scope, id, seq), await keeper.store.tree(scope, id)
    return Answered(turn=turn, message=ShownMessage.of(entry, tree))
