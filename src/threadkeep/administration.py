"""What administrators of a tenant and operators of a store do, in one object: `Conversations.admin`.

It asks nobody who they are: HTTP routes check the role, and whoever runs a command has the store anyway.
"""

import hmac
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from threadkeep.conversation.api_key import ApiKey, KeyRole, digest_of, new_secret
from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import checked
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import InvalidValue, KeyNotFound
from threadkeep.retention.erasure import Eraser, Erasure
from threadkeep.retention.holds import Holds
from threadkeep.retention.rules import Retention
from threadkeep.retention.run import RetentionRunner
from threadkeep.store.audit import USER, Audited, Head, Recorded, Verified, Wanted, act_now, login_act, signature
from threadkeep.store.file_tables import FileUsage
from threadkeep.store.values import ConversationPage, ListFilter
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.moving import RECORDS, copy, has_data
from threadkeep.turn.runner import TurnRunner

HINT = 9
"""How many characters of a key's secret are kept, so that its holder recognises it."""


class Administration:
    """`tenants` and `users` tell who has conversations, `statistics` how much, `usage` what models were used for.
    `importer` makes an `Importer` for a user, or for those whom a file names. `keyring` has the API keys, `audit` who
    did what, `holds` the legal holds of tenants; `retention` runs the rules of tenants, or those of this process where
    a tenant has none; `erasure` erases people.
    """

    def __init__(self, runner: TurnRunner, retention: Retention, erase: Iterable[Eraser]) -> None:
        deps = runner.deps
        self._runner = runner
        self._store = deps.store
        self._files = deps.attachments
        self._clock = deps.clock
        self._ids = deps.ids
        self.tenants = deps.store.operations.tenants
        self.users = deps.store.operations.users
        self.usage = deps.store.operations.usage
        self.statistics = deps.store.operations.statistics
        self.importer = partial(Importer, deps.store, attachments=deps.attachments)
        self.keyring = deps.store.keyring
        self.audit = deps.store.audit
        self.holds = Holds(deps.store, deps.clock, deps.ids)
        self.retention = RetentionRunner(deps.store, retention, deps.clock, deps.ids)
        self.erasure = Erasure(deps.store, deps.attachments, deps.clock, runner.stop_here, list(erase))

    # What there is

    @checked
    async def list(self, tenant: str, *, limit: int = 20, after: str | None = None, **filters: Any) -> ConversationPage:
        """Return a page of the conversations of all users of a tenant; `filters` as for `Conversations.list`."""
        return await self._store.list(tenant, ListFilter(**filters), limit=limit, after=after)

    async def file_usage(self, tenant: str, *, user: str | None = None) -> FileUsage:
        """Return how many files a tenant, or one user of it, has, and how many bytes they take."""
        return FileUsage(0, 0) if self._files is None else await self._files.usage(tenant, user)

    @checked
    async def conversation(
        self, tenant: str, conversation: str, *, act: str | None = "conversation.read"
    ) -> ConversationHandle:
        """Return a handle on a conversation of any user of the tenant. What it is for is in the audit log, as this act,
        when this returns."""
        scope = await self._store.operations.owner(tenant, conversation)
        if act is not None:
            await self.record(tenant, act, f"conversation:{conversation}")
        return ConversationHandle(self._runner, scope, conversation)

    # Who did what

    async def record(self, tenant: str, action: str, concerned: str, **details: Any) -> None:
        """Add an act of the present caller to the audit log (see `store/audit.py`): ids, counts and codes only."""
        await self.audit.append(tenant, act_now(self._clock, action, concerned, **details))

    async def newest_acts(self, tenant: str, *, limit: int, **wanted: Any) -> tuple[Audited, ...]:
        """Return records of the audit log, the newest first; `wanted` are the fields of `Wanted`."""
        return await self.audit.read(tenant, Wanted(newest_first=True, **wanted), limit=limit)

    async def signed_head(self, tenant: str, key: bytes | None = None) -> dict[str, Any]:
        """Return the newest record of the audit log, signed with a key (none: the store's), to be kept elsewhere."""
        head = await self.audit.head(tenant)
        said = {"tenant": tenant, **head.model_dump(), "at": moment_text(self._clock())}
        return {**said, "signature": signature(key or await self.keyring.secret(), said)}

    async def verify(self, tenant: str, signed: Mapping[str, Any] | None = None, key: bytes | None = None) -> Verified:
        """Follow the chain of the audit log, which must contain the head that was `signed` with the key."""
        if signed is None:
            return await self.audit.verify(tenant)
        try:
            said = dict(signed)
            claimed = str(said.pop("signature"))
            head = Head(seq=said["seq"], hash=said["hash"])
        except (ValueError, KeyError, TypeError):
            raise InvalidValue("That is no head that `threadkeep audit head` wrote.") from None
        if said.get("tenant") != tenant:
            raise InvalidValue("That is the head of another tenant.")
        if not hmac.compare_digest(signature(key or await self.keyring.secret(), said), claimed):
            raise InvalidValue("That head was not signed with this key, or was changed.")
        return await self.audit.verify(tenant, head)

    # Who may come in: a change and its audit record are one commit, and the secret of a key is not stored

    async def create_key(self, scope: Scope, role: KeyRole, lasts: timedelta | None = None) -> tuple[str, ApiKey]:
        """Add a key that is good for so long (none: until it is revoked); return its secret, which is not kept, and
        it."""
        secret, now = new_secret(), self._clock()
        key = ApiKey(
            id=self._ids(),
            digest=digest_of(secret),
            hint=secret[:HINT],
            scope=scope,
            role=role,
            created_at=now,
            expires_at=None if lasts is None else now + lasts,
        )
        await self.keyring.add(key, self._recorded("key.created", key, role=role.value))
        return secret, key

    async def revoke_key(self, id: str, tenant: str | None = None) -> ApiKey:
        """Revoke a key of a tenant (none: of any); `KeyNotFound` if there is none."""
        for key in await self.keyring.all(tenant):
            if key.id == id:
                known = self._recorded("key.revoked", key)
                return key if key.revoked_at else await self.keyring.revoke(id, self._clock(), known)
        raise KeyNotFound

    def _recorded(self, action: str, key: ApiKey, **details: str) -> Recorded:
        act = act_now(self._clock, action, f"key:{key.id}", user=f"{USER}{key.scope.user}", **details)
        return self.audit.recorded(key.scope.tenant, act)

    async def end_login(self, id: str) -> None:
        """Sign a browser out; `KeyNotFound` if none is signed in under this id."""
        ended = [login_act(login, "login.ended") for login in await self.keyring.logins() if login.id == id]
        await self.keyring.end_login(id, *[self.audit.recorded(*act) for act in ended])

    # In bulk

    async def copy_to(
        self, target: "Administration", selection: Selection, progress: Callable[[int], None] = lambda done: None
    ) -> Report:
        """Copy a selection to another store, and with whole tenants their keys and audit logs; turns stay open."""
        return await copy(self._store, target._store, selection, progress, (self._files, target._files))

    async def restore_to(self, target: "Administration", records: Collection[str] = ()) -> Report:
        """Copy everything of a backup to another store, as history. Keys and audit logs go into an empty store; into
        another one only those `records` that are named."""
        wanted = records if await has_data(target._store, self._store) else RECORDS
        files = (self._files, target._files)
        return await copy(
            self._store, target._store, Selection(), lambda done: None, files, is_move=False, records=wanted
        )
