"""The arguments and answers of the verbs of a store, which are in `base`."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from pydantic import Field

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Approval, Entry, Feedback, Kept, Summary
from threadkeep.conversation.facts import ListedFacts, SomeFacts
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import State, StateChange
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import ClientTool, Lease, LeftOut, Turn, TurnChange, TurnState
from threadkeep.errors import InvalidLimit, InvalidSearch, LimitReached
from threadkeep.store.audit import Act
from threadkeep.text.query import Terms
from threadkeep.text.words import words

Order = Literal["rank", "newest"]
Appendable = Message | StateChange | Summary | Approval | Feedback | Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """What one append does, all or nothing.

    Messages and state changes continue `parent` (none: the head; `ROOT`: a new beginning; another entry: a branch)
    and each other; the last one becomes the head. A remark concerns the entry before it in `bodies`, or else `parent`.
    `act` goes into the audit log.
    """

    bodies: tuple[Appendable, ...] = ()
    parent: int | None = None
    expected_head: int | None = None
    expected_version: int | None = None
    key: IdempotencyKey | None = None
    lease: Lease | None = None
    settle: TurnChange | None = None
    act: Act | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """How a turn is to begin. Without a message it answers `parent` again; that entry becomes the head. One that waits
    is queued even if no other is open, for somebody to start it. `outside`, `id`, `tools` and
    `without_recall` go into its first `TurnChange`. If it is `refused`, that is raised, unless its key repeats what was
    begun before."""

    message: Message | None = None
    parent: int | None = None
    expected_head: int | None = None
    key: IdempotencyKey | None = None
    owner: str
    lease_for: timedelta
    when_busy: Literal["queue", "reject"] = "queue"
    waits: bool = False
    outside: bool = False
    id: str | None = None
    tools: tuple[ClientTool, ...] = ()
    without_recall: tuple[LeftOut, ...] = ()
    refused: LimitReached | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Entries of another store's log that follow each other. `new`, with an id, and `created_at` describe the whole.

    The last ones of a log come with its `version` and the turns that are open there: until then more will follow. Of
    the one that `lease` is for, the same lease holds here.
    """

    new: NewConversation
    created_at: datetime
    entries: tuple[Entry, ...] = ()
    version: int | None = None
    open_turns: Mapping[int, TurnState] = field(default_factory=dict)
    lease: Lease | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """Entries that were acknowledged elsewhere, with their turns and times, as they are to stand behind the end of a
    log; `key` makes them, as a whole, something that is done only once. `keys` are those that some of them came with,
    each with the first and the last of its entries; `lease` is of a turn that goes on running, and holds here. The
    version rises if they change it, unless it is given."""

    entries: tuple[Entry, ...]
    key: IdempotencyKey
    keys: tuple[tuple[IdempotencyKey, int, int], ...] = ()
    lease: Lease | None = None
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A conversation, and whether a repeated key found it instead of making it."""

    conversation: Conversation
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The stored entries in order, and whether a repeated key found them instead of making them."""

    entries: tuple[Entry, ...]
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A turn that began or was queued: its number, its first entries, and the lease if it runs (none on a replay)."""

    turn: int
    entries: tuple[Entry, ...]
    lease: Lease | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The message that is being written: its text from character `offset` on."""

    message: str
    turn: int
    started_at: datetime
    offset: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Entries in the order of the log, and what is being written if the page reaches the end of the log."""

    entries: tuple[Entry, ...]
    draft: Draft | None = None


class WantedDocuments(NamedTuple):
    """What a filter asks of the document of facts: values that it must have, and names that must not stand in it,
    because what is as in every new conversation does not."""

    present: dict[str, Any]
    absent: list[str]


class ListFilter(SomeFacts):
    """Which conversations a list shows; what is not set does not matter. Metadata must have these values, where a text,
    a whole number or true and false are compared as text; a title must hold these words, the last as a beginning;
    `shared` are those that have links, whether these still work or not; `first` those that stand before the others."""

    first: bool | None = None
    metadata: dict[str, str] = Field(default_factory=dict, max_length=8)
    shared: bool | None = None

    def documents(self) -> WantedDocuments:
        """Return what the document of facts must hold, and what not; the title is looked for by its words."""
        wanted = self._wanted()
        usual = {name for name, value in wanted.items() if value == ListedFacts.model_fields[name].default}
        present = {name: value for name, value in wanted.items() if name not in usual}
        return WantedDocuments(present, sorted(usual))

    def _wanted(self) -> dict[str, Any]:
        return {
            name: value
            for name in SomeFacts.model_fields
            if name != "title" and (value := getattr(self, name)) is not None
        }

    def title_terms(self) -> Terms:
        """Return the words of the title that are asked for; `InvalidSearch` if there is a title without any."""
        terms = Terms()
        if self.title is not None:
            terms.add(self.title, together=False, typing=self.title[-1:].isalnum())
            if not terms:
                raise InvalidSearch
        return terms

    def accepts(self, conversation: Conversation) -> bool:
        """Whether a conversation, with its metadata, is shown."""
        if any(getattr(conversation, name) != value for name, value in self._wanted().items()):
            return False
        if self.shared not in (None, bool(conversation.shares)) or self.first not in (None, conversation.is_first):
            return False
        if self.title is not None and not self.title_terms().fits(words(conversation.title or "")):
            return False
        return has_metadata(conversation.metadata, self.metadata)


EVERY = ListFilter()


def has_metadata(metadata: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    """Whether metadata has these values."""
    return all(_comparable(metadata.get(key)) == value for key, value in wanted.items())


def _comparable(value: Any) -> str | None:
    """Return what is compared with the text that somebody asks for; none if nothing is equal to it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPage:
    """A page of a list, and the cursor of the next page if there is one. Its items come without what may be large:
    `system` is none and `metadata` empty. Where a list is filtered, a page may have few items, or none, and a next."""

    items: tuple[Conversation, ...]
    next: str | None = None


class Related(NamedTuple):
    """A message that has to do with some words, and how much: it may be compared with others of the same answer."""

    entry: Entry
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message or a title that was found. `highlights` are ranges of characters in `snippet`; `branch` is the head of
    a branch that holds the message: the current one where it does. For a title, `created_at` is when its conversation
    was created, and there is no entry, branch and role."""

    kind: Literal["message", "title"] = "message"
    conversation: str
    title: str | None
    seq: int | None = None
    branch: int | None = None
    role: Role | None = None
    created_at: datetime
    score: float
    snippet: str
    highlights: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPage:
    """Hits in the order that was asked for, and the cursor of the next page if there is one."""

    items: tuple[Hit, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How much is stored: `bytes` counts the UTF-8 text of all entries before compression."""

    conversations: int = 0
    entries: int = 0
    bytes: int = 0

    def __add__(self, other: "Statistics") -> "Statistics":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Statistics(**dict(zip(self.__slots__, map(sum, pairs), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Since when the database has been away, or has not been given everything again, and how much of what people sent
    is kept on this instance's disk meanwhile."""

    since: datetime
    is_down: bool
    conversations: int
    entries: int
    bytes: int


class SpoolState(NamedTuple):
    """Whether a conversation has entries that are not in the database yet, how often its newest entries have got other
    numbers by being written there, whether the database is away, which may know more of it, and which number each of
    those entries has now that got another one the last time."""

    is_spooled: bool = False
    moves: int = 0
    is_partial: bool = False
    moved: Mapping[int, int] = {}


MOST_MESSAGES = MOST_ENTRIES = 1000
MOST_CHARACTERS = 2_000_000
"""A page of messages ends early after so many characters, or after `MOST_ENTRIES` entries of all kinds."""
REMARKS = 50
"""How many entries, from the end of the branch on, are read for the end of its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which entries are read: the newest of the branch that ends in `head` (none: the current one) until there are so
    many `messages`, those that come before the entry `before`, or so many entries `around` one (without a head: on the
    current branch if it holds that entry, else on the newest that does)."""

    messages: int = 0
    head: int | None = None
    before: int | None = None
    around: int | None = None

    def check(self) -> None:
        """Raise an error if so many messages are never read together."""
        if not 0 <= self.messages <= MOST_MESSAGES:
            raise InvalidLimit


NO_ENTRIES = Page()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A conversation as of one moment: the `entries` of the page, oldest first and without remarks, and the `feedback`
    about them; the end of their `branch`, the `state` there, and the `remarks` in the log from there on; the whole
    tree, the open turns, oldest first, and the text being written."""

    conversation: Conversation
    branch: int | None
    entries: tuple[Entry, ...]
    feedback: tuple[Entry, ...]
    state: State
    remarks: tuple[Entry, ...]
    tree: Tree
    turns: tuple[Turn, ...]
    draft: Draft | None

    @property
    def opinions(self) -> dict[int, Feedback]:
        """What is thought of the entries of the page, by their numbers."""
        given = {entry.parent: entry.body for entry in self.feedback if isinstance(entry.body, Feedback)}
        return {entry: body for entry, body in given.items() if entry is not None and body.rating is not None}

    @property
    def ended(self) -> tuple[int, TurnChange] | None:
        """The newest turn of the branch and how it ended, as long as nothing but remarks came behind it."""
        changes = [(entry.turn or 0, entry.body) for entry in self.remarks if isinstance(entry.body, TurnChange)]
        return changes[-1] if changes and not changes[-1][1].state.is_open else None


def page_of(newest_first: Iterable[Entry], messages: int) -> tuple[Entry, ...]:
    """Return the newest entries of a branch, oldest first, until there are so many messages, or a lot."""
    taken: list[Entry] = []
    characters = 0
    for entry in newest_first if messages else ():
        taken.append(entry)
        if isinstance(entry.body, Message):
            messages -= 1
            characters += len(entry.body.content)
        if not messages or characters >= MOST_CHARACTERS or len(taken) == MOST_ENTRIES:
            break
    taken.reverse()
    return tuple(taken)
