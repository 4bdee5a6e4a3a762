"""What a turn does next, decided from its entries alone: the third law. Recovery runs the same function again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from threadkeep.conversation.entry import Approval, Body, Entry
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.tools.registry import Registry

MOST_RECOVERIES = 2
"""How often an answer that broke off is asked for again."""
MOST_TAKEN = 5
"""How often a turn is taken up from owners that died: it may be what kills them."""


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask the model. `last` is for the call without tools at the limit; `cut_off` if an answer broke off before."""

    last: bool = False
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run these calls. If `doubtful`, they may have run before a crash; those in `refused` (by id, with the reason)
    were refused by a person; those in `flaws` (by id, with what is wrong) came with arguments that nobody can read."""

    calls: tuple[ToolCall, ...]
    doubtful: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    flaws: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a person to decide about these calls."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do but to say how it ended."""

    state: TurnState
    detail: str | None = None


Next = Generate | RunTools | Wait | Finish


def decide(entries: Sequence[Entry], tools: Registry, iterations: int) -> Next:
    """Return the next step of a turn with these entries of its own, remarks and approvals among them."""
    if _times_taken(entries) > MOST_TAKEN:
        return Finish(TurnState.INTERRUPTED, "The process that ran this turn died again and again.")
    said = _said(entries)
    was_cut_off = bool(said) and _message(said[-1]).status is MessageStatus.INTERRUPTED
    if said and not was_cut_off:
        pending = pending_calls(entries)
        if pending:
            return _about_calls(pending, said[-1], entries, tools)
        if not _message(said[-1]).tool_calls:
            return Finish(TurnState.COMPLETED)
    if sum(_message(entry).status is MessageStatus.INTERRUPTED for entry in said) > MOST_RECOVERIES:
        return Finish(TurnState.INTERRUPTED, "The answer was cut off again and again.")
    rounds = sum(bool(_message(entry).tool_calls) for entry in said)
    return Generate(last=rounds >= iterations, cut_off=was_cut_off)


def pending_calls(entries: Sequence[Entry]) -> tuple[ToolCall, ...]:
    """Return the calls of a turn's newest answer that have no result yet."""
    said = _said(entries)
    if not said:
        return ()
    later = (entry.body for entry in entries if entry.seq > said[-1].seq and isinstance(entry.body, Message))
    answered = {message.tool_result.tool_call_id for message in later if message.tool_result is not None}
    return tuple(call for call in _message(said[-1]).tool_calls if call.id not in answered)


def _said(entries: Sequence[Entry]) -> list[Entry]:
    """Return what the assistant said, whole or cut off."""
    return [entry for entry in entries if isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT]


def _times_taken(entries: Sequence[Entry]) -> int:
    """Return how often the turn changed hands while it ran."""
    states = [entry.body.state for entry in entries if isinstance(entry.body, TurnChange)]
    return sum(pair == (TurnState.RUNNING, TurnState.RUNNING) for pair in pairwise(states))


def _message(entry: Entry) -> Message:
    if not isinstance(entry.body, Message):
        raise TypeError("not a message")
    return entry.body


def _needs_approval(call: ToolCall, tools: Registry) -> bool:
    tool = tools.get(call.name)
    return tool is not None and tool.needs_approval


def _about_calls(
    calls: tuple[ToolCall, ...], asked: Entry, entries: Sequence[Entry], tools: Registry
) -> RunTools | Wait:
    later = [entry.body for entry in entries if entry.seq > asked.seq]
    decisions = {body.tool_call_id: body for body in later if isinstance(body, Approval)}
    flaws = _flaws(_message(asked))
    settled = decisions.keys() | flaws.keys()
    undecided = tuple(call for call in calls if call.id not in settled and _needs_approval(call, tools))
    if undecided:
        return Wait(undecided)
    refused = {id: body.reason or "" for id, body in decisions.items() if not body.approved}
    return RunTools(calls, _may_have_run(later), refused, flaws)


def flaw_item(call: str, flaw: str) -> dict[str, str]:
    """Return the item of an answer's trace that tells what is wrong with the arguments of a call."""
    return {"kind": "flaw", "call": call, "flaw": flaw}


def _flaws(asked: Message) -> dict[str, str]:
    return {str(item["call"]): str(item["flaw"]) for item in asked.tool_trace if item.get("kind") == "flaw"}


def _may_have_run(later: Sequence[Body]) -> bool:
    """Whether an owner that died may have started calls, given what came behind them: it was taken up while it ran.

    Going on after a person's answer is no such taking up, and nothing ran before that answer.
    """
    states = [body.state for body in later if isinstance(body, TurnChange)]
    waited = TurnState.WAITING in states
    since = states[len(states) - states[::-1].index(TurnState.WAITING) :] if waited else states
    return len(since) > waited
