"""What is known of a conversation beside its log, and what of it can be changed: the fold of what it began with and of
all its updates.

A field that can be changed, is listed and can be filtered by stands in `ListedFacts` and in `SomeFacts`, and nowhere
else: stores keep facts as documents, and the HTTP API takes and shows these fields as they are declared here.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field

from threadkeep.conversation.ids import Id
from threadkeep.conversation.share import Share
from threadkeep.conversation.value import JsonObject, Text, Value

Title = Annotated[Text, Field(max_length=500, examples=["Holidays"])]
Folder = Annotated[Text, Field(max_length=80, examples=["Work"], description='Where its user files it; none: `""`.')]


class Status(StrEnum):
    """The status of a conversation."""

    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class SomeFacts(Value):
    """Some of the facts that lists show, as they are to be, or as they are looked for; none: whatever it is."""

    title: Title | None = None
    status: Status | None = None
    archived: bool | None = None
    pinned: bool | None = None
    folder: Folder | None = None
    temporary: bool | None = None
    model: Annotated[Text, Field(max_length=200, examples=["demo"])] | None = None
    assistant: Annotated[Id, Field(examples=["chat"])] | None = None


class ListedFacts(Value):
    """What lists show of a conversation; `name` is the id that whoever created it chose for it, and calls it by."""

    name: str | None = None
    assistant: str | None = None
    title: str | None = None
    model: str | None = None
    status: Status = Status.ACTIVE
    archived: bool = False
    pinned: bool = False
    folder: str = ""
    temporary: bool = False

    @property
    def is_first(self) -> bool:
        """Whether lists show it before the others."""
        return self.pinned or bool(self.folder)


class ConversationFacts(ListedFacts):
    """All facts: also those that may be large, which lists leave out."""

    system: str | None = None
    metadata: JsonObject = Field(default_factory=dict)
    shares: tuple[Share, ...] = ()

    def after(self, change: SomeFacts) -> Self:
        """Return the facts after a change: what it names is as it says, everything else stays."""
        named = {name: value for name, value in change if value is not None}
        return self.model_copy(update={name: named[name] for name in named if name in ConversationFacts.model_fields})


LARGE = frozenset(ConversationFacts.model_fields.keys() - ListedFacts.model_fields.keys())
"""The names of what may be large."""
