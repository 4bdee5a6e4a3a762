"""Events as clients get them: their names, which are permanent, and their JSON."""

from dataclasses import asdict
from typing import Any, assert_never

from threadkeep.conversation import events
from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.message import Message

TEXT_DELTA = "text.delta"
UNSEEN = {"payload", "extract"}
"""Fields of a part that clients do not get: what only a provider can read, and text that is also in the file."""
NAMES: dict[type, tuple[str, ...]] = {
    events.TurnQueued: ("turn.queued",),
    events.TurnStarted: ("turn.started",),
    events.MessageStarted: ("message.started",),
    events.TextDelta: ("text.delta",),
    events.ReasoningDelta: ("reasoning.delta",),
    events.MessageCompleted: ("message.completed",),
    events.ToolCalled: ("tool.called",),
    events.ToolReturned: ("tool.result",),
    events.BlockAdded: ("block.added",),
    events.StateChanged: ("state.changed",),
    events.ConversationUpdated: ("conversation.updated",),
    events.HeadChosen: ("head.chosen",),
    events.CallDecided: ("call.decided",),
    events.FeedbackGiven: ("feedback.given",),
    events.TurnEnded: ("turn.completed", "turn.failed", "turn.cancelled", "turn.interrupted"),
    events.TurnWaiting: ("turn.waiting",),
    events.TurnRetrying: ("turn.retrying",),
    events.SpoolChanged: ("conversation.spooled",),
    events.ReadersCounted: ("presence",),
}
"""What each event is called, which is its `type`."""
UNFOLDED = {"call", "result", "change", "update", "approval", "feedback"}
"""Fields that are values, whose own fields stand in the event."""
Named = tuple[str, dict[str, Any]]


def to_json(what: events.Happening) -> Named:
    """Return the name of an event, and its data as plain JSON."""
    match what:
        case events.TextDelta():
            return TEXT_DELTA, {"message": what.message, "text": what.text}
        case events.ReasoningDelta():
            return "reasoning.delta", {"message": what.message, "text": what.text}
        case events.MessageStarted():
            started = {"message": what.message, "turn": what.turn, "started_at": moment_text(what.started_at)}
            return "message.started", started
        case events.MessageCompleted():
            return "message.completed", {"message": message_json(what.message), **_position(what)}
        case events.ToolCalled():
            call = {"id": what.call.id, "name": what.call.name, "args": what.call.args}
            return "tool.called", {"message": what.message, **call}
        case events.ToolReturned():
            result = what.result.model_dump(mode="json")
            shown = [part.model_dump(mode="json", exclude=UNSEEN) for part in what.parts]
            parts = {"parts": shown} if shown else {}
            return "tool.result", {**result, "content": what.content, **parts, **_position(what)}
        case events.BlockAdded():
            return "block.added", {"message": what.message, "block": what.block.model_dump(mode="json")}
        case events.StateChanged():
            changed = {"set": what.change.set, "unset": list(what.change.unset), "whole": what.change.whole}
            return "state.changed", {**changed, "seq": what.seq, "parent": what.parent}
        case events.TurnQueued() | events.TurnStarted() | events.TurnWaiting() | events.TurnEnded():
            return _turn(what)
        case events.ConversationUpdated():
            said = what.update.model_dump(mode="json", exclude={"kind", "shares"}, exclude_none=True)
            return "conversation.updated", {**said, "seq": what.seq}
        case events.HeadChosen():
            return "head.chosen", {"head": what.head, "seq": what.seq}
        case events.CallDecided():
            return "call.decided", {**what.approval.model_dump(mode="json", exclude={"kind"}), "seq": what.seq}
        case events.FeedbackGiven():
            given = what.feedback.model_dump(exclude={"kind"})
            return "feedback.given", {**given, "entry": what.entry, "seq": what.seq}
        case events.ReadersCounted():
            return "presence", {"readers": what.readers}
        case events.SpoolChanged():
            return "conversation.spooled", {"spooled": what.spooled}
        case events.TurnRetrying():
            return "turn.retrying", asdict(what)
        case _:
            assert_never(what)


def _turn(what: events.TurnQueued | events.TurnStarted | events.TurnWaiting | events.TurnEnded) -> Named:
    data: dict[str, Any] = {"turn": what.turn, "seq": what.seq}
    if isinstance(what, events.TurnQueued):
        return "turn.queued", {**data, "message": message_json(what.message) if what.message else None}
    if what.detail is not None:
        data["detail"] = what.detail
    match what:
        case events.TurnStarted():
            return "turn.started", data
        case events.TurnWaiting():
            theirs = {"client_calls": list(what.client_calls)} if what.client_calls else {}
            return "turn.waiting", {**data, "calls": list(what.calls), **theirs}
        case events.TurnEnded():
            if what.usage is not None:
                data["usage"] = what.usage.model_dump(mode="json")
            if what.failure is not None:
                data["failure"] = what.failure.model_dump(mode="json")
            return f"turn.{what.state}", data
        case _:
            assert_never(what)


def _position(what: events.MessageCompleted | events.ToolReturned) -> dict[str, Any]:
    created_at = moment_text(what.created_at)
    return {"seq": what.seq, "parent": what.parent, "turn": what.turn, "created_at": created_at}


def message_json(message: Message) -> dict[str, Any]:
    """Return a message as clients see it, without the `UNSEEN` fields of its parts."""
    if message.parts:
        return message.model_dump(mode="json", exclude={"kind": True, "parts": {"__all__": UNSEEN}})
    return message.model_dump(mode="json", exclude={"kind"})
