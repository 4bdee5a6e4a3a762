"""A conversation as one JSON document, lossless: every entry of every branch, in a versioned schema.

Its owner is left out, because the file may be imported for somebody else. A message that is still being written is no
entry yet and is not in it. `transfer/` reads it again.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import Field

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Body, Entry
from threadkeep.conversation.facts import ListedFacts, Status, Title
from threadkeep.conversation.ids import Id
from threadkeep.conversation.value import JsonObject, Moment, Text, Value

FORMAT: Literal["threadkeep.conversation"] = "threadkeep.conversation"
VERSION: Literal[1] = 1

Seq = Annotated[int, Field(ge=1)]
Stored = Annotated[Moment, Field(lt=datetime(9999, 1, 1, tzinfo=UTC))]
"""A moment with one after it: lists go on behind the last one that they showed."""


class ExportedConversation(ListedFacts):
    """The conversation as a whole, as it was at the moment of the export."""

    id: Id
    assistant: Id | None
    title: Title | None
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


def entry_json(entry: Entry) -> str:
    """Return what an `ExportedEntry` is read from: an entry without the name of its conversation and without links."""
    return entry.without_links().model_dump_json(exclude={"conversation"})


class Opening(Value):
    """Everything that a document says before its entries."""

    format: Literal["threadkeep.conversation"] = FORMAT
    version: Literal[1] = VERSION
    exported_at: Moment
    conversation: ExportedConversation


async def export_text(conversation: Conversation, log: AsyncIterator[Entry], at: datetime) -> AsyncIterator[str]:
    """Yield the document piece by piece, so that its length does not matter; `log` gives the entries in order."""
    opening = Opening(exported_at=at, conversation=ExportedConversation.of(conversation))
    yield opening.model_dump_json().removesuffix("}") + ',"entries":['
    separator = "\n"
    async for entry in log:
        yield separator + entry_json(entry)
        separator = ",\n"
    yield "\n]}\n"
