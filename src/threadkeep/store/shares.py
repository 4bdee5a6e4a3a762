"""Making, finding and removing share links. Each is an update of the conversation, so that a link and its audit record
are one commit, and a link ends with its conversation. `conversation/share.py` says what a link is.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from threadkeep.conversation.api_key import digest_of
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.share import MOST_SHARES, Share, new_token, place_of, share_of
from threadkeep.errors import ConversationNotFound, InvalidValue, ShareNotFound, StaleVersion, StoreUnavailable
from threadkeep.store.base import Store

Place = tuple[Scope, str]
"""A conversation, and whose it is."""


async def add_share(
    store: Store, clock: Clock, place: Place, head: int | None, lasts: timedelta | None
) -> tuple[str, Share]:
    """Make a link to a branch up to an entry (none: the head), good for so long; return its token and it."""
    scope, conversation = place
    shared = await store.get(*place)
    end = head or shared.head
    if end is None:
        raise InvalidValue("There is nothing to share in this conversation yet.")
    await store.newest(*place, limit=1, head=end)  # or it is not found
    token, now = new_token(scope.tenant, conversation), clock()
    expires = None if lasts is None else now + lasts
    share = Share(
        id=new_id(), digest=digest_of(token), head=end, title=shared.title, created_at=now, expires_at=expires
    )
    await _change(store, clock, place, lambda shares: (*shares, share))
    return token, share


async def good_shares(store: Store, clock: Clock, place: Place) -> tuple[Share, ...]:
    """Return the links of a conversation that work, oldest first."""
    now = clock()
    return tuple(share for share in (await _read(store, place)).shares if share.is_good(now))


async def end_shares(store: Store, clock: Clock, place: Place, id: str | None) -> None:
    """Take a link back, or (none) all; `ShareNotFound` if there is no such link."""

    def without(shares: tuple[Share, ...]) -> tuple[Share, ...]:
        if id is not None and all(share.id != id for share in shares):
            raise ShareNotFound
        return tuple(share for share in shares if id not in (None, share.id))

    await _change(store, clock, place, without)


async def find_share(store: Store, clock: Clock, token: str) -> tuple[Conversation, Share]:
    """Return the link that a token belongs to, and its conversation; `ShareNotFound` whatever the reason."""
    tenant, conversation = place_of(token)
    try:
        found = await _read(store, (await store.operations.owner(tenant, conversation), conversation))
    except ConversationNotFound:
        raise ShareNotFound from None
    return found, share_of(token, found.shares, clock())


async def _read(store: Store, place: Place) -> Conversation:
    found = await store.get(*place)
    if found.incomplete:
        raise StoreUnavailable("The links are in the database, which is away.")
    return found


async def _change(
    store: Store, clock: Clock, place: Place, change: Callable[[tuple[Share, ...]], tuple[Share, ...]]
) -> None:
    """Change the links of a conversation; those that have ended are forgotten."""
    while True:
        found, now = await _read(store, place), clock()
        shares = change(tuple(share for share in found.shares if share.is_good(now)))
        if len(shares) > MOST_SHARES:
            raise InvalidValue(f"A conversation can have {MOST_SHARES} links; take one back first.")
        if shares == found.shares:
            return
        with suppress(StaleVersion):
            await store.update(*place, Update(shares=shares), expected_version=found.version)
            return
