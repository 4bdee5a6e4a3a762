"""The door of the client: a server's address in, its conversations out."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx

from threadkeep.conversation.scope import Scope
from threadkeep_client.conversations import RemoteConversations
from threadkeep_client.wire import Wire

PATIENCE = 30.0
ANSWERED_WITHIN = 60.0


@asynccontextmanager
async def connect(
    url: str,
    key: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[RemoteConversations]:
    """Open the conversations of a server for an `async with` block, as `threadkeep.open` opens those of a store.

    `key` is an API key or a token of one user; `headers` are sent with every request. A request that fails for a moment
    is repeated for so many seconds of `patience`, and is done once all the same.
    """
    sent = {"Accept": "application/json", **({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=url.rstrip("/"), headers=sent, timeout=ANSWERED_WITHIN, limits=limits, transport=transport
    ) as client:
        wire = Wire(client, patience)
        who = await wire.call("GET", "/v1/me")
        yield RemoteConversations(wire, Scope(tenant=who["tenant"], user=who["user"]))
