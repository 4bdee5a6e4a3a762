"""Deleting: hiding a conversation, bringing it back, removing it for good in steps."""

from datetime import timedelta

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.scope import Scope
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.pool import FromNow
from threadkeep.store.postgres.rows import to_conversation
from threadkeep.store.postgres.writing import Log

STEP = 5000
"""How many entries one step of a purge removes."""


class Deletion:
    """The conversations of a database, to be deleted."""

    def __init__(self, database: Database, log: Log) -> None:
        self._db = database
        self._log = log

    async def hide(self, scope: Scope, conversation: str) -> None:
        """Make a conversation unreachable."""
        place = await self._db.place(scope, conversation)
        self._log.forget(place)
        await self._db.ask("hide", *place, FromNow())

    async def restore(self, scope: Scope, conversation: str) -> Conversation:
        """Bring back the one that was hidden last."""
        place = await self._db.place(scope, conversation)
        self._log.forget(place)
        row = await self._db.ask("restore", *place)
        return to_conversation(scope, row["now"])

    async def purge(self, kept_for: timedelta) -> int:
        """Remove what was hidden that long ago or longer; return how many conversations this call removed."""
        removed = 0
        while (found := await self._db.pool.one("next_removal", FromNow.of(-kept_for)))["conversation"] is not None:
            removed += await self._remove(found["tenant"], found["conversation"])
        return removed

    async def _remove(self, tenant: int, conversation: int) -> bool:
        first = 0
        while (step := await self._db.pool.one("purge", tenant, conversation, first, first + STEP))["is_left"]:
            first += STEP
        return bool(step["is_removed"])
