"""A response as events of OpenAI's stream, and as an object: both are written from the changes of an answer.

`sequence_number` is a place in the response: how many events there were, where each character of a text counts as one.
It is the same for every reader, however the text came, so that a client which comes back with one gets exactly the
rest, to the character: `behind`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from threadkeep.conversation.message import Message, Usage
from threadkeep.conversation.turn import TurnState
from threadkeep_protocols.openai.items import (
    Json,
    approval_item,
    arguments_of,
    function_call_item,
    output_text,
    server_call_item,
    text_item,
)
from threadkeep_protocols.parts import (
    AnswerCall,
    AnswerEnded,
    AnswerText,
    Change,
    PartBegan,
    PartChanged,
    StepEnded,
    TextGrew,
)

_STATUS = {
    TurnState.QUEUED: "queued",
    TurnState.RUNNING: "in_progress",
    TurnState.INTERRUPTED: "incomplete",
    TurnState.WAITING: "completed",
}
"""Where a turn stands in the words of OpenAI; the others are named alike."""
_ENDINGS = {"length": "max_output_tokens", "filter": "content_filter"}
_LAST = {"completed": "response.completed", "failed": "response.failed"}
"""The last event by the status; it is `response.incomplete` for any other."""


@dataclass(frozen=True)
class Callers:
    """Who runs the tools of a turn: `client` are the names of those that its client runs; `asks` tells whether a person
    is asked before one runs here."""

    client: frozenset[str]
    asks: Callable[[str], bool]

    def held(self, calls: Iterable[AnswerCall]) -> bool:
        """Whether the calls of a message wait for somebody before any of them runs here."""
        return any(call.call.name in self.client or self.asks(call.call.name) for call in calls)


class EventWriter:
    """Writes the events of a response in a conversation; `facts` are what is known of it from the beginning."""

    def __init__(self, conversation: str, facts: Json, callers: Callers) -> None:
        self._of = conversation
        self._facts = facts
        self._callers = callers
        self._number = -1
        self._output: list[Json] = []
        self._places: dict[str, int] = {}
        self._calls: list[AnswerCall] = []
        self._open: tuple[AnswerText, list[str]] | None = None
        self._used: list[Usage] = []
        self._ending = ""

    @property
    def output(self) -> list[Json]:
        """The items so far."""
        if self._open is None:
            return self._output
        part, pieces = self._open
        return [*self._output[:-1], text_item(part, "".join(pieces), self._of, is_whole=False)]

    def shown(self, status: str, end: AnswerEnded | None = None) -> Json:
        """Return the response as it is now."""
        failure = None if end is None else end.failure
        told = self._facts | {"status": status, "output": self.output, "usage": _usage(self._used)}
        if failure is not None:
            told["error"] = {"code": failure.code, "message": failure.detail}
        if status == "incomplete":
            told["incomplete_details"] = {"reason": _ENDINGS.get(self._ending, "interrupted")}
        return told

    def state(self, state: TurnState, end: AnswerEnded | None = None) -> Json:
        """Return the response as it is while its turn is so."""
        is_cut = bool(self._ending) and state is TurnState.COMPLETED
        return self.shown("incomplete" if is_cut else _STATUS.get(state, state.value), end)

    # The events

    def begin(self) -> list[Json]:
        """Return the first event."""
        return [self._event("response.created", response=self.shown("in_progress"))]

    def stands(self, state: TurnState) -> list[Json]:
        """Return the event that tells that a turn is queued, or runs."""
        response = self.state(state)
        return [self._event(f"response.{response['status']}", response=response)]

    def tell(self, change: Change) -> list[Json]:
        """Return the events of a change."""
        match change:
            case PartBegan(part=AnswerText() as text):
                return list(self._begin_text(text))
            case TextGrew(part=text, text=more):
                return [self._grow(text, more)]
            case PartChanged(part=AnswerText() as text):
                return list(self._end_text(text))
            case PartBegan(part=AnswerCall() as call):
                self._calls.append(call)
                return []
            case StepEnded(message=message):
                return list(self._end_step(message))
            case PartChanged(part=AnswerCall() as call):
                return list(self._change_call(call))
            case AnswerEnded():
                return self.end(change)
            case _:
                return []

    def end(self, end: AnswerEnded) -> list[Json]:
        """Return the last event: the turn is over, or waits."""
        response = self.state(end.state, end)
        return [self._event(_LAST.get(response["status"], "response.incomplete"), response=response)]

    def error(self, code: str, detail: str) -> Json:
        """Return the event that tells that this stream cannot go on."""
        return self._event("error", code=code, message=detail, param=None)

    def _event(self, kind: str, size: int = 1, /, **fields: Any) -> Json:
        self._number += size
        return {"type": kind, "sequence_number": self._number, **fields}

    def _add(self, item: Json) -> Json:
        self._places[item["id"]] = len(self._output)
        self._output.append(item)
        return self._event("response.output_item.added", output_index=len(self._output) - 1, item=item)

    def _done(self, item: Json) -> Json:
        place = self._places[item["id"]]
        self._output[place] = item
        return self._event("response.output_item.done", output_index=place, item=item)

    def _about(self, item: Json) -> Json:
        return {"item_id": item["id"], "output_index": self._places[item["id"]]}

    # Text

    def _begin_text(self, text: AnswerText) -> Iterator[Json]:
        self._open = text, []
        item = text_item(text, "", self._of, is_whole=False)
        yield self._add(item)
        if text.is_reasoning:
            part: Json = {"type": "summary_text", "text": ""}
            yield self._event("response.reasoning_summary_part.added", **self._about(item), summary_index=0, part=part)
        else:
            yield self._event("response.content_part.added", **self._about(item), content_index=0, part=output_text(""))

    def _grow(self, text: AnswerText, more: str) -> Json:
        if self._open is not None:
            self._open[1].append(more)
        about = self._about(text_item(text, "", self._of, is_whole=False))
        if text.is_reasoning:
            return self._event("response.reasoning_summary_text.delta", len(more), **about, summary_index=0, delta=more)
        return self._event("response.output_text.delta", len(more), **about, content_index=0, delta=more, logprobs=[])

    def _end_text(self, text: AnswerText) -> Iterator[Json]:
        self._open = None
        item = text_item(text, text.text, self._of, is_whole=True)
        about, said = self._about(item), text.text
        if text.is_reasoning:
            about["summary_index"] = 0
            part: Json = {"type": "summary_text", "text": said}
            yield self._event("response.reasoning_summary_text.done", **about, text=said)
            yield self._event("response.reasoning_summary_part.done", **about, part=part)
        else:
            about["content_index"] = 0
            yield self._event("response.output_text.done", **about, text=said, logprobs=[])
            yield self._event("response.content_part.done", **about, part=output_text(said))
        yield self._done(item)

    # Calls

    def _end_step(self, message: Message) -> Iterator[Json]:
        calls, self._calls = self._calls, []
        if message.usage is not None:
            self._used.append(message.usage)
        endings = [item.get("reason") for item in message.tool_trace if item.get("kind") == "ending"]
        self._ending = str(endings[0]) if endings else ""
        is_held = self._callers.held(calls)
        for call in calls:
            if call.call.name in self._callers.client:
                yield from self._function_call(call)
            elif not is_held:
                yield from self._begin_call(call)

    def _function_call(self, call: AnswerCall) -> Iterator[Json]:
        item, arguments = function_call_item(call, self._of), arguments_of(call.call)
        yield self._add(function_call_item(call, self._of, is_whole=False))
        about = self._about(item)
        yield self._event("response.function_call_arguments.delta", **about, delta=arguments)
        yield self._event("response.function_call_arguments.done", **about, name=call.call.name, arguments=arguments)
        yield self._done(item)

    def _begin_call(self, call: AnswerCall) -> Iterator[Json]:
        arguments, was_asked = arguments_of(call.call), self._callers.asks(call.call.name)
        item = server_call_item(call, self._of, was_asked=was_asked, is_begun=True)
        item |= {"output": None, "error": None, "status": "in_progress"}
        yield self._add(item)
        about = self._about(item)
        yield self._event("response.mcp_call.in_progress", **about)
        yield self._event("response.mcp_call_arguments.delta", **about, delta=arguments)
        yield self._event("response.mcp_call_arguments.done", **about, arguments=arguments)

    def _change_call(self, call: AnswerCall) -> Iterator[Json]:
        if call.call.name in self._callers.client:
            return
        if call.state == "asked":
            item = approval_item(call)
            yield self._add(item)
            yield self._done(item)
        elif call.has_result:
            item = server_call_item(call, self._of, was_asked=self._callers.asks(call.call.name))
            if item["id"] not in self._places:
                yield from self._begin_call(call)
            yield self._event(f"response.mcp_call.{item['status']}", **self._about(item))
            yield self._done(item)


def behind(event: Json, after: int) -> Json | None:
    """Return what of an event is behind a place, none if nothing is."""
    number = event["sequence_number"]
    if number <= after:
        return None
    delta = event.get("delta", "")
    is_text = event["type"].endswith("text.delta")
    return {**event, "delta": delta[after - number :]} if is_text and number - len(delta) < after else event


def _usage(used: list[Usage]) -> Json | None:
    if not used:
        return None
    total = Usage.total(used)
    return {
        "input_tokens": total.input_tokens,
        "input_tokens_details": {"cached_tokens": total.cached_tokens},
        "output_tokens": total.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total.input_tokens + total.output_tokens,
    }
