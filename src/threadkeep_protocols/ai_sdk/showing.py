"""Parts of answers as the UI messages of the AI SDK: whole ones for a history, and what both they and streams share."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment, CitationPart, Data, Part, Raw, in_order
from threadkeep.conversation.turn import TurnState
from threadkeep.store.values import Snapshot
from threadkeep_protocols.parts import AnswerBlock, AnswerCall, AnswerPart, AnswerReader, AnswerText, AnyAnswerPart
from threadkeep_protocols.wire import usage_json

Asks = Callable[[str], bool]
"""Whether somebody is asked before a tool with this name runs: a person, or the browser, which runs it."""
Json = dict[str, Any]


def output_of(call: AnswerCall) -> Any:
    """Return the result of a call: an object or a list where it is the JSON of one, else its text."""
    try:
        found = json.loads(call.content) if call.content[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        found = None
    return call.content if found is None else found


def error_of(call: AnswerCall) -> str:
    """Return what went wrong in a call, in words."""
    return call.content or call.error or ""


def shown_part(part: AnswerBlock | AnswerPart) -> Json:
    """Return a part that is whole at once, as a chunk of a stream; in a message it is the same."""
    if isinstance(part, AnswerBlock):
        fields = part.block.model_dump(mode="json")
        is_source = isinstance(part.block, Citation)
        return (
            _source(part.id, fields) if is_source else {"type": f"data-{fields['type']}", "id": part.id, "data": fields}
        )
    match part.part:
        case Attachment() as file:
            return file_part(file)
        case CitationPart() as cited:
            return _source(part.id, cited.model_dump(mode="json", exclude={"at"}))
        case other:
            return {**data_part(other), "id": part.id}


def _source(id: str, cited: Json) -> Json:
    """Return where a statement comes from: a link, or a document by its name."""
    source, title = cited["source"], cited.get("title")
    named = {"title": title if isinstance(title, str) and title else source, "providerMetadata": {"threadkeep": cited}}
    if source.startswith(("http://", "https://")):
        return {"type": "source-url", "sourceId": id, "url": source, **named}
    return {"type": "source-document", "sourceId": id, "mediaType": "text/plain", **named}


def file_part(file: Attachment) -> Json:
    """Return a file, at the address where it can be read."""
    named = {"filename": file.name} if file.name else {}
    return {"type": "file", "mediaType": file.media_type, "url": f"/v1/files/{file.file}", **named}


def data_part(part: Part) -> Json:
    """Return a part of another kind as data. Data that came from a client have the name that it gave them."""
    fields = part.model_dump(mode="json", exclude={"at"})
    if isinstance(part, Data) and part.data.keys() == {"name", "data"}:
        return {"type": f"data-{part.data['name']}", "data": part.data["data"]}
    return {"type": f"data-{part.type}", "data": fields}


def answer_metadata(reader: AnswerReader, siblings: Iterable[int]) -> Json:
    """Return what is known of an answer beside its parts: `branches` are the entries that stand beside it."""
    told: Json = {"turn": reader.turn}
    if reader.begins is not None:
        told |= {"entry": reader.begins[0], "branches": list(siblings)}
    if reader.model is not None:
        told["model"] = reader.model
    if reader.usage is not None:
        told["usage"] = usage_json(reader.usage)
        if reader.usage.cost is not None:
            told["usage"]["cost"] = reader.usage.cost.model_dump(mode="json")
    if reader.end is not None:
        told["state"] = reader.end.state.value
        if reader.end.failure is not None:
            told["failure"] = reader.end.failure.model_dump(mode="json")
    return told


def branches_of(snapshot: Snapshot, begins: tuple[int, int | None] | None) -> tuple[int, ...]:
    """Return the entries that continue the same entry as a message, itself included."""
    return () if begins is None else snapshot.tree.siblings(begins[0], begins[1] or 0)


def calls_first_asked(calls: list[AnswerCall], asks: Asks) -> list[AnswerCall]:
    """Return the calls of one message as they are shown: those about which a person is asked before the others, because
    front ends go on by themselves only when no other call is open."""
    return sorted(calls, key=lambda call: not asks(call.call.name))


def is_held_back(call: AnswerCall, others: Iterable[AnswerCall], asks: Asks) -> bool:
    """Whether a call is not shown yet: it waits until a person has decided about others of its message."""
    is_open = call.state == "called" and not asks(call.call.name)
    return is_open and any(asks(other.call.name) for other in others)


def question_message(entry: Entry, said: Message, siblings: Iterable[int]) -> Json:
    """Return what a person said, or instructions."""
    parts = [_said(piece) for piece in in_order(said.content, said.parts) if not isinstance(piece, Raw)]
    metadata = {"entry": entry.seq, "branches": list(siblings), "createdAt": entry.created_at.isoformat()}
    return {"id": said.id, "role": said.role.value, "parts": parts, "metadata": metadata}


def _said(piece: str | Part) -> Json:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    return file_part(piece) if isinstance(piece, Attachment) else data_part(piece)


def answer_message(reader: AnswerReader, siblings: Iterable[int], asks: Asks) -> Json:
    """Return an answer, as far as it is written."""
    parts: list[Json] = []
    step, steps = None, set(reader.steps)
    for part in _in_order(reader.parts, asks):
        if part.message != step and part.message in steps:
            step = part.message
            parts.append({"type": "step-start"})
        parts.append(_shown(part))
    return {"id": reader.id, "role": "assistant", "parts": parts, "metadata": answer_metadata(reader, siblings)}


def _in_order(parts: list[AnyAnswerPart], asks: Asks) -> list[AnyAnswerPart]:
    """Return the parts as they are shown."""
    shown: list[AnyAnswerPart] = []
    done: set[str] = set()
    for part in parts:
        if not isinstance(part, AnswerCall):
            shown.append(part)
        elif part.message not in done:
            done.add(part.message)
            calls = [each for each in parts if isinstance(each, AnswerCall) and each.message == part.message]
            decided = all(call.state not in ("called", "asked") for call in calls if asks(call.call.name))
            shown += [call for call in calls_first_asked(calls, asks) if decided or not is_held_back(call, calls, asks)]
    return shown


def _shown(part: AnyAnswerPart) -> Json:
    match part:
        case AnswerText():
            state = "done" if part.is_whole else "streaming"
            named = {"id": part.id} if part.is_reasoning else {}
            return {"type": "reasoning" if part.is_reasoning else "text", **named, "text": part.text, "state": state}
        case AnswerCall():
            return _shown_call(part)
        case _:
            return shown_part(part)


def _shown_call(call: AnswerCall) -> Json:
    told: Json = {"type": f"tool-{call.call.name}", "toolCallId": call.id, "input": call.call.args}
    reason = {} if call.reason is None else {"reason": call.reason}
    match call.state:
        case "called":
            return {**told, "state": "input-available"}
        case "asked":
            return {**told, "state": "approval-requested", "approval": {"id": call.id}}
        case "approved":
            return {**told, "state": "approval-responded", "approval": {"id": call.id, "approved": True, **reason}}
        case "refused":
            state = "output-denied" if call.has_result else "approval-responded"
            return {**told, "state": state, "approval": {"id": call.id, "approved": False, **reason}}
        case "returned":
            return {**told, "state": "output-available", "output": output_of(call)}
        case "failed":
            return {**told, "state": "output-error", "errorText": error_of(call)}


FINISHED = {TurnState.COMPLETED: "stop", TurnState.WAITING: "tool-calls", TurnState.FAILED: "error"}
"""Why an answer ended, in the words of the AI SDK; any other end is `other`."""
