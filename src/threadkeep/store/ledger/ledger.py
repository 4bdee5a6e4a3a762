"""A ledger: everything about one conversation in memory, as a function of its records.

`apply` is the only way to change it and cannot fail: whether a step is allowed was decided before its record was made
(see `rules`). No I/O, no locks: whoever keeps ledgers holds them one at a time.
"""

from array import array
from collections.abc import Iterator
from datetime import datetime

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Status, Summary, Update
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange, fold
from threadkeep.conversation.tree import Jump, Tree
from threadkeep.conversation.turn import Turn, TurnChange, TurnState
from threadkeep.errors import EntryNotFound, StoreCorrupt
from threadkeep.store.base import ROOT, Draft, LogPage
from threadkeep.store.paging import check_position
from threadkeep.store.record import (
    Chunk,
    DraftEnd,
    KeyUse,
    Opening,
    OpenTurn,
    Record,
    Replay,
    Tip,
    place_entries,
)
from threadkeep.store.rules import finishes, version_after


class DraftText:
    """A message being written. Adding a piece costs the same however much is written."""

    def __init__(self, chunk: Chunk, started_at: datetime) -> None:
        self.message = chunk.message
        self.turn = chunk.turn
        self.started_at = started_at
        self.characters = 0
        self.bytes = 0
        self._pieces: list[str] = []
        self.add(chunk)

    def add(self, chunk: Chunk) -> None:
        """Add a piece."""
        self._pieces.append(chunk.text)
        self.characters += len(chunk.text)
        self.bytes += len(chunk.text.encode())

    @property
    def end(self) -> DraftEnd:
        """How much there is of it."""
        return DraftEnd(self.message, self.turn, self.characters, self.bytes)

    def after(self, offset: int) -> Draft:
        """Return the text from character `offset` on."""
        self._pieces = ["".join(self._pieces)]
        return Draft(
            message=self.message,
            turn=self.turn,
            started_at=self.started_at,
            offset=offset,
            text=self._pieces[0][offset:],
        )


class Ledger:
    """The state of one conversation after some records; the first one must be its opening."""

    def __init__(self, opening: Record) -> None:
        if opening.opening is None:
            raise ValueError("A ledger begins with an opening.")
        self.opening: Opening = opening.opening
        self.scope = Scope(tenant=self.opening.tenant, user=self.opening.user)
        self.id = self.opening.id
        self.created_with = opening.key.name if opening.key else None
        self.created_at = self.updated_at = opening.at
        self.status, self.archived, self.version = Status.ACTIVE, False, 1
        new = self.opening.new
        self.assistant, self.title, self.model, self.metadata = new.assistant, new.title, new.model, new.metadata
        self.entries: list[Entry] = []
        self.tip = Tip()
        self.jumps: list[Jump] = []
        self.open_turns: dict[int, OpenTurn] = {}
        self.draft_text: DraftText | None = None
        self.keys: dict[str, Replay] = {}
        self.views: dict[str, None] = {}
        self.is_shown = True
        self.shown_head = 0
        self.bytes = 0
        self._summaries: list[int] = []
        self._messages = array("I", [0])
        self.apply(opening)

    # Changing

    def apply(self, record: Record) -> None:
        """Take the step that the record tells of."""
        first = self.tip.last + 1
        if record.head is not None:
            self.tip = self.tip._replace(head=record.head)
        if record.bodies:
            self._add(record)
        for turn in record.turns:
            self._turn(turn)
        if record.chunk is not None:
            self._write(record.chunk, record.at)
        if record.key is not None:
            self.keys[record.key.name] = Replay(record.key.digest, first, self.tip.last)
        if record.view is not None:
            self.views.pop(record.view, None)
            self.views[record.view] = None
            self.is_shown, self.shown_head = True, self.tip.head
        elif _shows(record):
            self.is_shown = False
        self.bytes += record.bytes

    def _add(self, record: Record) -> None:
        placed = place_entries(self.tip, record, self.id, self._follower)
        self.entries += placed.entries
        self.tip = placed.tip
        self.updated_at = placed.entries[-1].created_at
        self.jumps += placed.jumps
        if self.draft and finishes(record, self.draft):
            self.draft_text = None
        for entry in placed.entries:
            self._note(entry)
        self.version = version_after(self.version, record)

    def _note(self, entry: Entry) -> None:
        self._messages.append(self._messages[-1] + isinstance(entry.body, Message))
        match entry.body:
            case Summary():
                self._summaries.append(entry.seq)
            case Update() as change:
                self._update(change)

    def _update(self, change: Update) -> None:
        self.assistant = self.assistant if change.assistant is None else change.assistant
        self.title = self.title if change.title is None else change.title
        self.model = self.model if change.model is None else change.model
        self.metadata = self.metadata if change.metadata is None else change.metadata
        self.status = self.status if change.status is None else change.status
        self.archived = self.archived if change.archived is None else change.archived

    def _turn(self, turn: OpenTurn) -> None:
        if turn.state.is_open:
            self.open_turns[turn.number] = turn
        else:
            self.open_turns.pop(turn.number, None)

    def _write(self, chunk: Chunk, at: datetime) -> None:
        if self.draft_text is None:
            self.draft_text = DraftText(chunk, at)
        else:
            self.draft_text.add(chunk)

    def _follower(self, parent: int) -> int:
        """Return the entry that continued `parent` in its own run, or 0."""
        later = (self.entries[at] for at in range(parent, self.tip.last))
        found = next((entry.seq for entry in later if entry.continues_branch), 0)
        return 0 if any(jump.first == found for jump in self.jumps) else found

    # The conversation as a whole

    @property
    def conversation(self) -> Conversation:
        """The conversation as it is now."""
        new = self.opening.new
        return Conversation.model_construct(
            scope=self.scope,
            id=self.id,
            assistant=self.assistant,
            title=self.title,
            system=new.system,
            model=self.model,
            metadata=self.metadata,
            status=self.status,
            archived=self.archived,
            version=self.version,
            head=self.tip.head or None,
            entries=self.tip.last,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    @property
    def tree(self) -> Tree:
        """The shape of the tree."""
        return Tree.model_construct(jumps=tuple(self.jumps), newest=self.tip.newest, head=self.tip.head)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The open turns, oldest first."""
        return tuple(
            Turn(scope=self.scope, conversation=self.id, **dict(self.open_turns[number]))
            for number in sorted(self.open_turns)
        )

    @property
    def draft(self) -> DraftEnd | None:
        """How much there is of the message being written."""
        return self.draft_text.end if self.draft_text else None

    @property
    def view(self) -> str | None:
        """The digest of the readable file as it was written last; `is_shown` tells whether that is up to date."""
        return next(reversed(self.views), None)

    # Entries

    def entry(self, seq: int) -> Entry:
        """Return one entry."""
        if not 1 <= seq <= self.tip.last:
            raise EntryNotFound
        return self.entries[seq - 1]

    def between(self, first: int, last: int) -> tuple[Entry, ...]:
        """Return the entries with these numbers."""
        return tuple(self.entries[first - 1 : last])

    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""
        return 1 <= seq <= self.tip.last and self.entries[seq - 1].continues_branch

    def replay(self, key: KeyUse) -> Replay | None:
        """Return what a key made here."""
        return self.keys.get(key.name)

    def queued(self, turn: int) -> TurnChange:
        """Return the entry that tells of a queued turn."""
        body = self.entry(turn).body
        if not isinstance(body, TurnChange):
            raise StoreCorrupt(f"Entry {turn} of conversation {self.id} does not tell of a queued turn.")
        return body

    def head(self, head: int | None) -> int:
        """Return the head that was asked for, which must be an entry of a branch, or the current one."""
        if head is None:
            return self.tip.head
        if not self.is_on_branch(head):
            raise EntryNotFound
        return head

    def backwards(self, head: int) -> Iterator[Entry]:
        """Yield the branch that ends in `head`, newest first."""
        for run in self.tree.path(head):
            for seq in range(run.last, run.first - 1, -1):
                if self.entries[seq - 1].continues_branch:
                    yield self.entries[seq - 1]

    def forwards(self, seq: int, head: int) -> Iterator[Entry]:
        """Yield what follows `seq` on the branch that ends in `head`, oldest first."""
        for first, last in self._stretches(seq, head):
            for at in range(first, last + 1):
                if self.entries[at - 1].continues_branch:
                    yield self.entries[at - 1]

    def count(self, seq: int, head: int) -> int:
        """Return how many messages follow `seq` on the branch that ends in `head`."""
        return sum(self._messages[last] - self._messages[first - 1] for first, last in self._stretches(seq, head))

    def _stretches(self, seq: int, head: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last number of what each run adds behind `seq`, oldest first."""
        tree = self.tree
        if seq != ROOT and not (self.is_on_branch(seq) and tree.holds(head, seq)):
            raise EntryNotFound
        for run in reversed(tree.path(head)):
            if run.last > seq:
                yield max(run.first, seq + 1), run.last

    def log(self, after: Cursor, limit: int) -> LogPage:
        """Return what the log holds after a cursor."""
        check_position(after.seq, self.tip.last)
        entries = self.between(after.seq + 1, after.seq + limit)
        if self.draft_text is None or after.seq + limit < self.tip.last:
            return LogPage(entries=entries)
        offset = after.offset if after.message == self.draft_text.message else 0
        return LogPage(entries=entries, draft=self.draft_text.after(offset))

    def state(self, at: int | None) -> State:
        """Return the state as of an entry."""
        bodies = (entry.body for entry in self.backwards(self.head(at)))
        return fold(body for body in bodies if isinstance(body, StateChange))

    def summary(self, head: int | None) -> Entry | None:
        """Return the newest summary of a branch."""
        path = self.tree.path(self.head(head))
        for seq in reversed(self._summaries):
            about = self.entries[seq - 1].parent or ROOT
            if any(run.first <= about <= run.last for run in path):
                return self.entries[seq - 1]
        return None


def _shows(record: Record) -> bool:
    """Whether a readable file shows something else after this record: not in the middle of a turn."""
    if record.turn is None:
        return bool(record.bodies)
    ends = (body for body in record.bodies if isinstance(body, TurnChange))
    return any(end.state not in (TurnState.QUEUED, TurnState.RUNNING) for end in ends)
