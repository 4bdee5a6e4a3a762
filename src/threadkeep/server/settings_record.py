"""Changed settings in the audit log: which ones differ from those of the last start, by name. Their values are kept as
keyed hashes alone, because a setting may be a secret."""

import hmac
import logging

from pydantic import SecretStr

from threadkeep.conversation.scope import LOCAL
from threadkeep.conversations import Conversations
from threadkeep.errors import StoreError
from threadkeep.settings import Settings
from threadkeep.store.audit import Wanted

logger = logging.getLogger(__name__)

CHANGED = "settings.changed"


async def record_settings(conversations: Conversations, settings: Settings) -> None:
    """Record in the operator's tenant which settings have changed since the last record."""
    tenant = settings.operator_tenant or LOCAL.tenant
    try:
        secret = await conversations.admin.keyring.secret()
        hashes = {name: _hash(secret, value) for name, value in settings}
        last = await conversations.admin.audit.read(tenant, Wanted(actions=(CHANGED,), newest_first=True), limit=1)
        before = last[0].act.details["hashes"] if last else {}
        changed = sorted(name for name in hashes if hashes[name] != before.get(name))
        if changed:
            await conversations.admin.record(tenant, CHANGED, "settings:server", changed=changed, hashes=hashes)
    except StoreError as error:
        logger.warning("it could not be put on record which settings were changed: %s", error)


def _hash(secret: bytes, value: object) -> str:
    shown = value.get_secret_value() if isinstance(value, SecretStr) else value
    return hmac.digest(secret, repr(shown).encode(), "sha256").hex()[:16]
