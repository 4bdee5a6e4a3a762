"""Budgets over HTTP: what is beyond them is refused before a model is asked, whatever way it is asked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.backends import ON_DISK, url_of
from tests.integration.serving import AT_ONCE, EVENTS, PATIENCE, Server, serving
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.message import Usage
from threadkeep.conversation.turn import TurnChange
from threadkeep.llm.base import Stopped, Text, Used
from threadkeep.testing.scripted_model import ScriptedModel

PRICES = {"*": {"input": "1", "output": "10"}}


async def refused(server: Server, method: str, path: str, headers: dict[str, str], **body: object) -> dict[str, str]:
    answer = await server.client.request(method, path, json=body or None, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (429, "application/problem+json"), answer.text
    problem = answer.json()
    assert problem["code"] == "budget_exhausted"
    assert int(answer.headers["retry-after"]) >= 1
    budget: dict[str, str] = problem["budget"]
    return budget


@pytest.mark.parametrize("backend", ON_DISK)
async def test_a_budget_holds_for_every_way_to_ask_on_every_server_and_after_a_restart(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store, users = url_of(backend, tmp_path, request), {"acme/ada": {"day_tokens": 1}}
    chosen: dict[str, Any] = {"auth": "keys", "prices": PRICES, "budgets": {"user": {"month": 1000}, "users": users}}
    async with serving(store, **chosen) as first, serving(store, **chosen) as second:
        _, ada = await first.key("acme", "ada")
        _, bob = await first.key("acme", "bob")
        _, boss = await first.key("acme", "boss", KeyRole.ADMIN)
        path = (await first.client.post("/v1/conversations", json={}, headers=ada)).headers["location"]
        keyed = {**ada, "Idempotency-Key": "once"}
        said = await first.client.post(f"{path}/messages", json={"content": "hello"}, headers=keyed)
        assert said.status_code == 200, said.text
        for server in (first, second):
            budget = await refused(server, "POST", f"{path}/messages", ada, content="more")
            assert [budget[name] for name in ("whose", "period", "unit", "limit")] == ["user", "day", "tokens", "1"]
            assert int(budget["used"]) > 1
            assert budget["remaining"] == "0"
        again = await second.client.post(f"{path}/messages", json={"content": "hello"}, headers=keyed)
        assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
        await refused(first, "POST", f"{path}/regenerate", ada)
        await refused(first, "POST", f"{path}/turns", ada, content="mine")
        await refused(first, "POST", "/v1/chat/query/stream", {**ada, **EVENTS}, query="aside?")
        await refused(first, "POST", "/chat", ada, query="and here?")
        assert (await first.client.delete(path, headers=ada)).status_code == 204
        fresh = (await first.client.post("/v1/conversations", json={}, headers=ada)).headers["location"]
        await refused(second, "POST", f"{fresh}/messages", ada, content="more")
        aside = await first.client.post("/v1/chat/query/stream", json={"query": "hi"}, headers={**bob, **EVENTS})
        assert aside.status_code == 200, aside.text
        async with asyncio.timeout(PATIENCE):
            while not (await second.client.get("/v1/usage", headers=bob)).json()["total"]["answers"]:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)
    async with serving(store, **chosen) as third:
        await refused(third, "POST", f"{fresh}/messages", ada, content="more")
        whole = (await third.client.get("/v1/usage/tenant", headers=boss)).json()["total"]
        assert (whole["answers"], len(whole["costs"])) == (2, 1)
        assert (await third.client.delete("/v1/users/ada", headers=boss)).status_code == 200
        assert (await third.client.get("/v1/usage/tenant", headers=boss)).json()["total"] == whole
        rows = (await third.client.get("/v1/usage/users", headers=boss)).json()["data"]
        assert "ada" not in [row["user"] for row in rows]


async def test_what_waited_in_the_queue_while_the_budget_was_used_up_reaches_neither_the_model_nor_a_loop() -> None:
    go, usage = asyncio.Event(), Usage(input_tokens=50, output_tokens=50)
    model = ScriptedModel([go, Text(text="done"), Used(usage=usage), Stopped("stop")])
    async with serving(model=model, budgets={"tenant": {"day_tokens": 100}}) as server:
        path = await server.conversation()
        await server.client.post(f"{path}/messages", json={"content": "first"}, headers=AT_ONCE)
        sent = await server.client.post(f"{path}/messages", json={"content": "second"}, headers=AT_ONCE)
        assert sent.status_code == 202, sent.text
        looped = await server.client.post(f"{path}/turns", json={"content": "third"})
        assert looped.json()["state"] == "queued", looped.text
        go.set()
        async with asyncio.timeout(PATIENCE):
            while (await server.client.get(path)).json()["turns"]:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)
        handle = await server.conversations.get(path.rsplit("/", 1)[1])
        entries = [entry async for entry in handle.reading.entries()]
        failures = [entry.body.failure for entry in entries if isinstance(entry.body, TurnChange)]
        assert [failure.code for failure in failures if failure] == ["budget_exhausted"] * 2
        lost = await server.client.post(f"{path}/turns/{looped.json()['turn']}/lease")
        assert (lost.status_code, lost.json()["code"], lost.json()["state"]) == (409, "turn_over", "failed")
    model.assert_finished()
