"""A ledger: everything about one conversation in memory, as a function of its records.

`apply` is the only way to change it and cannot fail: whether a step is allowed was decided before its record was made
(see `rules`). No I/O, no locks: whoever keeps ledgers holds them one at a time.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Literal

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry, Status, Summary, Update
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.share import Share
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.tree import Jump, Run, Tree
from threadkeep.conversation.turn import Turn, TurnChange, TurnState
from threadkeep.errors import EntryNotFound
from threadkeep.store.embedded import ConversationLog
from threadkeep.store.record import Chunk, DraftEnd, KeyUse, Opening, OpenTurn, Record, Replay, Tip, place_entries
from threadkeep.store.rules import finishes, version_after
from threadkeep.store.values import Draft


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
        self._pieces.append(chunk.text)
        self.characters += len(chunk.text)
        self.bytes += len(chunk.text.encode())

    @property
    def end(self) -> DraftEnd:
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


class Ledger(ConversationLog):
    """The state of one conversation after some records; the first one must be its opening."""

    tip = Tip()

    def __init__(self, opening: Record) -> None:
        if opening.opening is None:
            raise ValueError("A ledger begins with an opening.")
        self.opening: Opening = opening.opening
        self.scope = Scope(tenant=self.opening.tenant, user=self.opening.user)
        self.id = self.opening.id
        self.created_with = opening.key.name if opening.key else None
        self.created_at = self.updated_at = opening.at
        self.status, self.archived, self.version = Status.ACTIVE, False, 1
        self.shares: tuple[Share, ...] = ()
        new = self.opening.new
        self.assistant, self.title, self.model, self.metadata = new.assistant, new.title, new.model, new.metadata
        self.entries: list[Entry] = []
        self.jumps: list[Jump] = []
        self.open_turns: dict[int, OpenTurn] = {}
        self.draft_text: DraftText | None = None
        self.keys: dict[str, Replay] = {}
        self.views: dict[str, None] = {}
        self.is_shown = True
        self.shown_head = 0
        self.bytes = 0
        self._of_kind: dict[type, list[int]] = {StateChange: [], Summary: []}
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
        for key in record.keys(first, self.tip.last):
            self.keys[key.name] = Replay(key.digest, key.first, key.last)
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
            case StateChange() | Summary() as body:
                self._of_kind[type(body)].append(entry.seq)
            case Update() as change:
                self._update(change)

    def _update(self, change: Update) -> None:
        self.assistant = self.assistant if change.assistant is None else change.assistant
        self.title = self.title if change.title is None else change.title
        self.model = self.model if change.model is None else change.model
        self.metadata = self.metadata if change.metadata is None else change.metadata
        self.status = self.status if change.status is None else change.status
        self.archived = self.archived if change.archived is None else change.archived
        self.shares = self.shares if change.shares is None else change.shares

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
            shares=self.shares,
            version=self.version,
            head=self.tip.head or None,
            entries=self.tip.last,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    @property
    def tree(self) -> Tree:
        return Tree.model_construct(jumps=tuple(self.jumps), newest=self.tip.newest, head=self.tip.head)

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(
            Turn(scope=self.scope, conversation=self.id, **dict(self.open_turns[number]))
            for number in sorted(self.open_turns)
        )

    @property
    def draft(self) -> DraftEnd | None:
        return self.draft_text.end if self.draft_text else None

    @property
    def view(self) -> str | None:
        """The digest of the readable file as it was written last; `is_shown` tells whether that is up to date."""
        return next(reversed(self.views), None)

    # Entries

    def path(self, head: int) -> list[Run]:
        return self.tree.path(head)

    def entry(self, seq: int) -> Entry:
        if not 1 <= seq <= self.tip.last:
            raise EntryNotFound
        return self.entries[seq - 1]

    def between(self, first: int, last: int) -> tuple[Entry, ...]:
        return tuple(self.entries[first - 1 : last])

    def on_branch(self, first: int, last: int, limit: int, order: Literal["ASC", "DESC"]) -> list[Entry]:
        numbers = range(first, last + 1) if order == "ASC" else range(last, first - 1, -1)
        entries = (self.entries[seq - 1] for seq in numbers)
        return list(islice((entry for entry in entries if entry.continues_branch), limit))

    def of_kind(self, kind: type[StateChange | Summary], first: int, last: int) -> Iterator[Entry]:
        seqs = self._of_kind[kind]
        return (self.entries[seq - 1] for seq in reversed(seqs[bisect_left(seqs, first) : bisect_right(seqs, last)]))

    def backwards(self, head: int) -> Iterator[Entry]:
        """Yield the branch that ends in `head`, newest first."""
        for run in self.path(head):
            yield from self.on_branch(run.first, run.last, self.tip.last, "DESC")

    def is_on_branch(self, seq: int) -> bool:
        return 1 <= seq <= self.tip.last and self.entries[seq - 1].continues_branch

    def messages_up_to(self, seq: int) -> int:
        return self._messages[seq]

    def replay(self, key: KeyUse) -> Replay | None:
        return self.keys.get(key.name)

    def draft_after(self, message: str | None, offset: int) -> Draft | None:
        if self.draft_text is None:
            return None
        return self.draft_text.after(offset if message == self.draft_text.message else 0)


def _shows(record: Record) -> bool:
    """Whether a readable file shows something else after this record: not in the middle of a turn."""
    if record.turn is None:
        return bool(record.bodies)
    ends = (body for body in record.bodies if isinstance(body, TurnChange))
    return any(end.state not in (TurnState.QUEUED, TurnState.RUNNING) for end in ends)
