"""The ends of logs as the rules want them: read from the database, remembered as long as nobody else is known to write.

What is remembered may be old: then committing fails, and a refusal is not believed before the end was read again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import ConversationNotFound, KeyReused, StoreCorrupt
from threadkeep.store.codec import TURN, Row, decode, decode_id
from threadkeep.store.postgres.database import REMEMBERED
from threadkeep.store.postgres.jsonb import load_text, restore
from threadkeep.store.postgres.pool import Pool
from threadkeep.store.postgres.rows import Columns, Place
from threadkeep.store.record import DraftEnd, KeyUse, OpenTurn, Replay, Tip


class Asked(NamedTuple):
    """What is to be read beside the end: facts about an entry, a queued turn's entry, what a key made."""

    parent: int | None = None
    queued: int | None = None
    key: str | None = None


NOTHING = Asked()


class MissingError(Exception):
    """A decision asked for something that was not read."""

    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self.asked = asked


class PostgresEnd(NamedTuple):
    """The end of a log. `pieces` counts the pieces of the message being written."""

    scope: Scope
    id: str
    conversation: int
    version: int
    tip: Tip
    total: int
    messages: int
    open_turns: Mapping[int, OpenTurn]
    draft: DraftEnd | None
    pieces: int
    asked: Asked = NOTHING
    facts: Columns | None = None

    def replay(self, key: KeyUse) -> Replay | None:
        """Return what a key made; one that was not looked up is taken for new, and found when committing fails."""
        if self.facts is None or self.asked.key != key.name or self.facts["made_in"] is None:
            return None
        if self.facts["made_in"] != self.conversation:
            raise KeyReused
        return Replay(self.facts["digest"].hex(), self.facts["first_made"], self.facts["last_made"])

    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""
        if seq == self.tip.head or not 0 < seq <= self.tip.last:
            return seq == self.tip.head
        return bool(self._fact("is_on_branch", self.asked._replace(parent=seq)))

    def follower(self, seq: int) -> int:
        """Return the entry that continued another in its own run, or 0."""
        return int(self._fact("follower", self.asked._replace(parent=seq)))

    def queued(self, turn: int) -> TurnChange:
        """Return the entry that tells of a queued turn."""
        body = decode(Row(TURN, None, None, "", load_text(self._fact("queued", self.asked._replace(queued=turn)))))
        if not isinstance(body, TurnChange):
            raise StoreCorrupt(f"Entry {turn} opened a queued turn, but does not say so.")
        return body

    def _fact(self, name: str, asked: Asked) -> Any:
        if self.facts is None or self.asked != asked:
            raise MissingError(asked)
        return self.facts[name]


class Ends:
    """Reads ends, and remembers those that were written last."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._ends: dict[Place, PostgresEnd] = {}

    def get(self, where: Place) -> PostgresEnd | None:
        """Return the end as it was left."""
        return self._ends.get(where)

    def set(self, where: Place, end: PostgresEnd) -> None:
        """Remember where a log was left."""
        if len(self._ends) >= REMEMBERED:
            self._ends.clear()
        self._ends[where] = end if end.facts is None else end._replace(asked=NOTHING, facts=None)

    def forget(self, where: Place) -> None:
        """Forget what has changed."""
        self._ends.pop(where, None)

    async def read(self, scope: Scope, conversation: str, where: Place, asked: Asked) -> PostgresEnd:
        """Return the end as it is now."""
        key = bytes.fromhex(asked.key) if asked.key else None
        rows = await self._pool.call("end_of", *where, asked.parent, asked.queued, key)
        if not rows:
            raise ConversationNotFound
        row = rows[0]
        pieces = row["pieces"] or 0
        draft = DraftEnd(decode_id(row["message"]), row["turn"], row["characters"], row["bytes"]) if pieces else None
        return PostgresEnd(
            scope=scope,
            id=conversation,
            conversation=row["conversation"],
            version=row["version"],
            tip=Tip(row["last"], row["head"], row["newest"]),
            total=row["total"],
            messages=row["messages"],
            open_turns={turn["number"]: to_open_turn(turn) for turn in row["turns"]},
            draft=draft,
            pieces=pieces,
            asked=asked,
            facts=row,
        )


def to_open_turn(row: Columns) -> OpenTurn:
    """Return an open turn as the rules know it."""
    return OpenTurn.trusted(
        number=row["number"],
        state=TurnState(row["state"]),
        owner=None if row["owner"] is None else restore(row["owner"]),
        fence=row["fence"],
        taken=row["taken"],
        until=row["until"],
    )
