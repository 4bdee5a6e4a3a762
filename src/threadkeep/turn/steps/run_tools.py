"""Running tools: the calls were stored before this step; each result is stored as soon as it is there."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Part
from threadkeep.conversation.state import State, StateChange
from threadkeep.conversation.value import JsonObject
from threadkeep.errors import ContentTooLarge, IllegalTransition
from threadkeep.store.values import Appendable
from threadkeep.tools.base import Archive, ToolContext, ToolOutcome
from threadkeep.tools.outcome import failure
from threadkeep.tools.registry import run_calls, shorten
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.attached import kept
from threadkeep.turn.decision import RunTools

UNKNOWN = "outcome unknown: the process stopped while this call may have been running; it was not run again"
REFUSED = "refused: a person did not allow this call"
SMALL = 10_000
MOST_TRACED, MOST_ARGUMENTS, MOST_RESULT = 100, 1_000, 200
"""How many calls are in the trace of an answer, and how many characters of their arguments and results."""


async def run_tools(active: ActiveTurn, step: RunTools) -> None:
    """Run calls concurrently and store each result; stopping the turn stops the calls."""
    await active.unless_stopped(_run_and_store(active, step), lambda: None)


async def refuse(active: ActiveTurn, calls: Sequence[ToolCall], reason: str) -> None:
    """Store a refusal as the result of each call."""
    if calls:
        await active.append(*(_result(active.deps.ids, call, _refusal(reason)) for call in calls))


async def _run_and_store(active: ActiveTurn, step: RunTools) -> None:
    lease, state = active.lease, await active.state()
    to_run = []
    for call in step.calls:
        outcome = _without_running(active, step, call)
        if outcome is None:
            to_run.append(call)
        else:
            state = await _store_result(active, call, outcome, state)
    if not all(_is_repeatable(active, call) for call in to_run):
        await active.deps.store.operations.reach(lease)
    context = ToolContext(
        scope=lease.scope,
        conversation=lease.conversation,
        turn=lease.turn,
        call_id="",
        state=state,
        archive=Archive(active.deps.store, lease.scope),
        timeout=active.deps.tool_timeout,
        fence=lease.fence,
        confirm=active.confirm,
    )
    async with aclosing(run_calls(active.assistant.tools, to_run, context, step.flaws)) as outcomes:
        async for call, outcome in outcomes:
            state = await _store_result(active, call, outcome, state)


def _without_running(active: ActiveTurn, step: RunTools, call: ToolCall) -> ToolOutcome | None:
    """Return the outcome of a call that must not run: refused by a person, run by a client, or perhaps run before a
    crash."""
    if (given := step.given.get(call.id)) is not None:
        return failure(given.error) if given.error is not None else ToolOutcome(content=given.result or "")
    if call.id in step.refused:
        return _refusal(step.refused[call.id])
    if step.doubtful and call.id not in step.flaws and not _is_repeatable(active, call):
        return ToolOutcome(content=UNKNOWN, error="outcome unknown")
    return None


def _is_repeatable(active: ActiveTurn, call: ToolCall) -> bool:
    tool = active.assistant.tools.get(call.name)
    return tool is not None and tool.repeatable


def _refusal(reason: str) -> ToolOutcome:
    return ToolOutcome(content=REFUSED + (f": {reason}" if reason else ""), error="refused")


async def _store_result(active: ActiveTurn, call: ToolCall, outcome: ToolOutcome, state: State) -> State:
    """Store a result and the change of state that came with it; return the state after it."""
    change: StateChange | None = None
    if outcome.state or outcome.unset:
        try:
            change = active.state_change(state, outcome.state, outcome.unset)
        except IllegalTransition as error:
            outcome = failure(str(error))
    parts, unkept = await kept(active.deps, active.lease.scope, outcome.files)
    outcome = replace(outcome, content="\n".join(filter(None, (outcome.content, *unkept))))
    result = _result(active.deps.ids, call, outcome, parts)
    bodies: list[Appendable] = [result] if change is None else [result, change]
    try:
        await active.append(*bodies)
    except ContentTooLarge:
        note = f"too large to be kept: {len(outcome.content)} characters"
        short = ToolOutcome(content=shorten(outcome.content, SMALL), error=note, duration_ms=outcome.duration_ms)
        await active.append(_result(active.deps.ids, call, short))
        return state
    return state if change is None else state.after(change)


def _result(ids: IdSource, call: ToolCall, outcome: ToolOutcome, parts: tuple[Part, ...] = ()) -> Message:
    result = ToolResult(tool_call_id=call.id, duration_ms=outcome.duration_ms, error=outcome.error)
    return Message(
        id=ids(), role=Role.TOOL, content=outcome.content, parts=parts, blocks=outcome.blocks, tool_result=result
    )


def traced_calls(entries: Sequence[Entry]) -> tuple[JsonObject, ...]:
    """Return the items of an answer's trace about the tools that were called for it, shortened: the whole calls and
    results are entries of their own."""
    traced: list[JsonObject] = []
    calls: dict[str, ToolCall] = {}
    for message in (entry.body for entry in entries if isinstance(entry.body, Message)):
        calls |= {call.id: call for call in message.tool_calls}
        result = message.tool_result
        if result is not None and result.tool_call_id in calls:
            traced.append(_traced(calls[result.tool_call_id], result, message.content))
    return tuple(traced[:MOST_TRACED])


def _traced(call: ToolCall, result: ToolResult, content: str) -> JsonObject:
    arguments = json.dumps(call.args, ensure_ascii=False)
    return {
        "kind": "tool",
        "call": call.id,
        "name": call.name,
        "arguments": call.args if len(arguments) <= MOST_ARGUMENTS else {"shortened": arguments[:MOST_ARGUMENTS]},
        "outcome": "failed" if result.error else "ok",
        "result": content[:MOST_RESULT],
        "duration_ms": result.duration_ms,
    }
