"""`GET /v1/usage`: what a caller has used of models; what a tenant and its users have, for its administrators."""

from collections.abc import Iterable
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Query

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.identity.guards import Admin, Who
from threadkeep.server.requests import ConversationId
from threadkeep.server.responses import Shown
from threadkeep.settings import Settings
from threadkeep.store.codec import encode
from threadkeep.store.usage import UsageSum, added_up, used
from threadkeep_usage.budgets import SpentBudgets, plain
from threadkeep_usage.tables import BudgetsTable

MOST_DAYS = 400
MOST_USERS = 100
Day = Annotated[date | None, Query(examples=["2026-11-01"])]


class ShownCost(Shown):
    """Money in one currency, as text: a decimal number."""

    amount: str
    currency: str


class ShownSums(Shown):
    """What some answers have used together. Where no price was set, there are no costs."""

    answers: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    costs: list[ShownCost]


class UsageRow(ShownSums):
    """What the answers of one model have used on a day (UTC). Beyond a hundred models of a day the rest has no name."""

    day: date
    model: str | None


class ShownBudget(Shown):
    """What is left of a limit of the user or of the tenant; `unit` is a currency, or `tokens`. Numbers are text."""

    whose: str
    period: str
    unit: str
    limit: str
    used: str
    remaining: str
    resets_at: str


class UsageAnswer(Shown):
    """What was used from a day to a day, both included, as a whole and by day and model; and what is left now."""

    since: date
    until: date
    total: ShownSums
    data: list[UsageRow]
    budgets: list[ShownBudget]


class UserUsage(ShownSums):
    """What a user has used."""

    user: str


class UserUsagePage(Shown):
    """A page of users by name, and behind which name the next page begins. Who was erased is in no row."""

    data: list[UserUsage]
    next: str | None


def usage_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router = APIRouter(tags=["usage"])
    tables, table = conversations.admin.usage, settings.budgets or BudgetsTable()
    budgets = SpentBudgets(tables, table, utc_now)

    async def answer(scope: Scope, user: str | None, since: date | None, until: date | None) -> UsageAnswer:
        first, last = _days(since, until)
        sums = await tables.of(scope.tenant, user, first, last)
        left = [each for each in await budgets.left(scope) if user is not None or each.whose == "tenant"]
        return UsageAnswer(
            since=first,
            until=last,
            total=_shown(sums),
            data=_rows(sums),
            budgets=[ShownBudget(**each.shown()) for each in left],
        )

    @router.get("/v1/usage", summary="What you have used of models, and what is left of your budgets")
    async def own(who: Who, since: Day = None, until: Day = None) -> UsageAnswer:
        return await answer(who.scope, who.scope.user, since, until)

    @router.get("/v1/usage/tenant", summary="What the tenant has used of models")
    async def whole(who: Admin, since: Day = None, until: Day = None) -> UsageAnswer:
        await conversations.admin.record(who.scope.tenant, "usage.read", f"tenant:{who.scope.tenant}")
        return await answer(who.scope, None, since, until)

    @router.get("/v1/usage/users", summary="What each user of the tenant has used of models")
    async def users(
        who: Admin,
        since: Day = None,
        until: Day = None,
        limit: Annotated[int, Query(ge=1, le=MOST_USERS)] = 20,
        after: Annotated[str, Query(max_length=200)] = "",
    ) -> UserUsagePage:
        await conversations.admin.record(who.scope.tenant, "usage.read", f"tenant:{who.scope.tenant}")
        found: dict[str, list[UsageSum]] = {}
        for user, each in await tables.users(who.scope.tenant, *_days(since, until), limit=limit + 1, after=after):
            found.setdefault(user, []).append(each)
        names = list(found)
        data = [UserUsage(user=name, **_shown(found[name]).model_dump()) for name in names[:limit]]
        return UserUsagePage(data=data, next=names[limit - 1] if len(names) > limit else None)

    @router.get("/v1/usage/users/{user}", summary="What a user of the tenant has used of models")
    async def one(who: Admin, user: Id, since: Day = None, until: Day = None) -> UsageAnswer:
        await conversations.admin.record(who.scope.tenant, "usage.read", f"user:{user}")
        return await answer(Scope(tenant=who.scope.tenant, user=user), user, since, until)

    @router.get("/v1/conversations/{id}/usage", summary="What the answers of a conversation have used, on all branches")
    async def of_conversation(who: Who, id: ConversationId) -> ShownSums:
        handle = await conversations.get(id, scope=who.scope)
        sums: list[UsageSum] = []
        async for entry in handle.reading.entries():
            if isinstance(entry.body, Message) and (added := used(encode(entry.body), entry.created_at)):
                sums = added_up([*sums, added])
        return _shown(sums)

    return router


def _days(since: date | None, until: date | None) -> tuple[date, date]:
    """Return the days that are asked for; without a first one the month of the last."""
    last = until or utc_now().astimezone(UTC).date()
    first = since or last.replace(day=1)
    if not timedelta(0) <= last - first < timedelta(days=MOST_DAYS):
        raise InvalidValue(f"since is at most {MOST_DAYS} days before until, and not behind it.")
    return first, last


def _shown(sums: Iterable[UsageSum]) -> ShownSums:
    costs: dict[str, Decimal] = {}
    counts = {"answers": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0}
    for each in sums:
        counts = {name: count + getattr(each, name) for name, count in counts.items()}
        if each.currency:
            costs[each.currency] = costs.get(each.currency, Decimal()) + each.cost
    shown = [ShownCost(amount=plain(cost), currency=currency) for currency, cost in sorted(costs.items())]
    return ShownSums(**counts, costs=shown)


def _rows(sums: Iterable[UsageSum]) -> list[UsageRow]:
    found: dict[tuple[date, str], list[UsageSum]] = {}
    for each in sums:
        found.setdefault(each[:2], []).append(each)
    return [UsageRow(day=day, model=model or None, **_shown(of).model_dump()) for (day, model), of in found.items()]
