"""Turns in SQLite: beginning, queueing, taking up, extending, and the text being written. Runs inside transactions."""

from datetime import datetime, timedelta

from threadkeep.conversation.entry import Body
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import (
    ContentTooLarge,
    ConversationBusy,
    ConversationNotFound,
    DraftMismatch,
    LeaseLost,
    StoreCorrupt,
)
from threadkeep.store.base import Begin, Begun
from threadkeep.store.moments import microseconds
from threadkeep.store.placement import Placed, Tip
from threadkeep.store.sqlite.reading import Place
from threadkeep.store.sqlite.writing import Log

_HERE = "WHERE tenant = ? AND conversation = ?"
_THIS = f"{_HERE} AND number = ?"


class Turns:
    """The open turns of one file, to be written."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.db = log.db
        self.reader = log.reader

    def begin(self, scope: Scope, conversation: str, begin: Begin) -> Begun:
        """Begin a turn or queue it."""
        here, tip = self.log.end(scope, conversation)
        if (found := self.log.replayed(scope, begin.key)) is not None:
            return Begun(turn=found[1], entries=self.reader.between(*found), replayed=True)
        parent = self.log.parent(here, tip, begin.parent, begin.expected_head)
        if self.db.value(f"SELECT 1 FROM turn {_HERE} LIMIT 1", here[:2]):
            if begin.when_busy == "reject":
                raise ConversationBusy
            begun = self._queue(here, tip, parent, begin)
        else:
            begun = self._run(scope, here, tip, parent, begin)
        self.log.remember(scope, here, begin.key, begun.entries[0].seq, begun.entries[-1].seq)
        return begun

    def _queue(self, here: Place, tip: Tip, parent: int, begin: Begin) -> Begun:
        change = TurnChange(state=TurnState.QUEUED, message=begin.message, parent=begin.parent)
        placed = self.log.put(here, tip, [change], parent, tip.last + 1)
        self.db.execute("INSERT INTO turn VALUES (?, ?, ?, 'queued', NULL, NULL, 0, 0)", (*here[:2], tip.last + 1))
        return Begun(turn=tip.last + 1, entries=placed.entries)

    def _run(self, scope: Scope, here: Place, tip: Tip, parent: int, begin: Begin) -> Begun:
        number = tip.last + 1
        placed = self._put(here, tip, parent, number, TurnChange(state=TurnState.RUNNING), begin)
        self.db.execute(
            "INSERT INTO turn VALUES (?, ?, ?, 'running', ?, ?, 1, 0)",
            (*here[:2], number, begin.owner, self._until(begin.lease_for)),
        )
        return Begun(turn=number, entries=placed.entries, lease=_lease(scope, here, number, begin.owner, 1))

    def _put(
        self, here: Place, tip: Tip, parent: int, number: int, change: TurnChange, said: Begin | TurnChange
    ) -> Placed:
        """Store the message of a turn and that it runs; without a message, what it answers becomes the head."""
        if said.message is None:
            return self.log.put(here, tip._replace(head=parent), [change], parent, number)
        bodies: list[Body] = [said.message, change]
        return self.log.put(here, tip, bodies, parent, number)

    def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> Begun | None:
        """Start the oldest queued turn if no other is open before it."""
        here, tip = self.log.end(scope, conversation)
        turns = self.reader.turns(scope, here)
        if not turns or any(turn.state is not TurnState.QUEUED for turn in turns):
            return None
        number = turns[0].number
        queued = self.reader.entry(here, number).body
        if not isinstance(queued, TurnChange):
            raise StoreCorrupt(f"Entry {number} opened a queued turn, but does not say so.")
        parent = tip.head if queued.parent is None else queued.parent
        placed = self._put(here, tip, parent, number, TurnChange(state=TurnState.RUNNING), queued)
        self.db.execute(
            f"UPDATE turn SET state = 'running', owner = ?, until = ?, fence = 1 {_THIS}",
            (owner, self._until(lease_for), *here[:2], number),
        )
        return Begun(turn=number, entries=placed.entries, lease=_lease(scope, here, number, owner, 1))

    def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        """Take up a turn as it was seen."""
        here, tip = self._end(turn)
        self.db.execute(
            f"UPDATE turn SET state = 'running', owner = ?, until = ?, fence = fence + 1, taken = taken + 1 {_THIS} "
            "AND fence = ? AND state = ? AND state <> 'queued'",
            (owner, self._until(lease_for), *here[:2], turn.number, turn.fence, turn.state),
        )
        if not self.db.changes():
            raise LeaseLost
        self.log.put(here, tip, [TurnChange(state=TurnState.RUNNING, detail="taken up")], tip.head, turn.number)
        return _lease(turn.scope, here, turn.number, owner, turn.fence + 1)

    def extend(self, lease: Lease, lease_for: timedelta) -> None:
        """Keep a lease for longer."""
        here, _ = self._end(lease)
        self.log.check_lease(here, lease)
        self.db.execute(f"UPDATE turn SET until = ? {_THIS}", (self._until(lease_for), *here[:2], lease.turn))

    def write(self, lease: Lease, message: str, offset: int, text: str, max_bytes: int) -> None:
        """Add text to the message being written."""
        here, _ = self._end(lease)
        self.log.check_lease(here, lease)
        open_draft = self.db.value(f"SELECT message FROM draft {_HERE}", here[:2])
        last = self.db.row(f'SELECT "end", bytes FROM chunk {_HERE} ORDER BY "offset" DESC LIMIT 1', here[:2])
        end, size = last or (0, 0)
        if offset != end or (open_draft or message) != message:
            raise DraftMismatch
        if open_draft is None:
            self.db.execute(
                "INSERT INTO draft VALUES (?, ?, ?, ?, ?)",
                (*here[:2], lease.turn, message, microseconds(self.log.clock())),
            )
        size += len(text.encode())
        if size > max_bytes:
            raise ContentTooLarge(f"An entry may hold at most {max_bytes} bytes.")
        self.db.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?)", (*here[:2], offset, end + len(text), size, text))

    def _end(self, held: Lease | Turn) -> tuple[Place, Tip]:
        """Return where the turn is; when the conversation is gone, so is the lease."""
        try:
            return self.log.end(held.scope, held.conversation)
        except ConversationNotFound:
            raise LeaseLost from None

    def _until(self, lease_for: timedelta) -> int:
        now: datetime = self.log.clock()
        return microseconds(now + lease_for)


def _lease(scope: Scope, here: Place, number: int, owner: str, fence: int) -> Lease:
    return Lease(scope=scope, conversation=here.id, turn=number, owner=owner, fence=fence)
