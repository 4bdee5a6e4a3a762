"""Usage: what answers have used, by user, day, model and currency."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Cost, Message, Role, Usage
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import Store
from threadkeep.store.usage import MOST_MODELS, UsageSum, added_up
from threadkeep.store.values import Append, Import
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, NO_TIME, asked, new
from threadkeep.testing.stores import OpenAnother

FIRST, LAST = date(1970, 1, 1), date(9999, 12, 31)


def answer(read: int = 10, written: int = 5, cost: str | None = "0.0000015", model: str | None = "big") -> Message:
    """Return an answer that used so many tokens."""
    money = None if cost is None else Cost(amount=Decimal(cost), currency="USD")
    usage = Usage(input_tokens=read, output_tokens=written, cached_tokens=1, cost=money)
    return Message(role=Role.ASSISTANT, content="so", usage=usage, model=model)


async def say(store: Store, scope: Scope, name: str, *messages: Message) -> None:
    for message in messages:
        await store.append(scope, name, Append(bodies=(message,)))


async def used(store: Store, tenant: str = "acme", user: str | None = None) -> tuple[int, int, int, Decimal]:
    """Return answers, tokens and money of all days and models."""
    sums = await store.operations.usage.of(tenant, user, FIRST, LAST)
    tokens = [sum(getattr(each, name) for each in sums) for name in ("answers", "input_tokens", "output_tokens")]
    return tokens[0], tokens[1], tokens[2], sum((each.cost for each in sums), Decimal())


@pytest.mark.asyncio
class TestUsage:
    async def test_nothing_is_used_where_nothing_was_answered(self, store: Store) -> None:
        await new(store, ADA, "hello")
        assert await store.operations.usage.of("acme", "ada", FIRST, LAST) == []
        assert await store.operations.usage.of("nobody", None, FIRST, LAST) == []
        assert await store.operations.usage.users("nobody", FIRST, LAST) == []

    async def test_each_answer_counts_once_for_its_user_and_tenant(self, store: Store) -> None:
        name, other = await new(store, ADA, "hello"), await new(store, BOB)
        await say(store, ADA, name, asked("hi"), answer(), answer(20, 2))
        assert await used(store, user="ada") == (2, 30, 7, Decimal("0.000003"))
        await say(store, BOB, other, answer(1, 1, None))
        await say(store, EVE, await new(store, EVE), answer(7, 7))
        for _ in range(2):
            assert await used(store, user="ada") == (2, 30, 7, Decimal("0.000003"))
            assert await used(store, user="bob") == (1, 1, 1, Decimal())
            assert await used(store) == (3, 31, 8, Decimal("0.000003"))
            assert (await used(store, "umbrella"))[:2] == (1, 7)

    async def test_sums_are_kept_by_day_model_and_currency(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA)
        await say(store, ADA, name, answer(), answer(model="small", cost=None))
        today = clock().astimezone(UTC).date()
        clock.advance(86_400)
        await say(store, ADA, name, answer(), answer())
        tomorrow = today + timedelta(days=1)
        sums = await store.operations.usage.of("acme", "ada", FIRST, LAST)
        assert [each[:4] for each in sums] == [
            (today, "big", "USD", 1),
            (today, "small", "", 1),
            (tomorrow, "big", "USD", 2),
        ]
        assert [each.day for each in await store.operations.usage.of("acme", "ada", tomorrow, tomorrow)] == [tomorrow]
        assert await store.operations.usage.of("acme", None, today, today) == sums[:2]

    async def test_users_are_listed_by_name_in_pages(self, store: Store) -> None:
        for user in ("carl", "ada", "bob"):
            scope = Scope(tenant="acme", user=user)
            await say(store, scope, await new(store, scope), answer(), answer(model="small"))
        first = await store.operations.usage.users("acme", FIRST, LAST, limit=2)
        assert [user for user, _ in first] == ["ada", "ada", "bob", "bob"]
        rest = await store.operations.usage.users("acme", FIRST, LAST, limit=2, after="bob")
        assert [(user, each.model) for user, each in rest] == [("carl", "big"), ("carl", "small")]
        assert await store.operations.usage.users("umbrella", FIRST, LAST) == []

    async def test_what_was_used_stays_used_when_it_is_deleted_and_comes_back(
        self, store: Store, clock: FakeClock
    ) -> None:
        name, gone = await new(store, ADA), await new(store, ADA)
        await say(store, ADA, name, answer())
        await say(store, ADA, gone, answer())
        await store.delete(ADA, name)
        await store.delete(ADA, gone)
        await store.restore(ADA, name)
        await say(store, ADA, name, answer())
        assert (await used(store, user="ada"))[0] == 3
        await store.delete(ADA, name)
        clock.advance(60)
        await store.operations.purge(NO_TIME)
        assert (await used(store, user="ada"))[0] == (await used(store))[0] == 3
        assert await store.operations.usage.users("acme", FIRST, LAST) == []

    async def test_the_sums_of_who_is_erased_stay_without_the_person(self, store: Store) -> None:
        name = await new(store, ADA)
        await say(store, ADA, name, answer())
        await store.delete(ADA, name)
        await store.operations.purge(NO_TIME, owner=ADA)
        assert (await used(store, user="ada"))[0] == 0
        assert (await used(store))[0] == 1
        await say(store, ADA, await new(store, ADA), answer())
        assert (await used(store, user="ada"))[0] == 1

    async def test_an_import_brings_what_was_used_on_its_days(self, store: Store) -> None:
        name = await new(store, ADA)
        await say(store, ADA, name, answer())
        (entry,) = (await store.log(ADA, name, Cursor())).entries
        at = datetime(2020, 2, 29, 23, 59, tzinfo=UTC)
        entry = entry.model_copy(update={"created_at": at, "conversation": "copy"})
        kept = Import(new=NewConversation(id="copy"), entries=(entry,), created_at=at)
        for _ in range(2):
            await store.import_entries(BOB, kept)
        (found,) = await store.operations.usage.of("acme", "bob", FIRST, LAST)
        assert (found.day, found.answers) == (date(2020, 2, 29), 1)

    async def test_two_handles_count_together(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        name = await new(store, ADA)
        for at in (store, other, store):
            await say(at, ADA, name, answer())
            assert (await used(other, user="ada")) == (await used(store, user="ada"))
        assert (await used(store, user="ada"))[0] == 3
        await other.close()

    async def test_models_without_end_are_added_up_without_a_name(self, store: Store) -> None:
        name = await new(store, ADA)
        for number in range(MOST_MODELS + 5):
            await say(store, ADA, name, answer(model=f"model {number}\x00"))
        sums = await store.operations.usage.of("acme", "ada", FIRST, LAST)
        assert len(sums) <= MOST_MODELS + 1
        assert sum(each.answers for each in sums) == MOST_MODELS + 5
        assert next(each for each in sums if not each.model)[1:4] == ("", "", 5)

    async def test_what_another_log_used_can_be_added(self, store: Store) -> None:
        more = UsageSum(date(2026, 1, 2), "big", "USD", 2, 3, 4, 1, Decimal("0.5"))
        await store.operations.usage.add(ADA, [more, more])
        await say(store, ADA, await new(store, ADA), answer())
        (first, second) = await store.operations.usage.of("acme", "ada", FIRST, LAST)
        assert more.plus(more) in (first, second)
        assert added_up([first, second]) == sorted([first, second])
        assert (await used(store))[0] == 5
