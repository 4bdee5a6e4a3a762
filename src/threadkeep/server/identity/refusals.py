"""Refusals in the audit log. A stranger must not be able to fill it: an address, or a user, is recorded once a minute,
with the number of refusals since the last record; of many addresses in a minute, the rest together."""

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from fastapi import FastAPI, Request
from starlette.responses import Response

from threadkeep.conversation.api_key import ApiKey, Login
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope
from threadkeep.errors import NotAllowed, StoreError
from threadkeep.server.identity.guards import IDENTITY, Identity
from threadkeep.server.problems import problem_of
from threadkeep.store.audit import AuditLog, act_now

logger = logging.getLogger(__name__)

_OTHERS = ""
QUIET_SECONDS = 60.0
MOST_WATCHED = 10_000
MOST_RECORDED = 30
"""How many addresses or users are recorded singly in a minute, of a tenant."""


class Refusals:
    """Records refusals, in the tenant concerned or else in that of the operator."""

    def __init__(self, audit: AuditLog, operator_tenant: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.audit = audit
        self._operator_tenant = operator_tenant
        self._clock = clock
        # When each was recorded last, and how often it was refused since.
        self._recorded: OrderedDict[tuple[str, str, str], tuple[float, int]] = OrderedDict()
        # Since when newcomers are counted, and how many there were, by tenant and action.
        self._singly: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    async def refuse(self, address: str, shown: ApiKey | Login | None) -> None:
        """Record an unknown, revoked or expired secret."""
        key, kind = (shown.key, "login") if isinstance(shown, Login) else (shown, "key")
        tenant = key.scope.tenant if key else self._operator_tenant
        await self._note(address, tenant, "access.refused", f"{kind}:{shown.id if shown else 'unknown'}")

    async def deny(self, scope: Scope, route: str) -> None:
        """Record that a known caller asked for something it may not do."""
        await self._note(scope.user, scope.tenant, "access.denied", f"route:{route}")

    async def _note(self, who: str, tenant: str, action: str, concerned: str) -> None:
        told = (who, tenant, action)
        if told not in self._recorded and self._is_full(tenant, action):
            told = (_OTHERS, tenant, action)
        at, count = self._recorded.pop(told, (-math.inf, 0))
        is_due = self._clock() - at >= QUIET_SECONDS
        self._recorded[told] = (self._clock(), 0) if is_due else (at, count + 1)
        if len(self._recorded) > MOST_WATCHED:
            self._recorded.popitem(last=False)
        if is_due:
            try:
                others = {"others": True} if told[0] == _OTHERS else {}
                await self.audit.append(tenant, act_now(utc_now, action, concerned, times=count + 1, **others))
            except StoreError as error:
                # The answer is a refusal either way, which needs no store.
                logger.warning("a refusal could not be put on record: %s", error)

    def _is_full(self, tenant: str, action: str) -> bool:
        """Whether so many were recorded within a minute that one more newcomer is counted with the others."""
        since, count = self._singly.pop((tenant, action), (-math.inf, 0))
        if self._clock() - since >= QUIET_SECONDS:
            since, count = self._clock(), 0
        self._singly[tenant, action] = (since, count + 1)
        if len(self._singly) > MOST_WATCHED:
            self._singly.popitem(last=False)
        return count >= MOST_RECORDED


def record_denials(app: FastAPI, refusals: Refusals) -> None:
    """Record every `NotAllowed` of a known caller."""

    @app.exception_handler(NotAllowed)
    async def denied(request: Request, error: NotAllowed) -> Response:
        identity: Identity | None = request.scope.get(IDENTITY)
        if identity is not None:
            await refusals.deny(identity.scope, request.scope["route"].path)
        return problem_of(error)
