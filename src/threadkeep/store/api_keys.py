"""Making and revoking API keys, for the command line and for administrators: a change and its audit record are one
commit, and the secret of a key is not stored."""

from datetime import timedelta

from threadkeep.conversation.api_key import ApiKey, KeyRole, digest_of, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import KeyNotFound
from threadkeep.store.audit import USER, AuditLog, Recorded, act_now
from threadkeep.store.keyring import KeyRing

HINT = 9


async def create_key(
    keyring: KeyRing, audit: AuditLog, scope: Scope, role: KeyRole, lasts: timedelta | None
) -> tuple[str, ApiKey]:
    """Add a key that is good for so long (none: until it is revoked); return its secret, which is not kept, and it."""
    secret, now = new_secret(), utc_now()
    key = ApiKey(
        id=new_id(),
        digest=digest_of(secret),
        hint=secret[:HINT],
        scope=scope,
        role=role,
        created_at=now,
        expires_at=None if lasts is None else now + lasts,
    )
    await keyring.add(key, _recorded(audit, "key.created", key, role=role.value))
    return secret, key


async def revoke_key(keyring: KeyRing, audit: AuditLog, id: str, tenant: str | None = None) -> ApiKey:
    """Revoke a key of a tenant (none: of any); `KeyNotFound` if there is none."""
    for key in await keyring.all(tenant):
        if key.id == id:
            return key if key.revoked_at else await keyring.revoke(id, utc_now(), _recorded(audit, "key.revoked", key))
    raise KeyNotFound


def _recorded(audit: AuditLog, action: str, key: ApiKey, **details: str) -> Recorded:
    act = act_now(utc_now, action, f"key:{key.id}", user=f"{USER}{key.scope.user}", **details)
    return audit.recorded(key.scope.tenant, act)
