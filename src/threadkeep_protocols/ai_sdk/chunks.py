"""The UI message stream of the AI SDK: changes of an answer as its chunks.

A client of it fails on a chunk that it does not know, so `ai` 5, which knows no approvals, is told of them as data.
"""

from collections.abc import Iterable

from threadkeep_protocols.ai_sdk.showing import (
    FINISHED,
    Asks,
    Json,
    calls_first_asked,
    error_of,
    is_held_back,
    output_of,
    shown_part,
)
from threadkeep_protocols.parts import (
    AnswerCall,
    AnswerEnded,
    AnswerText,
    Change,
    PartBegan,
    PartChanged,
    StepBegan,
    StepEnded,
    TextGrew,
)

OLD = 5
"""The release of `ai` whose clients know no approvals."""


class ChunkWriter:
    """Writes the chunks of one message. `known` are the tool calls that the client has already."""

    def __init__(self, asks: Asks, release: int, known: Iterable[str] = ()) -> None:
        self._asks = asks
        self._is_old = release == OLD
        self._known = set(known)
        self._calls: list[AnswerCall] = []
        self._is_in_step = False

    def tell(self, change: Change) -> list[Json]:
        """Return the chunks of a change; those of the end are the caller's."""
        match change:
            case StepBegan():
                end = self.end_step()
                self._is_in_step = True
                return [*end, {"type": "start-step"}]
            case TextGrew(part=part, text=text):
                return [{"type": f"{_kind(part)}-delta", "id": part.id, "delta": text}]
            case PartBegan(part=AnswerText() as part):
                return [{"type": f"{_kind(part)}-start", "id": part.id}]
            case PartChanged(part=AnswerText() as part):
                return [{"type": f"{_kind(part)}-end", "id": part.id}]
            case PartBegan(part=AnswerCall() as call):
                self._calls.append(call)
                return []
            case StepEnded():
                return self._called()
            case PartChanged(part=AnswerCall() as call):
                return self._changed(call)
            case PartBegan(part=part):
                return [shown_part(part)]  # type: ignore[arg-type]
            case _:
                return []

    def end_step(self) -> list[Json]:
        """Return the end of a step, if one is open."""
        is_open, self._is_in_step = self._is_in_step, False
        return [{"type": "finish-step"}] if is_open else []

    def _called(self) -> list[Json]:
        """Return the calls of a message that is whole."""
        calls, self._calls = calls_first_asked(self._calls, self._asks), []
        return [chunk for call in calls if not is_held_back(call, calls, self._asks) for chunk in self._input(call)]

    def _input(self, call: AnswerCall) -> list[Json]:
        if call.id in self._known:
            return []
        self._known.add(call.id)
        fields = {"toolCallId": call.id, "toolName": call.call.name, "input": call.call.args}
        return [{"type": "tool-input-available", **fields}]

    def _changed(self, call: AnswerCall) -> list[Json]:
        if call.has_result:
            return [*self._input(call), self._result(call)]
        if self._is_old:
            fields = {"toolCallId": call.id, "toolName": call.call.name, "input": call.call.args, "state": call.state}
            return [*self._input(call), {"type": "data-approval", "id": f"approval-{call.id}", "data": fields}]
        if call.state == "asked":
            return [*self._input(call), {"type": "tool-approval-request", "approvalId": call.id, "toolCallId": call.id}]
        return []

    def _result(self, call: AnswerCall) -> Json:
        if call.state == "returned":
            return {"type": "tool-output-available", "toolCallId": call.id, "output": output_of(call)}
        if call.state == "refused" and not self._is_old:
            return {"type": "tool-output-denied", "toolCallId": call.id}
        return {"type": "tool-output-error", "toolCallId": call.id, "errorText": error_of(call)}

    def end(self, end: AnswerEnded, metadata: Json) -> list[Json]:
        """Return the chunks with which a message ends."""
        reason = FINISHED.get(end.state, "other")
        last: Json = {"type": "finish", "finishReason": reason, "messageMetadata": metadata}
        if end.failure is not None:
            told = {"type": "message-metadata", "messageMetadata": metadata}
            return [*self.end_step(), told, {"type": "error", "errorText": end.failure.detail}]
        return [*self.end_step(), last]


def _kind(part: AnswerText) -> str:
    return "reasoning" if part.is_reasoning else "text"
