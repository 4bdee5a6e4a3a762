"""The database as the rest of this folder uses it: calls, the keys of scopes, and refusals as errors."""

from typing import Any

import asyncpg

from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound
from threadkeep.store.codec import encode_id
from threadkeep.store.postgres.pool import Pool
from threadkeep.store.postgres.rows import Place, Translator, refusal

REMEMBERED = 10_000


class Database:
    """A pool, and the keys of tenants, users and conversations."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.translator = Translator()
        self._scopes: dict[tuple[str, str], tuple[int, int]] = {}
        self._places: dict[tuple[str, str, str], Place] = {}

    async def scope(self, scope: Scope) -> tuple[int, int] | None:
        """Return the keys of tenant and user, if they ever stored something. They never change."""
        known = self._scopes.get((scope.tenant, scope.user))
        if known is None:
            row = await self.pool.one("scope", scope.tenant, scope.user)
            known = None if row["owner"] is None else self._remember(scope, row["tenant"], row["owner"])
        return known

    async def enter(self, scope: Scope) -> tuple[int, int]:
        """Return the keys of tenant and user, made when they first store something."""
        known = await self.scope(scope)
        if known is None:
            row = await self.pool.one("enter", scope.tenant, scope.user)
            known = self._remember(scope, row["tenant"], row["owner"])
        return known

    def _remember(self, scope: Scope, tenant: int, owner: int) -> tuple[int, int]:
        if len(self._scopes) >= REMEMBERED:
            self._scopes.clear()
        keys = self._scopes[scope.tenant, scope.user] = (tenant, owner)
        return keys

    async def place(self, scope: Scope, conversation: str) -> Place:
        """Return where a conversation would be; whether it exists is seen by whoever looks there."""
        names = (scope.tenant, scope.user, conversation)
        place = self._places.get(names)
        if place is None:
            check_id(conversation)
            keys = await self.scope(scope)
            if keys is None:
                raise ConversationNotFound
            if len(self._places) >= REMEMBERED:
                self._places.clear()
            place = self._places[names] = Place(*keys, encode_id(conversation))
        return place

    async def ask(self, verb: str, *arguments: Any) -> asyncpg.Record:
        """Call a function that returns one row, and raise what it refuses."""
        row = (await self.pool.call(verb, *arguments))[0]
        if row["refused"] is not None:
            raise refusal(row["refused"], row.get("number"))
        return row

    async def lines(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        """Call a function that returns rows, and raise what it refuses."""
        rows = await self.pool.call(verb, *arguments)
        if rows and rows[0]["refused"] is not None:
            raise refusal(rows[0]["refused"])
        return rows
