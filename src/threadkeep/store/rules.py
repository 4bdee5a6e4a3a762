"""The rules of writing, once for all backends: a verb and what is known of a conversation's end become one record, or a
refusal. Nothing here reads or writes anything.

A backend hands in the end of a log, commits the record if that is still the end, and answers with the entries that the
record made; a repeated key is answered with the entries of the first time.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from threadkeep import errors
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.draft_text import stream_of
from threadkeep.conversation.entry import Body, Entry, HeadChoice, Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.store.audit import AuditRow
from threadkeep.store.base import ROOT
from threadkeep.store.checks import check_append, check_begin, check_chunk, check_update, encode_within
from threadkeep.store.codec import Row, encode
from threadkeep.store.record import Chunk, DraftEnd, End, KeyUse, Record, Tip
from threadkeep.store.values import Append, Appended, Begin, Begun

T_co = TypeVar("T_co", covariant=True)
WAITS = "waits for the database"
"""The detail of a queued turn that only the database may start."""
PACE_SECONDS = 0.005
"""So long after one commit of text comes the next. What comes later than that is stored at once, and so is the first
text of a message, which somebody waits for."""


class EndMovedError(Exception):
    """Others wrote between reading the end of the log and committing."""


class AddedText(NamedTuple):
    """Text for the message that the holder of a lease is writing, and its place there."""

    lease: Lease
    message: str
    offset: int
    text: str


class Decision(NamedTuple, Generic[T_co]):
    """What is to be committed, and how to answer with the entries that it makes.

    `rows` are the record's bodies, encoded. Without a record there is nothing to write; `again` then names the first
    and the last entry to answer with.
    """

    answer: Callable[[tuple[Entry, ...]], T_co]
    record: Record | None = None
    rows: Sequence[Row] = ()
    again: tuple[int, int] | None = None


class Verb(NamedTuple, Generic[T_co]):
    """A request to write: how to decide about it, and what it needs of the end of the log.

    `parent` is an entry that the decision asks about. What is `brought` by people is held against the caps. `act` goes
    into the audit log with the record.
    """

    decide: Callable[[End], Decision[T_co]]
    key: IdempotencyKey | None = None
    parent: int | None = None
    brought: bool = False
    act: AuditRow | None = None


class Rules:
    """Decides what a verb writes, with this clock and this limit for one entry."""

    def __init__(self, clock: Clock, max_bytes: int) -> None:
        self.clock = clock
        self.max_bytes = max_bytes

    # Conversations

    def update(
        self,
        end: End,
        change: Update,
        expected_version: int | None,
        expected_entries: int | None = None,
        at: datetime | None = None,
    ) -> Decision[None]:
        check_update(change)
        row = encode_within(change, self.max_bytes)
        _check_version(end, expected_version)
        check_entries(end.tip, expected_entries)
        return self.decision(_nothing, [change], [row], at=at or self.clock())

    def choose_head(self, end: End, head: int, expected_version: int | None) -> Decision[None]:
        _check_version(end, expected_version)
        if head != ROOT and not end.is_on_branch(head):
            raise errors.EntryNotFound
        return self.decision(_nothing, [HeadChoice()], head=head, parent=head)

    def decision(
        self,
        answer: Callable[[tuple[Entry, ...]], T_co],
        bodies: Sequence[Body] = (),
        rows: Sequence[Row] | None = None,
        **fields: Any,
    ) -> Decision[T_co]:
        """Return what to write now: some bodies, as rows if they are already such, and further fields of the record."""
        rows = [encode(body) for body in bodies] if rows is None else rows
        record = Record.adopt({**_UNSET, "at": self.clock(), "bodies": tuple(bodies), **fields})
        return Decision(answer, record, rows)

    # The log

    def append(self, end: End, append: Append) -> Decision[Appended]:
        rows = check_append(append, self.max_bytes)
        key = key_use(end.scope, append.key)
        if (found := replayed(end, key)) is not None:
            return Decision(lambda entries: Appended(entries=entries, replayed=True), again=found)
        _check_version(end, append.expected_version)
        parent = _parent(end, append.parent, append.expected_head)
        turn = _check_lease(end, append.lease) if append.lease else None
        bodies: tuple[Body, ...] = append.bodies
        if turn is not None:
            _check_draft(end, append.bodies, append.settle is not None)
        if append.settle is not None:
            bodies, rows = (*bodies, append.settle), [*rows, encode(append.settle)]
        if any(isinstance(body, Message) for body in bodies):
            renewal = _renewal(end) if append.lease is None or end.status is Status.ABANDONED else ()
            bodies, rows = (*bodies, *renewal), [*rows, *map(encode, renewal)]
        return self.decision(
            lambda entries: Appended(entries=entries),
            bodies,
            rows,
            parent=parent,
            turn=turn.number if turn else None,
            open_turn=_settled(turn, append.settle),
            key=key,
        )

    # Turns

    def begin(self, end: End, begin: Begin, most_queued: int = 0) -> Decision[Begun]:
        check_begin(begin, self.max_bytes)
        key = key_use(end.scope, begin.key)
        if (found := replayed(end, key)) is not None:
            return Decision(lambda entries: Begun(turn=found[0], entries=entries, replayed=True), again=found)
        if begin.refused is not None:
            raise begin.refused
        parent = _parent(end, begin.parent, begin.expected_head)
        if not end.open_turns and not begin.waits:
            turn = self._running(end, end.tip.last + 1, begin.owner, begin.lease_for)
            return self._run(end, turn, parent, _queued(begin), key)
        if begin.when_busy == "reject":
            raise errors.ConversationBusy
        waiting = sum(turn.state is TurnState.QUEUED for turn in end.open_turns.values())
        if 0 < most_queued <= waiting:
            raise errors.QueueFull(f"{waiting} messages wait in this conversation already; wait for their answers.")
        return self._queue(end, parent, begin, key)

    def _queue(self, end: End, parent: int, begin: Begin, key: KeyUse | None) -> Decision[Begun]:
        number = end.tip.last + 1
        return self.decision(
            lambda entries: Begun(turn=number, entries=entries),
            [_queued(begin), *_renewal(end)],
            parent=parent,
            turn=number,
            open_turn=turn_of(end, number, TurnState.QUEUED),
            key=key,
        )

    def _running(self, end: End, number: int, owner: str, lease_for: timedelta) -> Turn:
        return turn_of(end, number, TurnState.RUNNING, owner=owner, fence=1, until=self.clock() + lease_for)

    def _run(self, end: End, turn: Turn, parent: int, asked: TurnChange, key: KeyUse | None = None) -> Decision[Begun]:
        """Store the message of a turn and that it runs; without a message, what it answers becomes the head."""
        change = TurnChange(state=TurnState.RUNNING, **{name: getattr(asked, name) for name in _ASKED})
        message = asked.message
        lease = _lease(end, turn)
        return self.decision(
            lambda entries: Begun(turn=turn.number, entries=entries, lease=lease),
            [*([] if message is None else [message]), change, *_renewal(end)],
            parent=parent,
            head=parent if message is None else None,
            turn=turn.number,
            open_turn=turn,
            key=key,
        )

    def start(self, end: End, owner: str, lease_for: timedelta) -> Decision[Begun | None]:
        """Start the oldest queued turn if no other is open before it."""
        turns = end.open_turns
        if not turns or any(turn.state is not TurnState.QUEUED for turn in turns.values()):
            return Decision(_nothing)
        turn = self._running(end, min(turns), owner, lease_for)
        queued = end.queued(turn.number)
        return self._run(end, turn, end.tip.head if queued.parent is None else queued.parent, queued)

    def take(self, end: End, seen: Turn, owner: str, lease_for: timedelta) -> Decision[Lease]:
        turn = end.open_turns.get(seen.number)
        if turn is None or turn.state is TurnState.QUEUED or (turn.fence, turn.state) != (seen.fence, seen.state):
            raise errors.LeaseLost
        taken = self._running(end, turn.number, owner, lease_for).model_copy(update={"fence": turn.fence + 1})
        lease = _lease(end, taken)
        change = TurnChange(state=TurnState.RUNNING, detail="taken up")
        return self.decision(lambda entries: lease, [change], turn=turn.number, open_turn=taken)

    def withdraw(self, end: End, number: int) -> Decision[None]:
        """Take a queued turn back before it begins."""
        turn, change = end.open_turns.get(number), TurnChange(state=TurnState.CANCELLED)
        if turn is None or turn.state is not TurnState.QUEUED:
            raise errors.TurnNotFound
        return self.decision(_nothing, [change], turn=number, open_turn=_settled(turn, change))

    def extend(self, end: End, lease: Lease, lease_for: timedelta) -> Decision[None]:
        turn = _check_lease(end, lease).model_copy(update={"until": self.clock() + lease_for})
        return self.decision(_nothing, open_turn=turn)

    def write(self, end: End, added: AddedText) -> Decision[None]:
        self.check_text(end, added)
        chunk = Chunk.trusted(turn=added.lease.turn, message=added.message, text=added.text)
        return self.decision(_nothing, chunk=chunk)

    def check_text(self, end: End, added: AddedText) -> None:
        """Refuse text that does not continue the message being written."""
        lease, message, offset, text = added
        check_chunk(message, offset, text)
        _check_lease(end, lease)
        begun = end.draft
        if offset != (begun.characters if begun else 0) or (begun and begun.message != message):
            raise errors.DraftMismatch
        if (begun.bytes if begun else 0) + len(text.encode()) > self.max_bytes:
            raise errors.ContentTooLarge(f"An entry may hold at most {self.max_bytes} bytes.")


_ASKED = ("outside", "id", "tools", "without_recall")
"""What the first change of a turn says of how it was asked for."""
_VERSIONED = StateChange | Update | HeadChoice
_UNSET = {name: field.get_default() for name, field in Record.model_fields.items() if not field.is_required()}


def _queued(begin: Begin) -> TurnChange:
    same = {name: getattr(begin, name) for name in ("message", "parent", *_ASKED)}
    return TurnChange(state=TurnState.QUEUED, detail=WAITS if begin.waits else None, **same)


def _nothing(entries: tuple[Entry, ...]) -> None:
    """Answer with nothing."""


def key_use(scope: Scope, key: IdempotencyKey | None) -> KeyUse | None:
    """Return how a record remembers a key."""
    return None if key is None else KeyUse(name=key.name(scope).hex(), digest=key.digest.hex())


def replayed(end: End, key: KeyUse | None) -> tuple[int, int] | None:
    """Return the first and the last entry that a repeated key made, if it is one."""
    found = None if key is None else end.replay(key)
    if key is None or found is None:
        return None
    check_same(found.digest, key)
    return found.first, found.last


def check_same(digest: str, key: KeyUse) -> None:
    """Refuse a repeated key that came with another body the first time."""
    if digest != key.digest:
        raise errors.KeyReused


def version_after(version: int, record: Record) -> int:
    """Return the version of a conversation after a record; an import brings its own."""
    if record.imported is not None:
        return max(version, record.imported.version)
    return version + any(map(changes_version, record.bodies))


def changes_version(body: Body) -> bool:
    return isinstance(body, _VERSIONED)


def finishes(record: Record, draft: DraftEnd) -> bool:
    """Whether a record holds the message being written, finished."""
    is_its_turn = record.imported is not None or record.turn == draft.turn
    return is_its_turn and holds_message(record.bodies, draft.message)


def holds_message(bodies: Sequence[Body], message: str) -> bool:
    """Whether a message is among some bodies."""
    return any(isinstance(body, Message) and body.id == message for body in bodies)


def check_entries(tip: Tip, expected: int | None) -> None:
    """Refuse a change that was decided on an older state of the log."""
    if expected is not None and expected != tip.last:
        raise errors.ConversationBusy("The conversation has gone on meanwhile.")


def _renewal(end: End) -> tuple[Update, ...]:
    """Return what goes with a new message: a conversation that goes on is active again."""
    return () if end.status is Status.ACTIVE else (Update(status=Status.ACTIVE),)


def _check_version(end: End, expected: int | None) -> None:
    if expected is not None and expected != end.version:
        raise errors.StaleVersion(end.version)


def _parent(end: End, parent: int | None, expected_head: int | None) -> int:
    """Return the entry to continue, after checking what the caller expects."""
    head = end.tip.head
    if expected_head is not None and expected_head != head:
        raise errors.StaleHead(head or None)
    if parent is None:
        return head
    if parent != ROOT and not end.is_on_branch(parent):
        raise errors.InvalidParent
    return parent


def _check_lease(end: End, lease: Lease) -> Turn:
    """Return the turn if the lease is its present one."""
    turn = end.open_turns.get(lease.turn)
    if (
        turn is None
        or turn.state is not TurnState.RUNNING
        or (turn.fence, turn.owner) != (lease.fence, lease.owner)
        or (end.id, end.scope) != (lease.conversation, lease.scope)
    ):
        raise errors.LeaseLost
    return turn


def _check_draft(end: End, bodies: Sequence[Body], settling: bool) -> None:
    """Refuse a message that is shorter than what was written of it, and an end that leaves one being written."""
    begun = end.draft
    if begun is None:
        return
    finished = [body for body in bodies if isinstance(body, Message) and body.id == begun.message]
    if settling and not finished:
        raise errors.DraftMismatch("A message is still being written.")
    if finished and len(stream_of(finished[0])) < begun.characters:
        raise errors.DraftMismatch


def turn_of(end: End, number: int, state: TurnState, **fields: Any) -> Turn:
    """Return a turn of the conversation."""
    return Turn(scope=end.scope, conversation=end.id, number=number, state=state, **fields)


def _settled(turn: Turn | None, change: TurnChange | None) -> Turn | None:
    """Return the turn as it is after it was settled; a waiting one is nobody's."""
    if turn is None or change is None:
        return None
    return turn.model_copy(update={"state": change.state, "owner": None, "until": None})


def _lease(end: End, turn: Turn) -> Lease:
    owner = turn.owner or ""
    return Lease(scope=end.scope, conversation=end.id, turn=turn.number, owner=owner, fence=turn.fence)
