"""Parts of answers as the messages of AG-UI: whole ones for a snapshot, and what both they and streams share.

An answer becomes several messages: one of the assistant for each call of the model, with the model's id; one for each
piece of reasoning and each result of a tool; and an activity for whatever has no place in those, such as a block.
"""

import json
from collections.abc import Iterable
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment, Data, in_order
from threadkeep_protocols.ag_ui.taking import CONTEXT
from threadkeep_protocols.parts import AnswerBlock, AnswerCall, AnswerPart, AnswerReader, AnswerText

Json = dict[str, Any]


def result_id(call: AnswerCall) -> str:
    """Return the id of the message that has the result of a call."""
    return f"{call.message}-result-{call.id}"


def result_content(call: AnswerCall) -> str | list[Json]:
    """Return what a call gave: text, or parts where it gave files."""
    text = call.content or call.error or ""
    files = [file_json(file) for file in call.files if isinstance(file, Attachment)]
    return [*([{"type": "text", "text": text}] if text else []), *files] if files else text


def arguments(call: AnswerCall) -> str:
    """Return the arguments of a call as the JSON that they were."""
    return json.dumps(call.call.args, ensure_ascii=False)


def file_json(file: Attachment) -> Json:
    """Return a file, at the address where it can be read."""
    kind = "document" if file.type == "file" else file.type
    source = {"type": "url", "value": f"/v1/files/{file.file}", "mimeType": file.media_type}
    return {"type": kind, "source": source, **({"metadata": {"filename": file.name}} if file.name else {})}


def activity(part: AnswerBlock | AnswerPart) -> Json:
    """Return what else an answer has, as the fields that an event and a message share."""
    if isinstance(part, AnswerBlock):
        fields = part.block.model_dump(mode="json")
    elif isinstance(part.part, Attachment):
        return {"activityType": "file", "content": file_json(part.part)}
    else:
        fields = part.part.model_dump(mode="json", exclude={"at"})
    return {"activityType": fields["type"], "content": fields}


def shown(items: Iterable[Entry | AnswerReader]) -> list[Json]:
    """Return a transcript as the messages that a client of it has."""
    told: list[Json] = []
    for item in items:
        if isinstance(item, AnswerReader):
            told += answer_messages(item)
        elif isinstance(item.body, Message):
            told.append(said_message(item.body))
    return told


def said_message(message: Message) -> Json:
    """Return what a person said, or instructions. What the app said beside it is no message."""
    pieces = [piece for piece in in_order(message.content, message.parts) if not _is_beside(piece)]
    content: str | list[Json] = message.content
    if any(isinstance(piece, Attachment) for piece in pieces):
        content = [
            file_json(piece) if isinstance(piece, Attachment) else {"type": "text", "text": piece}
            for piece in pieces
            if isinstance(piece, Attachment | str)
        ]
    return {"id": message.id, "role": message.role.value, "content": content}


def _is_beside(piece: object) -> bool:
    return isinstance(piece, Data) and piece.data.get("name") == CONTEXT


def answer_messages(reader: AnswerReader) -> list[Json]:
    """Return an answer, as far as it is written, in the order in which a stream of it makes messages."""
    told: list[Json] = []
    for part in reader.parts:
        match part:
            case AnswerText(is_reasoning=True):
                told.append({"id": part.id, "role": "reasoning", "content": part.text})
            case AnswerText():
                message = _assistant(told, part.message)
                message["content"] = message.get("content", "") + part.text
            case AnswerCall():
                function = {"name": part.call.name, "arguments": arguments(part)}
                calls = _assistant(told, part.message).setdefault("toolCalls", [])
                calls.append({"id": part.id, "type": "function", "function": function})
            case _:
                told.append({"id": part.id, "role": "activity", **activity(part)})
    for call in reader.results:
        _add_result(told, call)
    return told


def _assistant(told: list[Json], id: str) -> Json:
    """Return the message of one call of the model, which is added where there is none."""
    for message in reversed(told):
        if message["id"] == id:
            return message
    told.append({"id": id, "role": "assistant"})
    return told[-1]


def _add_result(told: list[Json], call: AnswerCall) -> None:
    """Add a result where clients put it: behind the message with the call, and the results that it has already."""
    place = 1 + next(place for place, message in enumerate(told) if message["id"] == call.message)
    while place < len(told) and told[place]["role"] == "tool":
        place += 1
    told.insert(place, {"id": result_id(call), "role": "tool", "toolCallId": call.id, "content": result_content(call)})
