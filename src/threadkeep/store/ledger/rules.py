"""The rules of writing: each verb is checked against a ledger and becomes a decision, or is refused.

Nothing here changes a ledger. A decision names the record to keep (none if a repeated key found what it made before)
and how to answer once the record is applied.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Body, HeadChoice, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import (
    ContentTooLarge,
    ConversationBusy,
    DraftMismatch,
    InvalidParent,
    KeyReused,
    LeaseLost,
    StaleHead,
    StaleVersion,
    StoreCorrupt,
)
from threadkeep.store.base import ROOT, Append, Appended, Begin, Begun
from threadkeep.store.checks import check_append, check_begin, check_chunk, encode_within
from threadkeep.store.codec import encode
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.ledger.record import Chunk, KeyUse, Opening, OpenTurn, Record

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Decision(Generic[T_co]):
    """What is to be kept, and how to answer then."""

    record: Record | None
    answer: Callable[[Ledger], T_co]


class Rules:
    """Decides what a verb writes, with this clock and this limit for one entry."""

    def __init__(self, clock: Clock, max_bytes: int) -> None:
        self.clock = clock
        self._max_bytes = max_bytes

    # Conversations

    def open(self, scope: Scope, name: str, new: NewConversation, mark: str, key: IdempotencyKey | None) -> Record:
        """Return the record that a conversation begins with."""
        opening = Opening(tenant=scope.tenant, user=scope.user, id=name, mark=mark, new=new)
        return Record(at=self.clock(), opening=opening, key=key_use(scope, key))

    def update(self, ledger: Ledger, change: Update, expected_version: int | None) -> Decision[Conversation]:
        """Change a conversation as a whole."""
        size = encode_within(change, self._max_bytes).size
        _check_version(ledger, expected_version)
        return Decision(Record(at=self.clock(), bodies=(change,), bytes=size), lambda after: after.conversation)

    def choose_head(self, ledger: Ledger, head: int, expected_version: int | None) -> Decision[Conversation]:
        """Make another entry the head."""
        _check_version(ledger, expected_version)
        if head != ROOT:
            ledger.head(head)
        record = Record(at=self.clock(), head=head, parent=head, bodies=(HeadChoice(),))
        return Decision(record, lambda after: after.conversation)

    # The log

    def append(self, ledger: Ledger, append: Append) -> Decision[Appended]:
        """Append entries."""
        size = sum(row.size for row in check_append(append, self._max_bytes))
        key = key_use(ledger.scope, append.key)
        if (found := replayed(ledger, key)) is not None:
            return Decision(None, lambda same: Appended(entries=same.between(*found), replayed=True))
        _check_version(ledger, append.expected_version)
        parent = _parent(ledger, append.parent, append.expected_head)
        turn = _check_lease(ledger, append.lease) if append.lease else None
        bodies: tuple[Body, ...] = append.bodies
        if turn is not None:
            _check_draft(ledger, append.bodies, append.settle is not None)
        if append.settle is not None:
            bodies, size = (*bodies, append.settle), size + encode(append.settle).size
        record = Record(
            at=self.clock(),
            parent=parent,
            turn=turn.number if turn else None,
            bodies=bodies,
            bytes=size,
            open_turn=_settled(turn, append.settle),
            key=key,
        )
        return Decision(record, _entries_from(ledger.tip.last + 1))

    # Turns

    def begin(self, ledger: Ledger, begin: Begin) -> Decision[Begun]:
        """Begin a turn, or queue it."""
        check_begin(begin, self._max_bytes)
        key = key_use(ledger.scope, begin.key)
        if (found := replayed(ledger, key)) is not None:
            return Decision(None, lambda same: Begun(turn=found[0], entries=same.between(*found), replayed=True))
        parent = _parent(ledger, begin.parent, begin.expected_head)
        if not ledger.open_turns:
            turn = self._running(ledger.tip.last + 1, begin.owner, begin.lease_for)
            return self._run(ledger, turn, parent, begin.message, key)
        if begin.when_busy == "reject":
            raise ConversationBusy
        return self._queue(ledger, parent, begin, key)

    def _queue(self, ledger: Ledger, parent: int, begin: Begin, key: KeyUse | None) -> Decision[Begun]:
        number = ledger.tip.last + 1
        change = TurnChange(state=TurnState.QUEUED, message=begin.message, parent=begin.parent)
        record = Record(
            at=self.clock(),
            parent=parent,
            turn=number,
            bodies=(change,),
            bytes=encode(change).size,
            open_turn=OpenTurn(number=number, state=TurnState.QUEUED),
            key=key,
        )
        return Decision(record, lambda after: Begun(turn=number, entries=after.between(number, number)))

    def _running(self, number: int, owner: str, lease_for: timedelta) -> OpenTurn:
        until = self.clock() + lease_for
        return OpenTurn(number=number, state=TurnState.RUNNING, owner=owner, fence=1, until=until)

    def _run(
        self, ledger: Ledger, turn: OpenTurn, parent: int, message: Message | None, key: KeyUse | None = None
    ) -> Decision[Begun]:
        """Store the message of a turn and that it runs; without a message, what it answers becomes the head."""
        change = TurnChange(state=TurnState.RUNNING)
        bodies: tuple[Body, ...] = (change,) if message is None else (message, change)
        record = Record(
            at=self.clock(),
            parent=parent,
            head=parent if message is None else None,
            turn=turn.number,
            bodies=bodies,
            bytes=sum(encode(body).size for body in bodies),
            open_turn=turn,
            key=key,
        )
        first = ledger.tip.last + 1
        lease = _lease(ledger, turn)
        return Decision(
            record,
            lambda after: Begun(turn=turn.number, entries=after.between(first, after.tip.last), lease=lease),
        )

    def start(self, ledger: Ledger, owner: str, lease_for: timedelta) -> Decision[Begun | None]:
        """Start the oldest queued turn if no other is open before it."""
        turns = ledger.open_turns
        if not turns or any(turn.state is not TurnState.QUEUED for turn in turns.values()):
            return Decision(None, lambda same: None)
        turn = self._running(min(turns), owner, lease_for)
        queued = ledger.entry(turn.number).body
        if not isinstance(queued, TurnChange):
            raise StoreCorrupt(f"Entry {turn.number} of conversation {ledger.id} does not tell of a queued turn.")
        parent = ledger.tip.head if queued.parent is None else queued.parent
        return self._run(ledger, turn, parent, queued.message)

    def take(self, ledger: Ledger, seen: Turn, owner: str, lease_for: timedelta) -> Decision[Lease]:
        """Take up a turn as it was seen."""
        turn = ledger.open_turns.get(seen.number)
        if turn is None or turn.state is TurnState.QUEUED or (turn.fence, turn.state) != (seen.fence, seen.state):
            raise LeaseLost
        taken = self._running(turn.number, owner, lease_for).model_copy(
            update={"fence": turn.fence + 1, "taken": turn.taken + 1}
        )
        change = TurnChange(state=TurnState.RUNNING, detail="taken up")
        record = Record(at=self.clock(), turn=turn.number, bodies=(change,), bytes=encode(change).size, open_turn=taken)
        return Decision(record, lambda after: _lease(after, taken))

    def extend(self, ledger: Ledger, lease: Lease, lease_for: timedelta) -> Decision[None]:
        """Keep a lease for longer."""
        now = self.clock()
        turn = _check_lease(ledger, lease).model_copy(update={"until": now + lease_for})
        return Decision(Record(at=now, open_turn=turn), lambda after: None)

    def write(self, ledger: Ledger, lease: Lease, message: str, offset: int, text: str) -> Decision[None]:
        """Add text to the message being written."""
        check_chunk(message, offset, text)
        _check_lease(ledger, lease)
        begun = ledger.unfinished
        if offset != (begun.characters if begun else 0) or (begun and begun.message != message):
            raise DraftMismatch
        if (begun.bytes if begun else 0) + len(text.encode()) > self._max_bytes:
            raise ContentTooLarge(f"A message may hold at most {self._max_bytes} bytes.")
        chunk = Chunk(turn=lease.turn, message=message, text=text)
        return Decision(Record(at=self.clock(), chunk=chunk), lambda after: None)


def key_use(scope: Scope, key: IdempotencyKey | None) -> KeyUse | None:
    """Return how a record remembers a key."""
    return None if key is None else KeyUse(name=key.name(scope).hex(), digest=key.digest.hex())


def replayed(ledger: Ledger, key: KeyUse | None) -> tuple[int, int] | None:
    """Return the first and the last entry that a repeated key made, if it is one."""
    found = None if key is None else ledger.keys.get(key.name)
    if key is None or found is None:
        return None
    if found.digest != key.digest:
        raise KeyReused
    return found.first, found.last


def _check_version(ledger: Ledger, expected: int | None) -> None:
    if expected is not None and expected != ledger.version:
        raise StaleVersion(ledger.version)


def _parent(ledger: Ledger, parent: int | None, expected_head: int | None) -> int:
    """Return the entry to continue, after checking what the caller expects."""
    head = ledger.tip.head
    if expected_head is not None and expected_head != head:
        raise StaleHead(head or None)
    if parent is None:
        return head
    if parent != ROOT and not ledger.is_on_branch(parent):
        raise InvalidParent
    return parent


def _check_lease(ledger: Ledger, lease: Lease) -> OpenTurn:
    """Return the turn if the lease is its present one."""
    turn = ledger.open_turns.get(lease.turn)
    if (
        turn is None
        or turn.state is not TurnState.RUNNING
        or (turn.fence, turn.owner) != (lease.fence, lease.owner)
        or (ledger.id, ledger.scope) != (lease.conversation, lease.scope)
    ):
        raise LeaseLost
    return turn


def _check_draft(ledger: Ledger, bodies: Sequence[Body], settling: bool) -> None:
    """Refuse a message that is shorter than what was written of it, and an end that leaves one being written."""
    begun = ledger.unfinished
    if begun is None:
        return
    finished = [body for body in bodies if isinstance(body, Message) and body.id == begun.message]
    if settling and not finished:
        raise DraftMismatch("A message is still being written.")
    if finished and len(finished[0].content) < begun.characters:
        raise DraftMismatch


def _settled(turn: OpenTurn | None, change: TurnChange | None) -> OpenTurn | None:
    """Return the turn as it is after it was settled; a waiting one is nobody's."""
    if turn is None or change is None:
        return None
    return turn.model_copy(update={"state": change.state, "owner": None, "until": None})


def _lease(ledger: Ledger, turn: OpenTurn) -> Lease:
    owner = turn.owner or ""
    return Lease(scope=ledger.scope, conversation=ledger.id, turn=turn.number, owner=owner, fence=turn.fence)


def _entries_from(first: int) -> Callable[[Ledger], Appended]:
    return lambda after: Appended(entries=after.between(first, after.tip.last), replayed=False)
