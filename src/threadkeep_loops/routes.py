"""The routes of a loop elsewhere. Whoever writes for a turn shows its token; the store decides whether that holds."""

from hashlib import blake2b
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from pydantic import AfterValidator
from starlette.responses import StreamingResponse

from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.turn import BusyPolicy, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import PackageMissing, TurnNotFound
from threadkeep.loop_turn import TurnOver
from threadkeep.server.identity.guards import Who
from threadkeep.server.requests import ConversationId, Key, canonical_body, replay_headers
from threadkeep.settings import Settings
from threadkeep_loops.bodies import (
    Added,
    AddedEntry,
    BeginBody,
    DraftBody,
    EntriesBody,
    HistoryBody,
    SettleBody,
    ShownDecision,
    ShownDraft,
    ShownLoop,
    Written,
)
from threadkeep_loops.drafts import Drafts
from threadkeep_loops.leases import LEASE_SECONDS, Token
from threadkeep_loops.running import OwnLoops
from threadkeep_loops.stream import LoopStream
from threadkeep_loops.taking import end, take
from threadkeep_loops.turn import OwnTurn

Number = Annotated[int, Path(ge=1, le=MAX_SEQ, description="The number of the turn.")]
Anew = Annotated[bool, Query(description="Keep what was half written as interrupted, and begin the message anew.")]
TurnToken = Annotated[str, Header(description="The token that came with the turn."), AfterValidator(str.strip)]
"""It may be missing, so that who may not see the conversation is told that first."""
TURNS = "/v1/conversations/{id}/turns"
_ACKNOWLEDGED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/x-ndjson": {}}, "description": "How much is stored by now, line by line."}
}
_BEGUN: dict[int | str, dict[str, Any]] = {
    200: {"model": ShownLoop, "description": "The turn that the same request began before."},
    202: {"model": ShownLoop, "description": "The turn waits in the queue."},
}
_NDJSON = {"requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


def loop_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """All of them."""
    router = APIRouter(tags=["your own loop"])
    _beginning(router, conversations)
    _writing(router, conversations)
    _ending(router, conversations)
    return router


def _beginning(router: APIRouter, conversations: Conversations) -> None:
    @router.post(TURNS, status_code=201, responses=_BEGUN, summary="Begin a turn that a loop of your own runs")
    async def begin(who: Who, id: ConversationId, body: BeginBody, key: Key, response: Response) -> ShownLoop:
        conversation = await conversations.named(who.scope, id)
        begun, token = await _loops(conversation).begin_elsewhere(
            body.content,
            turn=body.turn_id,
            id=body.id,
            parent=body.place,
            expected_head=body.expected_head,
            policy=body.policy or BusyPolicy.QUEUE,
            key=key(f"POST /v1/conversations/{conversation.id}/turns", canonical_body(body)),
        )
        response.headers.update(replay_headers(begun.replayed))
        if begun.lease is not None:
            return _held(begun.turn, body.turn_id, token)
        response.status_code = 200 if begun.replayed else 202
        return await _taken(conversation, begun.turn)

    @router.post(f"{TURNS}/{{turn}}/lease", summary="Take a turn of a loop of your own up")
    async def lease(who: Who, id: ConversationId, turn: Number, anew: Anew = False) -> ShownLoop:
        conversation = await conversations.named(who.scope, id)
        return _held(turn, None, await _loops(conversation).lease(turn, anew=anew))

    @router.get(f"{TURNS}/{{turn}}", summary="How a turn of a loop of your own stands")
    async def read(who: Who, id: ConversationId, turn: Number) -> ShownLoop:
        found = await _loops(await conversations.named(who.scope, id)).seen(turn)
        draft = None if found.draft is None else ShownDraft(**found.draft)
        decisions = [ShownDecision.model_validate(each) for each in found.decisions]
        return ShownLoop(turn=turn, id=found.id, state=found.state, draft=draft, decisions=decisions)


def _writing(router: APIRouter, conversations: Conversations) -> None:
    drafts = Drafts()

    @router.post(f"{TURNS}/{{turn}}/draft", summary="Go on with the message that is being written")
    async def draft(who: Who, id: ConversationId, turn: Number, body: DraftBody, turn_token: TurnToken = "") -> Written:
        conversation = await conversations.named(who.scope, id)
        return Written(offset=await drafts.write(_loops(conversation), turn, turn_token, body))

    @router.post(f"{TURNS}/{{turn}}/entries", summary="Add calls, results, blocks, states and messages to a turn")
    async def entries(
        who: Who, id: ConversationId, turn: Number, body: EntriesBody, key: Key, turn_token: TurnToken = ""
    ) -> Added:
        conversation = await conversations.named(who.scope, id)
        loop = await _loops(conversation).with_token(turn, turn_token)
        known = len(loop.active.entries)
        named = key(f"POST /v1/conversations/{conversation.id}/turns/{turn}/entries", canonical_body(body))
        await take(loop, body.entries, named)
        return Added(entries=[AddedEntry.of(entry) for entry in loop.active.entries[known:]])

    @router.post("/v1/conversations/{id}/entries", summary="Add messages that nobody answers")
    async def history(who: Who, id: ConversationId, body: HistoryBody, key: Key) -> Added:
        conversation = await conversations.named(who.scope, id)
        said = canonical_body(body)
        named = key(f"POST /v1/conversations/{conversation.id}/entries", said) or _key_of_ids(conversation, body, key)
        place = None if "parent" not in body.model_fields_set else body.parent or 0
        messages = [entry.message() for entry in body.entries]
        added = await conversation.append(*messages, key=named, parent=place)
        return Added(entries=[AddedEntry.of(entry) for entry in added])


def _key_of_ids(conversation: ConversationHandle, body: HistoryBody, key: Key) -> str | None:
    """Return a key for messages that all have ids of their sender: sent again, they are the same messages."""
    ids = [entry.id for entry in body.entries if entry.id is not None]
    return blake2b("\n".join(ids).encode()).hexdigest() if len(ids) == len(body.entries) else None


def _ending(router: APIRouter, conversations: Conversations) -> None:
    @router.post(f"{TURNS}/{{turn}}/settle", summary="End a turn, or let it wait for a person")
    async def settle(
        who: Who, id: ConversationId, turn: Number, body: SettleBody, turn_token: TurnToken = ""
    ) -> ShownLoop:
        conversation = await conversations.named(who.scope, id)
        try:
            loop = await _loops(conversation).with_token(turn, turn_token)
        except TurnOver as over:
            if over.state == body.state:
                return ShownLoop(turn=turn, state=over.state)  # a repeated request
            raise
        await end(loop, body)
        await _loops(conversation).settled(loop)
        return ShownLoop(turn=turn, id=loop.id, state=TurnState(loop.state))

    @router.post(
        f"{TURNS}/{{turn}}/stream",
        response_class=StreamingResponse,
        responses=_ACKNOWLEDGED,
        openapi_extra=_NDJSON,
        summary="Run a turn in one request: lines of JSON in, acknowledgements out",
    )
    async def stream(who: Who, id: ConversationId, turn: Number, turn_token: TurnToken = "") -> Response:
        conversation = await conversations.named(who.scope, id)
        loop: OwnTurn = await _loops(conversation).with_token(turn, turn_token)
        return LoopStream(loop)


def _loops(conversation: ConversationHandle) -> OwnLoops:
    """Return the loops of a conversation, which are ours: another package may offer the Python contract alone."""
    found = conversation.loops
    if not isinstance(found, OwnLoops):
        raise PackageMissing("Loops elsewhere need threadkeep_loops.")
    return found


def _held(turn: int, id: str | None, token: Token) -> ShownLoop:
    return ShownLoop(turn=turn, id=id, state=TurnState.RUNNING, token=str(token), lease_seconds=LEASE_SECONDS)


async def _taken(conversation: ConversationHandle, turn: int) -> ShownLoop:
    """Return a turn that was begun before, taken up again if it runs, or one that is still in the queue."""
    try:
        return _held(turn, None, await _loops(conversation).lease(turn))
    except TurnOver as over:
        return ShownLoop(turn=turn, state=over.state or TurnState.INTERRUPTED)
    except TurnNotFound:
        return ShownLoop(turn=turn, state=TurnState.QUEUED)
