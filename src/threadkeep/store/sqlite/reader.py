"""Reading from SQLite: finding a conversation's log, and what concerns all users or tenants.

One `Reader` belongs to one connection and one thread. The writer has one too, because it reads before it writes.
"""

import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Turn
from threadkeep.errors import ConversationNotFound, StoreCorrupt
from threadkeep.store.codec import Packer, decode_id, encode_id, microseconds
from threadkeep.store.record import KeyPlace
from threadkeep.store.sqlite.log import ConversationKey, SqliteLog, to_turn
from threadkeep.store.sqlite.schema import checksum
from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep.store.values import has_metadata

_MOST_SCOPES = 10_000


def _has_metadata(*texts: Any) -> bool:
    """Whether the metadata among what may be large have the values that are wanted, both as JSON."""
    large, wanted = (json.loads(text or "{}") for text in texts)
    return has_metadata(large.get("metadata", {}), wanted)


class Reader:
    """Reads through one connection."""

    def __init__(self, connection: SqliteDatabase) -> None:
        self.db = connection
        self.packer = Packer()
        connection.create_scalar_function("has_metadata", _has_metadata, 2, deterministic=True)
        self._scopes: dict[tuple[str, str], tuple[int, int]] = {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("COMMIT")

    def forget(self) -> None:
        """Remember no keys any more: what was read may have been undone."""
        self._scopes.clear()

    def tenant_name(self, scope: Scope) -> str:
        """Return the name under which a user's tenant is kept."""
        return scope.tenant

    def scope(self, scope: Scope) -> tuple[int, int] | None:
        """Return the keys of tenant and user, if they ever stored something."""
        names = (self.tenant_name(scope), scope.user)
        known = self._scopes.get(names)
        if known is None:
            known = self.db.row(
                "SELECT u.tenant, u.key FROM user u JOIN tenant t ON t.key = u.tenant WHERE t.name = ? AND u.name = ?",
                names,
            )
            if known is not None:
                if len(self._scopes) > _MOST_SCOPES:
                    self._scopes.clear()
                self._scopes[names] = known
        return known

    def pseudonym(self, tenant: int | None, user: str) -> str:
        """Return what stands for the name of whom nothing is stored any more; no id begins with a tilde."""
        secret = bytes(self.db.value("SELECT value FROM secret"))
        return "~" + hmac.digest(secret, f"{tenant} {user}".encode(), "sha256").hex()

    def log(self, scope: Scope, conversation: str) -> SqliteLog:
        check_id(conversation)
        keys = self.scope(scope)
        if keys is not None:
            found = self.db.row(
                "SELECT key, version, entries, facts, created_at FROM conversation "
                "WHERE tenant = ? AND id = ? AND user = ?",
                (keys[0], encode_id(conversation), keys[1]),
            )
            if found is not None:
                return self.log_at(scope, ConversationKey(keys[0], found[0], conversation, *found[1:]))
        raise ConversationNotFound

    def log_at(self, scope: Scope, key: ConversationKey) -> SqliteLog:
        return SqliteLog(self.db, self.packer, scope, key)

    def replay(self, tenant: int, name: bytes) -> tuple[ConversationKey, KeyPlace] | None:
        """Return what an idempotency key made, and in which conversation."""
        found = self.db.row(
            "SELECT c.id, c.version, k.digest, k.conversation, k.first, k.last, k.crc FROM key k "
            "JOIN conversation c ON c.key = k.conversation WHERE k.tenant = ? AND k.name = ? AND c.id IS NOT NULL",
            (tenant, name),
        )
        if found is None:
            return None
        id, version, digest, key, first, last, crc = found
        if crc != checksum(tenant, name, digest, key, first, last):
            raise StoreCorrupt("An idempotency key is damaged.")
        made = KeyPlace(name=name.hex(), digest=digest.hex(), first=first, last=last)
        return ConversationKey(tenant, key, decode_id(id), version), made

    # Across conversations

    def owner_keys(self, tenant: str, user: str | None) -> tuple[int, int | None] | None:
        """Return the keys of a tenant and, where one is named, of a user of it; none if there is no such one."""
        if user is not None:
            return self.scope(Scope(tenant=tenant, user=user))
        key = self.db.value("SELECT key FROM tenant WHERE name = ?", (tenant,))
        return None if key is None else (key, None)

    def owner(self, tenant: str, conversation: str) -> Scope:
        """Return whose a conversation of a tenant is."""
        user = self.db.value(
            "SELECT u.name FROM conversation c JOIN tenant t ON t.key = c.tenant JOIN user u ON u.key = c.user "
            "WHERE t.name = ? AND c.id = ?",
            (tenant, encode_id(check_id(conversation))),
        )
        if user is None:
            raise ConversationNotFound
        return Scope(tenant=tenant, user=user)

    def users(self, tenant: str) -> tuple[str, ...]:
        """Return the names of those who have a conversation."""
        rows = self.db.rows(
            "SELECT u.name FROM user u WHERE u.tenant = (SELECT key FROM tenant WHERE name = ?) AND EXISTS ("
            "SELECT 1 FROM conversation c WHERE c.tenant = u.tenant AND c.user = u.key AND c.id IS NOT NULL) "
            "ORDER BY u.name",
            (tenant,),
        )
        return tuple(name for (name,) in rows)

    def expired(self, now: datetime, latest: datetime, limit: int) -> tuple[Turn, ...]:
        """Return turns of all tenants that nobody sees to; no lease is good that ends after `latest`."""
        rows = self.db.execute(
            "SELECT t.name, u.name, c.id, n.number, n.state, n.owner, n.until, n.fence FROM turn n "
            "JOIN conversation c ON c.key = n.conversation "
            "JOIN user u ON u.key = c.user JOIN tenant t ON t.key = c.tenant "
            "WHERE c.id IS NOT NULL AND (n.state = 'running' AND (n.until < ? OR n.until > ?) "
            "OR n.state = 'queued' AND NOT EXISTS ("
            "SELECT 1 FROM turn o WHERE o.tenant = n.tenant AND o.conversation = n.conversation "
            "AND (o.state <> 'queued' OR o.number < n.number))) ORDER BY n.until IS NULL, n.until LIMIT ?",
            (microseconds(now), microseconds(latest), limit),
        )
        return tuple(to_turn(Scope(tenant=row[0], user=row[1]), decode_id(row[2]), row[3:]) for row in rows)
