"""Messages: send one, answer again, cancel, approve. One path for all: the turn runs, only the answer differs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request
from starlette.responses import JSONResponse, Response

from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.events import TurnEnded
from threadkeep.conversation.turn import BusyPolicy, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.server.event_schema import ConversationEvent, stream_of
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_stream
from threadkeep.server.middleware.tracking import unless_gone
from threadkeep.server.negotiation import wants_no_wait, wants_stream
from threadkeep.server.problems import is_conflict, problem_of_turn
from threadkeep.server.requests import (
    ApproveBody,
    ConversationId,
    FeedbackBody,
    Key,
    RegenerateBody,
    ResultBody,
    SendBody,
    canonical_body,
    replay_headers,
)
from threadkeep.server.responses import Answered, ShownFeedback, ShownMessage, ShownTurn
from threadkeep.server.routes.conversations import Place
from threadkeep.server.sse import sse_response
from threadkeep.turn_handle import TurnHandle, TurnOutcome

Accept = Annotated[str, Header(description="`text/event-stream` streams the turn, `application/json` waits for it.")]
Prefer = Annotated[str, Header(description="`respond-async` answers 202 with the turn at once.")]

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Answered,
        "content": stream_of(ConversationEvent),
        "description": "The turn, streamed or at its end.",
    },
    202: {"model": Answered, "description": "The turn, which goes on by itself."},
}

_ROOM = [Depends(room_for_stream)]


def message_routes(conversations: Conversations) -> APIRouter:
    """What begins a turn: a message, or the wish for another answer."""
    router = APIRouter(prefix="/v1/conversations/{id}", tags=["messages"])

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
        conversation = await conversations.named(who.scope, id)
        turn = await conversation.accept(
            body.content,
            parent=body.place,
            expected_head=body.expected_head,
            policy=body.policy or BusyPolicy.QUEUE,
            key=key(f"POST /v1/conversations/{conversation.id}/messages", canonical_body(body)),
            id=body.id,
            tools=body.tools,
            without_recall=body.without_recall,
        )
        return await _answer(request, conversation, turn)

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
        conversation = await conversations.named(who.scope, id)
        made = key(f"POST /v1/conversations/{conversation.id}/regenerate", canonical_body(chosen))
        turn = await conversation.regenerate(key=made, **dict(chosen))
        return await _answer(request, conversation, turn)

    return router


def reaction_routes(conversations: Conversations) -> APIRouter:
    """What people do about a turn or its answer: cancel, approve, give a result, say what they think."""
    router = APIRouter(prefix="/v1/conversations/{id}", tags=["messages"])

    @router.post("/cancel", summary="Stop the turn that runs or waits, or take a queued message back")
    async def cancel(who: Who, id: ConversationId, turn: Place = None) -> ShownTurn:
        return ShownTurn(id=await (await conversations.named(who.scope, id)).cancel(turn), state=TurnState.CANCELLED)

    @router.post("/approve", summary="Allow or refuse a tool call that waits for a person")
    async def approve(who: Who, id: ConversationId, body: ApproveBody, key: Key) -> ShownTurn:
        conversation = await conversations.named(who.scope, id)
        made = key(f"POST /v1/conversations/{conversation.id}/approve", canonical_body(body))
        entry = await conversation.approve(body.tool_call_id, approved=body.approved, reason=body.reason, key=made)
        return await _turn_after(conversation, entry)

    @router.post("/result", summary="Give the result of a tool call that the client runs")
    async def result(who: Who, id: ConversationId, body: ResultBody, key: Key) -> ShownTurn:
        conversation = await conversations.named(who.scope, id)
        made = key(f"POST /v1/conversations/{conversation.id}/result", canonical_body(body))
        entry = await conversation.give_result(body.tool_call_id, body.result, error=body.error, key=made)
        return await _turn_after(conversation, entry)

    @router.post("/messages/{entry}/feedback", summary="Say what you think of a message, or take it back")
    async def feedback(
        who: Who, id: ConversationId, entry: Annotated[int, Path(ge=1, le=MAX_SEQ)], body: FeedbackBody, key: Key
    ) -> ShownFeedback:
        conversation = await conversations.named(who.scope, id)
        made = key(f"POST /v1/conversations/{conversation.id}/messages/{entry}/feedback", canonical_body(body))
        given = await conversation.give_feedback(entry, body.rating, body.comment, key=made)
        return ShownFeedback.model_validate(given.body)

    return router


async def _turn_after(conversation: ConversationHandle, answered: Entry) -> ShownTurn:
    """Return the turn that an answer about a call belongs to, or was of if it has ended by now."""
    turns = await conversation.turns()
    if not turns:
        return ShownTurn(id=answered.turn or 0, state=TurnState.COMPLETED)
    return await ShownTurn.of(conversation, turns[0])


async def _answer(request: Request, conversation: ConversationHandle, turn: TurnHandle) -> Response:
    """Answer in the way that the client wants: streamed, at once, or at the end of the turn."""
    accept, prefer = request.headers.get("accept", ""), request.headers.get("prefer", "")
    headers = replay_headers(turn.replayed)
    if wants_stream(accept):
        return sse_response(turn.events(), conversation.id, headers=headers)
    is_hasty, is_spooled = wants_no_wait(prefer), conversation.reading.is_spooled
    if is_hasty:
        headers["Preference-Applied"] = "respond-async"
    if is_hasty or is_spooled:
        # Nobody waits for a turn that waits itself for the end of an outage.
        state = await turn.open_state()
        if state is not None and (is_hasty or state is TurnState.QUEUED):
            body = Answered(turn=ShownTurn(id=turn.number, state=state, spooled=is_spooled))
            return JSONResponse(body.model_dump(mode="json"), 202, headers)
    outcome = await unless_gone(request.receive, turn.outcome())
    if isinstance(outcome.end, TurnEnded) and outcome.end.failure is not None and is_conflict(outcome.end.failure):
        return problem_of_turn(outcome.end.failure, turn=turn.number)
    whole = await _answered(conversation, turn.number, outcome)
    return JSONResponse(whole.model_dump(mode="json"), 202 if is_hasty else 200, headers)


async def _answered(conversation: ConversationHandle, number: int, outcome: TurnOutcome) -> Answered:
    end = outcome.end
    spooled = conversation.reading.is_spooled
    turn = ShownTurn(id=number, state=TurnState.WAITING, detail=end.detail, spooled=spooled)
    if isinstance(end, TurnEnded):
        turn = turn.model_copy(update={"state": end.state, "failure": end.failure})
    else:
        turn = turn.model_copy(update={"calls": list(end.calls), "client_calls": list(end.client_calls)})
    if outcome.seq is None:
        return Answered(turn=turn)
    found = await conversation.snapshot(messages=1, head=outcome.seq)
    return Answered(turn=turn, message=ShownMessage.of(found.entries[-1], found.tree))
