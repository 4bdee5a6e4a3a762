"""What a turn does next, decided from its entries alone: the third law. Recovery runs the same function again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from threadkeep.conversation.entry import Approval, Body, Entry
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.tools.registry import Registry

MOST_RECOVERIES = 2
"""How often the model is asked again after it broke off an answer."""
MOST_IN_VAIN = 3
"""How often in a row a turn is taken up without progress: the turn itself may be what kills or freezes its owners. A
taking is an entry, stored before anything is done for the turn, so it counts even if the taker dies at once."""
MOST_TAKEN = 20
"""How often a turn is taken up in all, with or without progress."""
LOST = "given up: it was taken up {} times from a process that died or froze while it ran this turn"
CHANGED = "not run: the tool was changed after a person had been asked about this call. Call it again to ask anew."
CUT_OFF = "given up: the answer was cut off again and again"


@dataclass(frozen=True, slots=True)
class Generate:
    """Ask the model. `last`: without tools, because their limit is reached; `cut_off`: the last answer broke off."""

    last: bool = False
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run these calls. If `doubtful`, they may have run before a crash; those in `refused` (by id, with the reason)
    were refused by a person; those in `flaws` (by id, with what is wrong) have unreadable arguments, or tools that were
    changed after a person had been asked; those in `given` (by id) ran at a client."""

    calls: tuple[ToolCall, ...]
    doubtful: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    flaws: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Approval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for a person to decide about these calls, or for the client that runs them."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn is over; store how it ended."""

    state: TurnState
    detail: str | None = None


Next = Generate | RunTools | Wait | Finish


def decide(entries: Sequence[Entry], tools: Registry, iterations: int) -> Next:
    """Return the next step of a turn with these entries of its own, remarks and approvals among them."""
    taken = _takings(entries)
    if _taken_in_vain(entries, taken) >= MOST_IN_VAIN or len(taken) > MOST_TAKEN:
        return Finish(TurnState.INTERRUPTED, LOST.format(len(taken)))
    spoken = _messages_of(entries)
    was_cut_off = bool(spoken) and _message(spoken[-1]).status is MessageStatus.INTERRUPTED
    if spoken and not was_cut_off:
        pending = pending_calls(entries)
        if pending:
            return _about_calls(pending, spoken[-1], entries, tools)
        if not _message(spoken[-1]).tool_calls:
            return Finish(TurnState.COMPLETED)
    if _broken_off(entries, taken) > MOST_RECOVERIES:
        return Finish(TurnState.INTERRUPTED, CUT_OFF)
    rounds = sum(bool(_message(entry).tool_calls) for entry in spoken)
    return Generate(last=rounds >= iterations, cut_off=was_cut_off)


def is_outside(entries: Sequence[Entry]) -> bool:
    """Whether a loop outside of this engine runs a turn: then only that loop decides what comes next."""
    return any(isinstance(entry.body, TurnChange) and entry.body.outside for entry in entries)


def client_calls(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the ids of the calls for whose results a turn waited last."""
    changes = [entry.body for entry in entries if isinstance(entry.body, TurnChange)]
    return next((change.client_calls for change in reversed(changes) if change.state is TurnState.WAITING), ())


def pending_calls(entries: Sequence[Entry]) -> tuple[ToolCall, ...]:
    """Return the calls of a turn's newest answer that have no result yet."""
    spoken = _messages_of(entries)
    if not spoken:
        return ()
    later = (entry.body for entry in entries if entry.seq > spoken[-1].seq and isinstance(entry.body, Message))
    answered = {message.tool_result.tool_call_id for message in later if message.tool_result is not None}
    return tuple(call for call in _message(spoken[-1]).tool_calls if call.id not in answered)


def waiting_calls(entries: Sequence[Entry]) -> tuple[ToolCall, ...]:
    """Return the calls of a waiting turn that a person has yet to decide about."""
    pending, spoken = pending_calls(entries), _messages_of(entries)
    later = [entry.body for entry in entries if spoken and entry.seq > spoken[-1].seq]
    decided = {body.tool_call_id for body in later if isinstance(body, Approval)}
    paused = [body.calls for body in later if isinstance(body, TurnChange) and body.state is TurnState.WAITING]
    # Release 0.1.0 did not write down which calls wait: then any of them may.
    named = (paused[-1] if paused else ()) or [call.id for call in pending]
    return tuple(call for call in pending if call.id in named and call.id not in decided)


def _messages_of(entries: Sequence[Entry]) -> list[Entry]:
    """Return what the assistant said, whole or cut off."""
    return [entry for entry in entries if isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT]


def _takings(entries: Sequence[Entry]) -> frozenset[int]:
    """Return the numbers of the entries that record a change of owner while the turn ran."""
    changes = [(entry.seq, entry.body.state) for entry in entries if isinstance(entry.body, TurnChange)]
    both_running = (TurnState.RUNNING, TurnState.RUNNING)
    return frozenset(seq for (_, before), (seq, state) in pairwise(changes) if (before, state) == both_running)


def _taken_in_vain(entries: Sequence[Entry], taken: frozenset[int]) -> int:
    """Return how many takings there were since the last progress, which is an entry that says something new.

    Repeated words, calls, results or changes of state are no progress: a turn that keeps coming to the same place must
    end.
    """
    vain, known = 0, set[str]()
    for entry in entries if taken else ():
        if entry.seq in taken:
            vain += 1
        elif (gist := _gist(entry.body)) is not None and gist not in known:
            known.add(gist)
            vain = 0
    return vain


def _gist(body: Body) -> str | None:
    """Return what an entry says, without ids and times, which differ when a step is repeated."""
    match body:
        case Message():
            return f"{body.role} {body.content} {[(call.name, call.args) for call in body.tool_calls]}"
        case StateChange():
            return f"state {body.set} {body.unset}"
        case _:
            return None


def _broken_off(entries: Sequence[Entry], taken: frozenset[int]) -> int:
    """Return how many answers the model broke off, not counting those that a dead owner left half-written."""
    before = (None, *(entry.seq for entry in entries))
    return sum(
        isinstance(entry.body, Message) and entry.body.status is MessageStatus.INTERRUPTED and previous not in taken
        for previous, entry in zip(before, entries, strict=False)
    )


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
    given = {id: body for id, body in decisions.items() if body.is_result}
    return RunTools(calls, _may_have_run(later), refused, _changed(calls, later, tools) | flaws, given)


def _changed(calls: Sequence[ToolCall], later: Sequence[Body], tools: Registry) -> dict[str, str]:
    """Return the flaws of calls, by id, whose tools were defined otherwise when a person was asked about them."""
    pauses = (body for body in later if isinstance(body, TurnChange) and body.state is TurnState.WAITING)
    shown = {id: digest for pause in pauses for id, digest in zip(pause.calls, pause.definitions, strict=False)}
    return {call.id: CHANGED for call in calls if shown.get(call.id, now := tools.digest(call.name)) != now}


def flaw_item(call: str, flaw: str) -> dict[str, str]:
    """Return the item of an answer's trace that says what is wrong with the arguments of a call."""
    return {"kind": "flaw", "call": call, "flaw": flaw}


def _flaws(asked: Message) -> dict[str, str]:
    return {str(item["call"]): str(item["flaw"]) for item in asked.tool_trace if item.get("kind") == "flaw"}


def _may_have_run(later: Sequence[Body]) -> bool:
    """Whether a dead owner may have started calls, given what came after them: the turn was taken up while it ran."""
    takings = 0
    for body in later:
        if isinstance(body, TurnChange):
            # Nothing runs before a person has answered, and the first change after a wait only resumes the turn.
            takings = -1 if body.state is TurnState.WAITING else takings + 1
    return takings > 0
