"""What a store should hold, as plain lists and dictionaries: the model that real stores are compared with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from threadkeep.conversation.entry import Body, Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, TurnState
from threadkeep.store.codec import encode


@dataclass
class TurnModel:
    """An open turn."""

    number: int
    state: TurnState
    message: Message | None = None
    parent: int | None = None
    owner: str | None = None
    fence: int = 0
    until: datetime | None = None


@dataclass
class DraftModel:
    """A message that is being written."""

    message: str
    turn: int
    started_at: datetime
    text: str


@dataclass
class ConversationModel:
    """One conversation: every entry in a list, and what is derived from them."""

    scope: Scope
    id: str
    updated_at: datetime
    title: str | None = None
    version: int = 1
    head: int = 0
    entries: list[Entry] = field(default_factory=list)
    turns: dict[int, TurnModel] = field(default_factory=dict)
    draft: DraftModel | None = None
    leases: list[Lease] = field(default_factory=list)

    def next_seq(self) -> int:
        """Return the number of the next entry."""
        return len(self.entries) + 1

    def add(self, bodies: Sequence[Body], parent: int, now: datetime, turn: int | None = None) -> list[Entry]:
        """Put bodies at the end of the log, from `parent` on, and return their entries."""
        added = []
        for body in bodies:
            entry = Entry.model_construct(
                None,
                conversation=self.id,
                seq=self.next_seq(),
                parent=parent or None,
                turn=turn,
                created_at=now,
                body=body,
            )
            self.entries.append(entry)
            added.append(entry)
            if entry.continues_branch:
                self.head = parent = entry.seq
            if isinstance(body, StateChange):
                self.version += 1
        self.updated_at = now
        return added

    def places(self) -> list[int]:
        """Return the numbers of all entries of branches."""
        return [entry.seq for entry in self.entries if entry.continues_branch]

    def path(self, head: int) -> list[Entry]:
        """Return the branch that ends in `head`, oldest first."""
        path = []
        while head:
            path.append(self.entries[head - 1])
            head = path[-1].parent or 0
        return path[::-1]

    def heads(self) -> list[int]:
        """Return the heads of all branches."""
        continued = {entry.parent for entry in self.entries if entry.continues_branch}
        return sorted(({seq for seq in self.places() if seq not in continued} | {self.head}) - {0})

    def state(self, head: int) -> dict[str, object]:
        """Return the values that the changes on a branch add up to."""
        values: dict[str, object] = {}
        for entry in self.path(head):
            if isinstance(entry.body, StateChange):
                kept = {} if entry.body.whole else values
                values = {key: value for key, value in kept.items() if key not in entry.body.unset} | entry.body.set
        return values

    def open_turn(self) -> TurnModel | None:
        """Return the turn that runs or waits."""
        return next((turn for turn in self.turns.values() if turn.state is not TurnState.QUEUED), None)

    def live_lease(self) -> Lease | None:
        """Return the lease that may write."""
        turn = self.open_turn()
        if turn is None or turn.state is not TurnState.RUNNING:
            return None
        return next(lease for lease in self.leases if (lease.turn, lease.fence) == (turn.number, turn.fence))

    def size(self) -> int:
        """Return the bytes of all entries."""
        return sum(encode(entry.body).size for entry in self.entries)
