"""Administration: the conversations and the users of a whole tenant."""

import pytest

from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound, InvalidCursor, InvalidId
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, new, say
from threadkeep.testing.stores import OpenAnother


async def _owned(store: Store, tenant: str, limit: int = 2) -> list[tuple[str, str]]:
    """Return user and id of a tenant's conversations in the order of the list, read page by page."""
    found: list[tuple[str, str]] = []
    after = None
    while True:
        page = await store.list(tenant, limit=limit, after=after)
        assert len(page.items) <= limit
        found += [(conversation.scope.user, conversation.id) for conversation in page.items]
        after = page.next
        if after is None:
            return found


@pytest.mark.asyncio
class TestAdministration:
    async def test_a_tenant_that_stored_nothing_has_no_users(self, store: Store) -> None:
        page = await store.list("nobody")
        assert (page.items, page.next) == ((), None)
        assert await store.operations.users("nobody") == ()

    async def test_the_list_has_all_users_of_the_tenant_and_begins_with_the_newest_entry(
        self, store: Store, clock: FakeClock
    ) -> None:
        for scope, name in ((ADA, "a"), (BOB, "b"), (EVE, "e"), (ADA, "c"), (BOB, "d")):
            clock.advance(1)
            await new(store, scope, "hello", name=name)
        newest_first = [("bob", "d"), ("ada", "c"), ("bob", "b"), ("ada", "a")]
        assert await _owned(store, "acme") == newest_first
        assert await _owned(store, "umbrella") == [("ada", "e")]
        clock.advance(1)
        await say(store, "b", "again", scope=BOB)
        for limit in (1, 2, 3, 4, 5):
            assert await _owned(store, "acme", limit) == [("bob", "b"), ("bob", "d"), ("ada", "c"), ("ada", "a")]

    async def test_a_listed_conversation_is_what_its_owner_gets(self, store: Store) -> None:
        for scope in (ADA, BOB):
            await new(store, scope, "hello", "hi")
        for conversation in (await store.list("acme")).items:
            assert conversation.scope.tenant == "acme"
            assert conversation == await store.get(conversation.scope, conversation.id)

    async def test_the_list_has_each_conversation_once_when_all_are_from_the_same_moment(self, store: Store) -> None:
        for name in ("a", "b", "c", "d", "e"):
            await new(store, ADA if name < "c" else BOB, name=name)
        assert sorted(name for _, name in await _owned(store, "acme")) == ["a", "b", "c", "d", "e"]

    async def test_a_cursor_is_good_for_the_list_of_its_tenant_only(self, store: Store) -> None:
        for scope in (ADA, EVE):
            for _ in range(3):
                await new(store, scope)
        cursor, listed = (await store.list("acme", limit=1)).next, (await store.list(ADA, limit=1)).next
        assert cursor is not None
        for tenant, forged in (("umbrella", cursor), ("acme", listed), ("acme", cursor[:-1]), ("acme", "")):
            with pytest.raises(InvalidCursor):
                await store.list(tenant, after=forged)
        with pytest.raises(InvalidCursor):
            await store.list(ADA, after=cursor)

    async def test_users_are_those_with_a_conversation_by_name(self, store: Store) -> None:
        names = ("zoe", "bob", "Zed", "ada", "al-2", "al.1", "al_3")
        for name in names:
            await new(store, Scope(tenant="acme", user=name))
        await new(store, EVE)
        assert await store.operations.users("acme") == tuple(sorted(names))
        assert await store.operations.users("umbrella") == ("ada",)

    async def test_a_user_whose_conversations_were_all_deleted_is_named_no_more(self, store: Store) -> None:
        first, second = await new(store, ADA), await new(store, ADA)
        await new(store, BOB)
        await store.delete(ADA, first)
        assert await store.operations.users("acme") == ("ada", "bob")
        await store.delete(ADA, second)
        assert await store.operations.users("acme") == ("bob",)
        await store.restore(ADA, second)
        assert await store.operations.users("acme") == ("ada", "bob")

    async def test_a_conversation_has_an_owner_within_its_tenant(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        await new(store, BOB, "hello", name="b")
        await new(store, EVE, "hello", name="e")
        assert (await store.operations.owner("acme", "b"), await other.operations.owner("umbrella", "e")) == (BOB, EVE)
        for tenant, name in (("acme", "e"), ("umbrella", "b"), ("nobody", "b"), ("acme", "missing")):
            with pytest.raises(ConversationNotFound):
                await store.operations.owner(tenant, name)
        await store.delete(BOB, "b")
        with pytest.raises(ConversationNotFound):
            await other.operations.owner("acme", "b")
        with pytest.raises(InvalidId):
            await store.operations.owner("acme", "../b")
        await other.close()

    async def test_every_tenant_with_a_conversation_is_named(self, store: Store) -> None:
        await new(store, EVE)
        await new(store, ADA)
        tenants = await store.operations.tenants()
        assert {"acme", "umbrella"} <= set(tenants)
        assert list(tenants) == sorted(tenants)

    async def test_what_can_be_no_tenant_is_refused(self, store: Store) -> None:
        for tenant in ("", "..", "a/b", "a b", "a\x00"):
            with pytest.raises(InvalidId):
                await store.list(tenant)
            with pytest.raises(InvalidId):
                await store.operations.users(tenant)
