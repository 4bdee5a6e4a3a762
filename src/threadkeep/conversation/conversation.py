"""A conversation: the tree as a whole, its title, assistant, status and version. The entries are in the log."""

from typing import Self

from pydantic import Field

from threadkeep.conversation.facts import LARGE, ConversationFacts, Title
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import JsonObject, Moment, Text, Value


class NewConversation(Value):
    """What a caller may decide when a conversation is created."""

    id: Id | None = None
    name: Id | None = None
    assistant: Id | None = None
    title: Title | None = None
    system: Text | None = None
    model: Text | None = Field(default=None, max_length=200)
    metadata: JsonObject = Field(default_factory=dict)
    temporary: bool = False

    def facts(self) -> ConversationFacts:
        """Return what is known of it when it is made."""
        return ConversationFacts.model_validate(self.model_dump(exclude={"id"}))


class Conversation(ConversationFacts):
    """A stored conversation. `head` is the entry that the next message continues; `entries` counts the whole log;
    `shares` are its links, which lists leave out. It may be `incomplete` while the database is away: then it is what
    one instance knows of it."""

    scope: Scope
    id: str
    version: int = 1
    head: int | None = None
    entries: int = 0
    created_at: Moment
    updated_at: Moment
    incomplete: bool = False

    def listed(self) -> Self:
        """Return it as lists show it: without what may be large."""
        nothing = ConversationFacts()
        return self.model_copy(update={name: getattr(nothing, name) for name in LARGE})


class Branch(Value):
    """A branch by its newest entry, and the entry where it parted from an older branch (none for a first one)."""

    head: int
    fork: int | None = None
    is_current: bool = False
