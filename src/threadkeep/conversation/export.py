"""A conversation as one JSON document, lossless: every entry of every branch, in a versioned schema, and its reader.

Its owner is left out, because the file may be imported for somebody else. A message that is still being written is no
entry yet and is not in it. Storing an export is not done here.
"""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Body, Entry, PathBody, Status
from threadkeep.conversation.ids import Id
from threadkeep.conversation.value import JsonObject, Moment, Text, Value
from threadkeep.errors import InvalidValue

FORMAT: Literal["threadkeep.conversation"] = "threadkeep.conversation"
VERSION: Literal[1] = 1

Seq = Annotated[int, Field(ge=1)]
Stored = Annotated[Moment, Field(lt=datetime(9999, 1, 1, tzinfo=UTC))]
"""A moment with one after it: lists go on behind the last one that they showed."""


class ExportedConversation(Value):
    """The conversation as a whole, as it was at the moment of the export."""

    id: Id
    assistant: Id | None
    title: Annotated[Text | None, Field(max_length=500)]
    system: Text | None
    model: Annotated[Text | None, Field(max_length=200)]
    metadata: JsonObject
    status: Status
    archived: bool
    version: Seq
    head: Seq | None
    entries: Annotated[int, Field(ge=0)]
    created_at: Stored
    updated_at: Stored

    @classmethod
    def of(cls, conversation: Conversation) -> Self:
        """Return a conversation without its owner and links."""
        return cls.model_validate(conversation.model_dump(exclude={"scope", "incomplete", "shares"}))


class ExportedEntry(Value):
    """An entry with its place: messages with blocks and tool calls, results with timings, states, turns, remarks."""

    seq: Seq
    parent: Seq | None
    turn: Seq | None
    created_at: Stored
    body: Body

    @property
    def continues_branch(self) -> bool:
        """Whether this entry is part of a branch, not a remark."""
        return isinstance(self.body, PathBody)


def entry_json(entry: Entry) -> str:
    """Return what an `ExportedEntry` is read from: an entry without the name of its conversation and without links."""
    return entry.without_links().model_dump_json(exclude={"conversation"})


class Opening(Value):
    """Everything that a document says before its entries."""

    format: Literal["threadkeep.conversation"] = FORMAT
    version: Literal[1] = VERSION
    exported_at: Moment
    conversation: ExportedConversation


class Export(Opening):
    """A whole document. Its entries are those of the log, in order, without gaps."""

    entries: tuple[ExportedEntry, ...]

    @model_validator(mode="after")
    def _is_a_log(self) -> Self:
        if [entry.seq for entry in self.entries] != list(range(1, self.conversation.entries + 1)):
            raise InvalidValue("The entries of an export are numbered from 1, and all of them are there.")
        on_branch = {entry.seq for entry in self.entries if entry.continues_branch}
        for entry in self.entries:
            if entry.parent is not None and (entry.parent >= entry.seq or entry.parent not in on_branch):
                raise InvalidValue(f"The parent of entry {entry.seq} is no earlier entry of a branch.")
            if entry.turn is not None and entry.turn > entry.seq:
                raise InvalidValue(f"The turn of entry {entry.seq} begins after it.")
        if self.conversation.head is not None and self.conversation.head not in on_branch:
            raise InvalidValue("The head of an export is an entry of a branch.")
        return self

    @property
    def heads(self) -> tuple[int, ...]:
        """The newest entry of each branch, in order."""
        continued = {entry.parent for entry in self.entries if entry.continues_branch}
        return tuple(entry.seq for entry in self.entries if entry.continues_branch and entry.seq not in continued)


async def export_text(conversation: Conversation, log: AsyncIterator[Entry], at: datetime) -> AsyncIterator[str]:
    """Yield the document piece by piece, so that its length does not matter; `log` gives the entries in order."""
    opening = Opening(exported_at=at, conversation=ExportedConversation.of(conversation))
    yield opening.model_dump_json().removesuffix("}") + ',"entries":['
    separator = "\n"
    async for entry in log:
        yield separator + entry_json(entry)
        separator = ",\n"
    yield "\n]}\n"


def parse_export(text: str | bytes) -> Export:
    """Return what a document holds; `InvalidInput` says what is wrong with one that cannot be imported."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidValue("An export is a JSON document; this is none, or it was cut off.") from None
    _check_schema(document)
    try:
        return Export.model_validate(document)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in wrong["loc"])
        raise InvalidValue(f"The export is not valid at {place}: {wrong['msg']}") from None


def _check_schema(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue("This is no export of a conversation.")
    if document.get("version") != VERSION:
        raise InvalidValue(f"This release reads exports of version {VERSION}; this one has another.")
