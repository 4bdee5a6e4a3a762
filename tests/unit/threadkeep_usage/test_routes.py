"""What `GET /v1/usage` answers, and to whom. Budgets over HTTP: tests/integration/test_budgets.py."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from tests.integration.serving import serving
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.message import Cost, Message, Role, Usage
from threadkeep.conversation.scope import Scope
from threadkeep.store.usage import UsageSum

ADA, BOB = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")
NOVEMBER = {"since": "2026-11-01", "until": "2026-11-30"}


def spent(day: int, model: str, cost: str, currency: str = "USD") -> UsageSum:
    return UsageSum(date(2026, 11, day), model, currency, 1, 1000, 10, 5, Decimal(cost))


async def test_everybody_sees_their_own_and_administrators_all_of_their_tenant() -> None:
    async with serving(auth="keys", budgets={"tenant": {"month": 100}}) as server:
        usage = server.conversations.admin.usage
        await usage.add(ADA, [spent(1, "big", "0.50"), spent(1, "big", "2", "EUR"), spent(2, "small", "0.25")])
        await usage.add(BOB, [spent(1, "big", "1")])
        _, ada = await server.key("acme", "ada")
        _, boss = await server.key("acme", "boss", KeyRole.ADMIN)
        _, stranger = await server.key("umbrella", "ada", KeyRole.ADMIN)
        own = (await server.client.get("/v1/usage", params=NOVEMBER, headers=ada)).json()
        assert own["total"] == {
            "answers": 3,
            "input_tokens": 3000,
            "output_tokens": 30,
            "cached_tokens": 15,
            "costs": [{"amount": "2", "currency": "EUR"}, {"amount": "0.75", "currency": "USD"}],
        }
        rows = [(row["day"], row["model"], row["answers"], len(row["costs"])) for row in own["data"]]
        assert rows == [("2026-11-01", "big", 2, 2), ("2026-11-02", "small", 1, 1)]
        assert own["budgets"][0]["whose"] == "tenant"
        for path in ("tenant", "users", "users/bob"):
            assert (await server.client.get(f"/v1/usage/{path}", headers=ada)).status_code == 403
        whole = (await server.client.get("/v1/usage/tenant", params=NOVEMBER, headers=boss)).json()
        assert (whole["total"]["answers"], [each["period"] for each in whole["budgets"]]) == (4, ["month"])
        first = (await server.client.get("/v1/usage/users", params={**NOVEMBER, "limit": "1"}, headers=boss)).json()
        assert ([row["user"] for row in first["data"]], first["next"]) == (["ada"], "ada")
        more = {**NOVEMBER, "after": "ada"}
        rest = (await server.client.get("/v1/usage/users", params=more, headers=boss)).json()
        assert ([row["user"] for row in rest["data"]], rest["next"]) == (["bob"], None)
        bob = (await server.client.get("/v1/usage/users/bob", params=NOVEMBER, headers=boss)).json()
        assert bob["total"]["costs"] == [{"amount": "1", "currency": "USD"}]
        for path in ("/v1/usage", "/v1/usage/tenant", "/v1/usage/users/bob"):
            other = (await server.client.get(path, params=NOVEMBER, headers=stranger)).json()
            assert (other["total"]["answers"], other["data"]) == (0, [])


@pytest.mark.parametrize(
    "asked", [{"since": "2026-11-02", "until": "2026-11-01"}, {"since": "2020-01-01", "until": "2026-01-01"}]
)
async def test_days_that_are_none_are_refused(asked: dict[str, str]) -> None:
    async with serving() as server:
        answer = await server.client.get("/v1/usage", params=asked)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")


async def test_a_conversation_tells_what_its_answers_have_used_on_all_branches() -> None:
    async with serving() as server:
        handle = await server.conversations.create()
        usage = Usage(input_tokens=7, output_tokens=3, cost=Cost(amount=Decimal("0.1"), currency="USD"))
        said = Message(role=Role.ASSISTANT, content="so", usage=usage)
        for _ in range(2):
            await handle.append(said.model_copy(update={"id": f"a{datetime.now(UTC).timestamp()}"}), parent=None)
        shown = (await server.client.get(f"/v1/conversations/{handle.id}/usage")).json()
        assert (shown["answers"], shown["input_tokens"]) == (2, 14)
        assert shown["costs"] == [{"amount": "0.2", "currency": "USD"}]
        assert (await server.client.get("/v1/conversations/none/usage")).status_code == 404
