"""The events of AG-UI: changes of answers as those of one run.

Clients fail on an event that continues what was not begun in the same run. So a message or a piece of reasoning that
goes on behind a snapshot is begun again, which adds nothing to what they have of it.
"""

from threadkeep.conversation.state import State, StateChange
from threadkeep.conversation.turn import TurnState
from threadkeep_protocols.ag_ui.showing import Json, activity, arguments, result_content, result_id
from threadkeep_protocols.parts import (
    AnswerCall,
    AnswerEnded,
    AnswerReader,
    AnswerText,
    Change,
    PartBegan,
    PartChanged,
    StateTold,
    StepBegan,
    StepEnded,
    TextGrew,
)
from threadkeep_protocols.wire import usage_json

VERSION = "1.0"
APPROVAL = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}
"""What is to be answered to an interrupt."""


class EventWriter:
    """Writes the events of one run."""

    def __init__(self, thread: str, run: str, *, is_old: bool) -> None:
        self._of = {"threadId": thread, "runId": run}
        self._is_old = is_old
        self._open: AnswerText | None = None
        self._step: str | None = None
        self._steps = 0
        self._state = State()

    def start(self) -> Json:
        """Return the first event."""
        return {"type": "RUN_STARTED", **self._of, "protocolVersion": VERSION}

    def state(self, state: State) -> list[Json]:
        """Return the state of the conversation, where it is news: an app may keep one of its own here."""
        is_news, self._state = state.values != self._state.values, state
        return [{"type": "STATE_SNAPSHOT", "snapshot": state.values}] if is_news else []

    def tell(self, change: Change) -> list[Json]:
        """Return the events of a change; the end of the run is told by `finish`."""
        match change:
            case StepBegan(message=message):
                return [*self.close(), *self._begin_step(message)]
            case TextGrew(part=part, text=text):
                return [*self._begin(part), {"type": f"{_kind(part)}_CONTENT", "messageId": _id(part), "delta": text}]
            case PartChanged(part=AnswerText()):
                return self._end_text()
            case PartBegan(part=AnswerCall() as call):
                return _called(call)
            case PartChanged(part=AnswerCall() as call):
                return [_result(call)] if call.has_result else []
            case PartBegan(part=AnswerText()):
                return []
            case PartBegan(part=part):
                return [{"type": "ACTIVITY_SNAPSHOT", "messageId": part.id, **activity(part)}]  # type: ignore[arg-type]
            case StepEnded():
                return self.close()
            case StateTold(change=told):
                return self._changed(told)
            case _:
                return []

    def close(self) -> list[Json]:
        """Return the ends of whatever is open."""
        step, self._step = self._step, None
        return [*self._end_text(), *([{"type": "STEP_FINISHED", "stepName": step}] if step else [])]

    def finish(self, reader: AnswerReader | None) -> list[Json]:
        """Return how the run ends: as the turn of an answer did; without one, well."""
        end = reader.end if reader is not None else None
        usage: Json = {}
        metadata: Json = {}
        if reader is not None and end is not None:
            model = {} if reader.model is None else {"model": reader.model}
            usage = {} if reader.usage is None else {"usage": [{**model, **usage_json(reader.usage)}]}
            metadata = {"metadata": {"threadkeep": {"turn": reader.turn, "state": end.state.value}}}
        if end is not None and end.failure is not None:
            failed = {"message": end.failure.detail, "code": end.failure.code}
            return [*self.close(), {"type": "RUN_ERROR", **failed, **usage, **metadata}]
        outcome = {} if reader is None or end is None else self._outcome(reader, end)
        return [*self.close(), {"type": "RUN_FINISHED", **self._of, **outcome, **usage, **metadata}]

    def _outcome(self, reader: AnswerReader, end: AnswerEnded) -> Json:
        waits = {*end.calls} - {*end.client_calls} if end.state is TurnState.WAITING else set()
        calls = [part for part in reader.parts if isinstance(part, AnswerCall) and part.id in waits]
        asked = [call for call in calls if call.state in ("called", "asked")]
        if asked:
            return {"outcome": {"type": "interrupt", "interrupts": [_interrupt(call) for call in asked]}}
        if end.state in (TurnState.CANCELLED, TurnState.INTERRUPTED):
            return {} if self._is_old else {"outcome": {"type": "cancelled"}}
        pending = {"pendingToolCallIds": list(end.client_calls)} if end.client_calls and not self._is_old else {}
        return {"outcome": {"type": "success", **pending}}

    def _begin_step(self, message: str) -> list[Json]:
        self._steps += 1
        self._step = f"model call {self._steps}"
        return [{"type": "STEP_STARTED", "stepName": self._step, "metadata": {"threadkeep": {"message": message}}}]

    def _begin(self, part: AnswerText) -> list[Json]:
        if self._open is not None and self._open.id == part.id:
            return []
        ended, self._open = self._end_text(), part
        if part.is_reasoning:
            began: Json = {"type": "REASONING_MESSAGE_START", "messageId": part.id, "role": "reasoning"}
            return [*ended, {"type": "REASONING_START", "messageId": part.id}, began]
        return [*ended, {"type": "TEXT_MESSAGE_START", "messageId": part.message, "role": "assistant"}]

    def _end_text(self) -> list[Json]:
        part, self._open = self._open, None
        if part is None:
            return []
        ended = [{"type": f"{_kind(part)}_END", "messageId": _id(part)}]
        return [*ended, {"type": "REASONING_END", "messageId": part.id}] if part.is_reasoning else ended

    def _changed(self, change: StateChange) -> list[Json]:
        before, after = self._state.values, self._state.after(change)
        if change.whole or not before:
            return self.state(after)
        self._state = after
        patch = [{"op": "remove", "path": _path(key)} for key in before if key not in after.values]
        patch += [{"op": "add", "path": _path(key), "value": change.set[key]} for key in change.set]
        return [{"type": "STATE_DELTA", "delta": patch}]


def _kind(part: AnswerText) -> str:
    return "REASONING_MESSAGE" if part.is_reasoning else "TEXT_MESSAGE"


def _id(part: AnswerText) -> str:
    return part.id if part.is_reasoning else part.message


def _path(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _called(call: AnswerCall) -> list[Json]:
    named = {"toolCallId": call.id}
    return [
        {"type": "TOOL_CALL_START", **named, "toolCallName": call.call.name, "parentMessageId": call.message},
        {"type": "TOOL_CALL_ARGS", **named, "delta": arguments(call)},
        {"type": "TOOL_CALL_END", **named},
    ]


def _result(call: AnswerCall) -> Json:
    told = {"messageId": result_id(call), "toolCallId": call.id, "content": result_content(call), "role": "tool"}
    return {"type": "TOOL_CALL_RESULT", **told}


def _interrupt(call: AnswerCall) -> Json:
    """Return what a person is asked about a call; its id is that of the call."""
    told: Json = {"id": call.id, "reason": "tool_call", "toolCallId": call.id, "responseSchema": APPROVAL}
    return {**told, "message": f"May {call.call.name} run?"}
