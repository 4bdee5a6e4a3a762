"""Accepting a message: its key, its lease and the message itself in one commit; then the turn runs, or is queued."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from pydantic import ValidationError

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Part
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import MOST_LEFT_OUT, BusyPolicy, ClientTool, LeftOut, Turn, TurnState
from threadkeep.errors import InvalidParent, InvalidValue, LeaseLost, LimitReached
from threadkeep.store.base import ROOT
from threadkeep.store.paging import backwards
from threadkeep.store.values import Begin, Begun
from threadkeep.tools.client import client_tools
from threadkeep.turn.active_turn import EngineDeps, turn_entries
from threadkeep.turn.attached import stored
from threadkeep.turn.runner import TurnRunner


class Loop(NamedTuple):
    """The loop outside of the engine that runs a turn: who holds the lease, how long, and the turn's chosen id."""

    owner: str
    lease_for: timedelta
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Sending:
    """A message to be accepted: its text, parts and, if its sender chose one, id, the definitions of tools that its
    sender runs, and what is not to be recalled. Without content the question `parent` is answered again."""

    content: str | None
    id: str | None = None
    parts: tuple[Part, ...] = ()
    parent: int | None = None
    expected_head: int | None = None
    policy: BusyPolicy = BusyPolicy.QUEUE
    key: IdempotencyKey | None = None
    loop: Loop | None = None
    tools: Sequence[ClientTool | Mapping[str, Any]] = ()
    without_recall: Sequence[LeftOut | Mapping[str, Any]] = ()


async def accept(runner: TurnRunner, scope: Scope, conversation: str, sending: Sending) -> Begun:
    """Store a message and make sure that it is answered. When this returns, the message is stored for ever."""
    deps = runner.deps
    parent, active = sending.parent, None
    if sending.policy in (BusyPolicy.INTERRUPT, BusyPolicy.ROLLBACK):
        active = await _active(runner, scope, conversation)
        if active is not None and sending.policy is BusyPolicy.ROLLBACK:
            parent = await _before(runner, active)
    message = None
    if sending.content is not None:
        parts = await stored(deps, scope, sending.parts)
        said = Message(id=sending.id or deps.ids(), role=Role.USER, content=sending.content, parts=parts)
        message = deps.counted(said)
    tools: tuple[ClientTool, ...] = ()
    if sending.tools:
        assistant = deps.assistant_of(await deps.store.get(scope, conversation))
        tools = client_tools(sending.tools, assistant.tools)
    loop = sending.loop or Loop(deps.owner, deps.lease_for)
    begin = Begin(
        outside=sending.loop is not None,
        id=loop.id,
        message=message,
        parent=parent,
        expected_head=sending.expected_head,
        key=sending.key,
        owner=loop.owner,
        lease_for=loop.lease_for,
        when_busy="reject" if sending.policy is BusyPolicy.REJECT else "queue",
        tools=tools,
        without_recall=_left_out(sending.without_recall),
        refused=await _over_budget(deps, scope),
    )
    with deps.admission.admitted(scope, conversation):
        begun = await deps.store.begin(scope, conversation, begin)
        if begun.lease is not None and sending.loop is None:
            runner.begin(begun.lease, begun.entries)
    if begun.lease is None and not begun.replayed:
        await _make_way(runner, scope, conversation, active)
    return begun


async def _over_budget(deps: EngineDeps, scope: Scope) -> LimitReached | None:
    """Return why nothing more is begun; what was begun before is replayed all the same."""
    if deps.budgets is not None:
        try:
            await deps.budgets.check(scope)
        except LimitReached as refused:
            return refused
    return None


def _left_out(given: Sequence[LeftOut | Mapping[str, Any]]) -> tuple[LeftOut, ...]:
    if len(given) > MOST_LEFT_OUT:
        raise InvalidValue(f"At most {MOST_LEFT_OUT} entries can be left out of what is recalled.")
    try:
        return tuple(LeftOut.model_validate(each) for each in given)
    except ValidationError:
        raise InvalidValue('What is not to be recalled is written {"entry": 3}, perhaps with "conversation".') from None


async def accept_again(runner: TurnRunner, scope: Scope, conversation: str, entry: int | None, **how: Any) -> Begun:
    """Answer the question of an answer (none: the newest) again, as a sibling of the old answer. How is told as to
    `Sending`."""
    async with aclosing(backwards(runner.deps.store, scope, conversation, head=entry)) as entries:
        async for found in entries:
            if isinstance(found.body, Message) and found.body.role is Role.USER:
                return await accept(runner, scope, conversation, Sending(content=None, parent=found.seq, **how))
    raise InvalidParent("There is no question to answer again.")


async def _make_way(runner: TurnRunner, scope: Scope, conversation: str, active: Turn | None) -> None:
    """Make sure that a queued turn runs: stop the turn before it, or start the queue if nobody did."""
    try:
        if active is not None:
            await runner.stop_turn(active, TurnState.INTERRUPTED)
        elif await _active(runner, scope, conversation) is None:
            # Whoever should have started the queue died before that.
            await runner.run_next(scope, conversation)
    except LeaseLost:
        return  # it has just ended by itself


async def _active(runner: TurnRunner, scope: Scope, conversation: str) -> Turn | None:
    turns = await runner.deps.store.turns(scope, conversation)
    return next((turn for turn in turns if turn.state is not TurnState.QUEUED), None)


async def _before(runner: TurnRunner, turn: Turn) -> int:
    """Return the entry that a turn's own message continues: where the branch is left."""
    entries = await turn_entries(runner.deps.store, turn.scope, turn.conversation, turn.number)
    first = next((entry for entry in entries if entry.continues_branch), entries[0])
    return first.parent or ROOT
