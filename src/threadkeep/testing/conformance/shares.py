"""Share links: kept with their conversation, listed with it, on record, and gone with it."""

from datetime import timedelta

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.share import MOST_SHARES
from threadkeep.errors import ConversationNotFound, EntryNotFound, InvalidValue, ShareNotFound
from threadkeep.store.audit import Wanted
from threadkeep.store.base import Store
from threadkeep.store.shares import add_share, end_shares, find_share, good_shares
from threadkeep.store.values import Import, ListFilter
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, new, say
from threadkeep.testing.stores import OpenAnother


@pytest.mark.asyncio
class TestShares:
    async def test_a_link_leads_to_its_conversation_and_its_entry(
        self, store: Store, clock: FakeClock, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        await say(store, name, "a question", "an answer")
        token, share = await add_share(store, clock, (ADA, name), 1, None)
        await say(store, name, "another question")
        other = await open_another()
        found, same = await find_share(other, clock, token)
        assert (found.scope, found.id, same, same.head) == (ADA, name, share, 1)
        assert token not in repr(await store.get(ADA, name))
        await other.close()

    async def test_links_are_taken_back_one_by_one_or_all_at_once(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await say(store, name, "a question")
        made = [await add_share(store, clock, (ADA, name), None, None) for _ in range(3)]
        assert await good_shares(store, clock, (ADA, name)) == tuple(share for _, share in made)
        await end_shares(store, clock, (ADA, name), made[1][1].id)
        async with refused(store, ShareNotFound):
            await find_share(store, clock, made[1][0])
        async with refused(store, ShareNotFound):
            await end_shares(store, clock, (ADA, name), made[1][1].id)
        assert (await find_share(store, clock, made[0][0]))[1] == made[0][1]
        await end_shares(store, clock, (ADA, name), None)
        for token, _ in made:
            async with refused(store, ShareNotFound):
                await find_share(store, clock, token)

    async def test_a_link_ends_at_its_end_and_makes_room(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await say(store, name, "a question")
        made = [await add_share(store, clock, (ADA, name), None, timedelta(hours=1)) for _ in range(MOST_SHARES)]
        async with refused(store, InvalidValue):
            await add_share(store, clock, (ADA, name), None, None)
        clock.advance(seconds=3600)
        async with refused(store, ShareNotFound):
            await find_share(store, clock, made[-1][0])
        assert await good_shares(store, clock, (ADA, name)) == ()
        _, share = await add_share(store, clock, (ADA, name), None, None)
        assert (await store.get(ADA, name)).shares == (share,)

    async def test_links_go_and_come_back_with_their_conversation(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await say(store, name, "a question")
        token, _ = await add_share(store, clock, (ADA, name), None, None)
        await store.delete(ADA, name)
        async with refused(store, ShareNotFound):
            await find_share(store, clock, token)
        await store.restore(ADA, name)
        assert (await find_share(store, clock, token))[0].id == name
        await store.delete(ADA, name)
        await store.operations.purge(timedelta(0))
        await store.create(ADA, NewConversation(id=name))
        await say(store, name, "another conversation")
        async with refused(store, ShareNotFound):
            await find_share(store, clock, token)

    async def test_what_is_no_link_of_somebody_is_not_found(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        async with refused(store, InvalidValue):
            await add_share(store, clock, (ADA, name), None, None)
        await say(store, name, "a question")
        token, _ = await add_share(store, clock, (ADA, name), None, None)
        async with refused(store, EntryNotFound):
            await add_share(store, clock, (ADA, name), 7, None)
        for wrong in ("", ".", "a.b", "\x00", token[:-1], f"{token}A", token.partition(".")[2], f"é{token}"):
            async with refused(store, ShareNotFound):
                await find_share(store, clock, wrong)

    async def test_lists_show_what_is_shared(self, store: Store, clock: FakeClock) -> None:
        for name in ("shared", "private", "again"):
            await store.create(ADA, NewConversation(id=name))
            await say(store, name, "a question")
            clock.advance(seconds=1)
        for name in ("shared", "again"):
            await add_share(store, clock, (ADA, name), None, None)
        await end_shares(store, clock, (ADA, "again"), None)

        async def names(shared: bool) -> set[str]:
            page = await store.list(ADA, ListFilter(shared=shared))
            assert [item.shares for item in page.items] == [()] * len(page.items)
            tenant = await store.list(ADA.tenant, ListFilter(shared=shared))
            assert {item.id for item in tenant.items} == {item.id for item in page.items}
            return {item.id for item in page.items}

        assert (await names(True), await names(False)) == ({"shared"}, {"private", "again"})

    async def test_the_audit_log_tells_which_links_there_are_and_no_secret(
        self, store: Store, clock: FakeClock
    ) -> None:
        name = await new(store)
        await say(store, name, "a question")
        token, share = await add_share(store, clock, (ADA, name), None, None)
        await end_shares(store, clock, (ADA, name), share.id)
        records = await store.audit.read(ADA.tenant, Wanted(actions=("conversation.shares",)))
        assert [record.act.details for record in records] == [{"links": [share.id]}, {"links": []}]
        assert {record.act.object for record in records} == {f"conversation:{name}"}
        assert token.partition(".")[2] not in repr(records)
        assert share.digest.hex() not in repr(records)

    async def test_an_import_of_the_same_log_without_its_links_changes_nothing(
        self, store: Store, clock: FakeClock
    ) -> None:
        name = await new(store)
        await say(store, name, "a question")
        token, _ = await add_share(store, clock, (ADA, name), None, None)
        conversation = await store.get(ADA, name)
        entries = (await store.log(ADA, name, Cursor())).entries
        assert isinstance(entries[-1].body, Update)
        assert entries[-1].body.shares
        imported = Import(
            new=NewConversation(id=name),
            created_at=conversation.created_at,
            entries=tuple(entry.without_links() for entry in entries),
            version=conversation.version,
        )
        assert await store.import_entries(ADA, imported) == 0
        assert (await find_share(store, clock, token))[0].id == name

    async def test_nobody_shares_what_is_somebody_elses(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await say(store, name, "a question")
        for stranger in (BOB, EVE):
            async with refused(store, ConversationNotFound):
                await add_share(store, clock, (stranger, name), 1, None)
            async with refused(store, ConversationNotFound):
                await end_shares(store, clock, (stranger, name), None)
