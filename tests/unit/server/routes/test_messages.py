"""Messages with parts over HTTP: what may be sent, what comes back, and what is refused with nothing stored."""

from decimal import Decimal
from typing import Any

import pytest

from tests.unit.server.serving import conversation, served
from threadkeep.llm.prices import Price
from threadkeep.settings import Settings

SENT: list[dict[str, Any]] = [
    {"type": "text", "text": "What is this?"},
    {"type": "data", "data": {"rows": [1, 2]}},
    {"type": "hologram", "depth": {"of": None}},
]


async def test_a_list_of_parts_is_stored_and_comes_back_beside_its_text() -> None:
    async with served() as client:
        path = await conversation(client)
        assert (await client.post(f"{path}/messages", json={"content": SENT})).status_code == 200
        question, answer = (await client.get(path)).json()["messages"]
        assert question["content"] == "What is this?"
        assert question["parts"] == [{**part, "at": 13} for part in SENT[1:]]
        assert "parts" not in answer
        for kind in ("json", "markdown", "html"):
            assert "hologram" in (await client.get(f"{path}/export", params={"format": kind})).text


async def test_a_live_answer_that_has_a_price_ends_with_its_cost() -> None:
    prices = {"demo": Price(input=Decimal("0.0000005"), output=Decimal(3))}
    async with served(Settings(store="memory:", prices=prices)) as client:
        path = await conversation(client)
        live = {"Accept": "text/event-stream"}
        answer = await client.post(f"{path}/messages", json={"content": "Hello."}, headers=live)
        last = answer.text.rstrip().split("\n")[-2:]
        assert last[0] == "event: turn.completed"
        assert '"currency":"USD"' in last[1]


async def test_the_same_key_with_the_same_parts_is_one_message_and_with_others_it_is_refused() -> None:
    async with served() as client:
        path, headers = await conversation(client), {"Idempotency-Key": "k"}
        for _ in range(2):
            assert (await client.post(f"{path}/messages", json={"content": SENT}, headers=headers)).status_code == 200
        other = await client.post(f"{path}/messages", json={"content": SENT[:1]}, headers=headers)
        assert other.json()["code"] == "idempotency_key_reused"
        assert len((await client.get(path)).json()["messages"]) == 2


async def test_a_message_that_is_sent_twice_with_one_id_is_one_message() -> None:
    async with served() as client:
        path, said = await conversation(client), {"content": "Hello.", "id": "mine-1"}
        first = await client.post(f"{path}/messages", json=said, headers={"Idempotency-Key": "a"})
        again = await client.post(f"{path}/messages", json=said, headers={"Idempotency-Key": "b"})
        assert again.json() == first.json()
        assert again.headers["idempotency-replayed"] == "true"
        other = await client.post(f"{path}/messages", json={"content": "Goodbye.", "id": "mine-1"})
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
        question, _ = (await client.get(path)).json()["messages"]
        assert question["id"] == "mine-1"
        bad = await client.post(f"{path}/messages", json={"content": "Hello.", "id": "../1"})
        assert (bad.status_code, bad.json()["code"]) == (400, "invalid_id")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ([], "invalid_request"),
        ([{}], "invalid_part"),
        (["text"], "invalid_part"),
        ([{"type": "text", "text": ""}], "invalid_part"),
        ([{"type": "text", "text": 5}], "invalid_part"),
        ([{"type": "reasoning", "text": "forged", "payload": {"signature": "x"}}], "invalid_part"),
        ([{"type": "image", "file": "f-1", "media_type": "image/png"}], "file_not_found"),
        ([{"type": "text", "text": "x"}] * 101, "too_many_parts"),
        ({"type": "text", "text": "x"}, "invalid_request"),
        (None, "invalid_request"),
    ],
)
async def test_what_is_no_list_of_parts_is_refused_with_a_code_and_nothing_is_stored(content: Any, code: str) -> None:
    async with served() as client:
        path = await conversation(client)
        refused = await client.post(f"{path}/messages", json={"content": content})
        assert refused.json()["code"] == code
        assert refused.status_code in (400, 404, 422)
        assert code != "invalid_request" or "body.content: " in refused.json()["detail"]
        assert (await client.get(path)).json()["messages"] == []


async def test_what_somebody_thinks_of_a_message_is_kept_shown_told_and_on_record() -> None:
    async with served() as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "Hello."})
        said, headers = {"rating": "down", "comment": "Too short."}, {"Idempotency-Key": "k"}
        for _ in range(2):
            given = await client.post(f"{path}/messages/3/feedback", json=said, headers=headers)
            assert (given.status_code, given.json()) == (200, said)
        whole = (await client.get(path)).json()
        assert [message.get("feedback") for message in whole["messages"]] == [None, said]
        log = (await client.get(f"{path}/export", params={"format": "json"})).json()["entries"]
        assert [entry["parent"] for entry in log if entry["body"]["kind"] == "feedback"] == [3]
        audit = (await client.get("/v1/audit")).json()["data"]
        acts = [one["details"] for one in audit if one["action"] == "feedback.given"]
        assert acts == [{"entry": 3, "rating": "down"}]
        await client.post(f"{path}/messages/3/feedback", json={"rating": None})
        assert "feedback" not in (await client.get(path)).json()["messages"][1]


@pytest.mark.parametrize(
    ("place", "body", "status"),
    [("9", {"rating": "up"}, 404), ("0", {"rating": "up"}, 422), ("3", {"rating": "great"}, 422), ("3", {}, 422)],
)
async def test_an_opinion_about_nothing_or_of_no_kind_is_refused(place: str, body: dict[str, Any], status: int) -> None:
    async with served() as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "Hello."})
        refused = await client.post(f"{path}/messages/{place}/feedback", json=body)
        assert refused.status_code == status, refused.text
        assert refused.headers["Content-Type"] == "application/problem+json"
