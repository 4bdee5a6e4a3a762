"""What a loop elsewhere says, done to its turn: the same for a request and for a line of a stream."""

from collections.abc import Sequence

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.turn import TurnState
from threadkeep_loops import bodies
from threadkeep_loops.turn import OwnTurn


async def take(turn: OwnTurn, items: Sequence[bodies.Item | bodies.TextLine], key: IdempotencyKey | None) -> None:
    """Add what a loop says to its turn; calls that follow each other are one message. The key is for what has no id."""
    calls: list[ToolCall] = []
    for item in items:
        if isinstance(item, bodies.CallEntry):
            calls.append(ToolCall(id=item.id or turn.new_id(), name=item.name, args=item.args))
            continue
        await turn.calls(*calls)
        calls.clear()
        await _take(turn, item, key)
        key = None
    await turn.calls(*calls)


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
