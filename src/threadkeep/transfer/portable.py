"""A conversation on its way between stores and files: what it is as a whole, and its log, checked before it is kept.

A short log travels in memory; a long one waits in a temporary file, so that length costs no memory.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import IO, Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Entry, HeadChoice, Update
from threadkeep.conversation.export import ExportedConversation, ExportedEntry, entry_json
from threadkeep.conversation.facts import ListedFacts
from threadkeep.conversation.ids import Id
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import InvalidImport, ThreadkeepError
from threadkeep.store.record import Tip
from threadkeep.transfer.files import PortableFile

V = TypeVar("V", bound=BaseModel)
MAX_PROBLEMS = 1000
"""How many problems are kept for the report of an import; a file with as many wrong places is not read on."""
IN_MEMORY = 8_000_000
"""About how many bytes of one conversation are held in memory while it is read."""
COST = 100
"""What a value of JSON takes beside its text."""


class Header(ExportedConversation):
    """A conversation as a whole; whose it is, where an export holds more than one person's."""

    tenant: Id | None = None
    user: Id | None = None

    @classmethod
    def of_scope(cls, conversation: Conversation, *, tenant: bool, user: bool) -> Self:
        """Return the header of a stored conversation, with as much of its scope as is asked for."""
        whose = {"tenant": conversation.scope.tenant} if tenant else {}
        whose |= {"user": conversation.scope.user} if user else {}
        return cls.model_validate(conversation.model_dump(exclude={"scope", "incomplete", "shares"}) | whose)

    def to_json(self) -> str:
        """Return the header as one line of JSON."""
        unknown = {name for name in ("tenant", "user") if getattr(self, name) is None}
        return self.model_dump_json(exclude=unknown)


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """Something that could not be taken in: where it is, a stable code, and what is wrong with it."""

    place: str
    code: str
    detail: str

    @classmethod
    def of(cls, place: str, error: ThreadkeepError) -> Self:
        """Return what an error says about a place."""
        return cls(place, error.code, str(error))


@dataclass(frozen=True, slots=True)
class Portable:
    """A conversation that was read and checked. `entries()` yields its log from the beginning, as often as asked."""

    header: Header
    entries: Callable[[], Iterator[Entry]]
    open_turns: Mapping[int, TurnState] = field(default_factory=dict)
    place: str = ""
    files: tuple[PortableFile, ...] = ()


_UNSET: dict[str, Any] = {
    name: field.default for name, field in ListedFacts.model_fields.items() if name not in NewConversation.model_fields
}
"""What a conversation cannot begin with: it is as in every new one until its log tells otherwise."""


class LogCheck:
    """Follows a log entry by entry, refuses what no store can have written, and knows what it adds up to."""

    def __init__(self) -> None:
        self.tip = Tip()
        self.open_turns: dict[int, TurnState] = {}
        self.changes = 0
        self._on_branch = bytearray(b"\1")
        self._set = dict(_UNSET)
        self._last: Entry | None = None

    def add(self, entry: Entry) -> None:
        """Take the next entry."""
        if entry.seq != self.tip.last + 1:
            raise InvalidImport(f"Entry {self.tip.last + 1} is missing.")
        if (entry.parent or 0) >= entry.seq or not self._on_branch[entry.parent or 0]:
            raise InvalidImport(f"The parent of entry {entry.seq} is no earlier entry of a branch.")
        if entry.turn is not None and entry.turn > entry.seq:
            raise InvalidImport(f"The turn of entry {entry.seq} begins after it.")
        match entry.body:
            case TurnChange():
                self._turn(entry, entry.body)
            case Update():
                self._set |= entry.body.model_dump(exclude={"kind", "shares"}, exclude_none=True)
        self.changes += isinstance(entry.body, StateChange | Update | HeadChoice)
        self._on_branch.append(entry.continues_branch)
        self.tip = self.tip.after(entry)
        self._last = entry

    def _turn(self, entry: Entry, change: TurnChange) -> None:
        if entry.turn is None or (change.state is TurnState.QUEUED and entry.turn != entry.seq):
            raise InvalidImport(f"Entry {entry.seq} belongs to no turn.")
        if change.state.is_open:
            self.open_turns[entry.turn] = change.state
        else:
            self.open_turns.pop(entry.turn, None)

    def finish(self, header: Header) -> None:
        """Refuse a header that its log does not add up to."""
        if header.entries != self.tip.last:
            raise InvalidImport(f"{header.entries} entries are announced, {self.tip.last} are there.")
        expected = {
            **self._set,
            "head": self.tip.head or None,
            "updated_at": self._last.created_at if self._last else header.created_at,
        }
        wrong = [name for name, value in expected.items() if getattr(header, name) != value]
        if wrong or not min(self.changes, 1) <= header.version - 1 <= self.changes:
            raise InvalidImport(f"The {(wrong or ['version'])[0]} of the conversation does not fit its entries.")


def to_entry(conversation: str, fields: Any) -> Entry:
    """Return the entry that a JSON object, or its text, describes."""
    place = validated(ExportedEntry, fields).__dict__
    body = place["body"]
    # What checking notes about a body takes as much room as a short message: it is left behind.
    return Entry.trusted(conversation=conversation, **{**place, "body": body.adopt(body.__dict__)})


def validated(kind: type[V], fields: Any) -> V:
    """Return a value from JSON; `InvalidImport` says where it is wrong."""
    try:
        return kind.model_validate_json(fields) if isinstance(fields, bytes) else kind.model_validate(fields)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in wrong["loc"])
        raise InvalidImport(f"{place or 'it'}: {wrong['msg']}.") from None


class Spool:
    """The log of one conversation while it is read: the beginning in memory, the rest in a file without a name."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._first: list[Entry] = []
        self._held = 0
        self._rest: IO[bytes] | None = None

    def add(self, entry: Entry, size: int) -> None:
        """Take the next entry, which takes about so much memory."""
        if self._rest is None and self._held + size <= IN_MEMORY:
            self._first.append(entry)
            self._held += size
            return
        if self._rest is None:
            self._rest = TemporaryFile()  # noqa: SIM115 - closed with the spool
        self._rest.write(entry_json(entry).encode() + b"\n")

    def __del__(self) -> None:
        if self._rest is not None:
            self._rest.close()

    def __call__(self) -> Iterator[Entry]:
        """Yield all of them."""
        yield from self._first
        if self._rest is not None:
            self._rest.seek(0)
            for line in self._rest:
                yield to_entry(self._conversation, line)
