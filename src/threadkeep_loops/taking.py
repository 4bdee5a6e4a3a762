"""What a loop elsewhere says, done to its turn: the same for a request and for a line of a stream."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import count

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.turn import TurnState
from threadkeep_loops import bodies
from threadkeep_loops.turn import OwnTurn


async def take(turn: OwnTurn, items: Sequence[bodies.Item | bodies.TextLine], key: IdempotencyKey | None) -> None:
    """Add what a loop says to its turn; calls that follow each other are one message. The key is for what has no id."""
    calls: list[ToolCall] = []
    keys = (key and key.model_copy(update={"route": f"{key.route} {place}"}) for place in count())
    for place, item in enumerate(items):
        if isinstance(item, bodies.CallEntry):
            calls.append(ToolCall(id=item.id or _id_of(turn, key, place), name=item.name, args=item.args))
            continue
        await turn.calls(*calls)
        calls.clear()
        await _take(turn, item, None if isinstance(item, bodies.UsageEntry) else next(keys))
    await turn.calls(*calls)


def _id_of(turn: OwnTurn, key: IdempotencyKey | None, place: int) -> str:
    """Return an id for a call that has none: the same when its request is sent again with its key."""
    if key is None:
        return turn.new_id()
    return blake2b(key.name(turn.active.lease.scope) + bytes([place % 256, place // 256]), digest_size=16).hexdigest()


async def _take(turn: OwnTurn, item: bodies.Item | bodies.TextLine, key: IdempotencyKey | None) -> None:
    match item:
        case bodies.TextLine():
            await (turn.text if item.type == "text" else turn.reasoning)(item.text)
        case bodies.MessageEntry():
            await turn.add(item.message(), key=None if item.id else key)
        case bodies.ResultEntry():
            took = item.duration_ms
            await turn.result(item.call, item.content, error=item.error, duration_ms=took, blocks=item.blocks)
        case bodies.BlockEntry():
            await turn.block(item.block, key=key)
        case bodies.StateEntry():
            await turn.change_state(item.set, item.unset, key=key)
        case bodies.UsageEntry():
            turn.used(item.usage, item.model)


async def end(turn: OwnTurn, how: bodies.SettleBody) -> None:
    """End or pause a turn."""
    if how.usage is not None or how.model is not None:
        turn.used(how.usage, how.model)
    if how.state == "waiting":
        await turn.ask_approval(*how.calls, wait=False)
    else:
        await turn.settle(TurnState(how.state), detail=how.detail, failure=how.failure)
