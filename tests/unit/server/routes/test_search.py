"""Conversations are found by title; what is not there is told, to people and to programs."""

import pytest

from tests.unit.server.serving import conversation, served
from threadkeep import conversations


async def test_titles_of_all_conversations_are_found() -> None:
    async with served() as client:
        for number in range(30):
            await client.post("/v1/conversations", json={"title": f"Number {number}"})
        await client.post("/v1/conversations", json={"title": "Straße"})
        for text, titles in (("NUMBER 0", ["Number 0"]), ("STRASSE", ["Straße"]), ("nothing", [])):
            found = (await client.get("/v1/search/titles", params={"q": text})).json()
            assert [item["title"] for item in found["data"]] == titles
        assert len((await client.get("/v1/search/titles", params={"limit": 5, "q": "n"})).json()["data"]) == 5


async def test_an_unknown_turn_cannot_be_taken_back() -> None:
    async with served() as client:
        path = await conversation(client)
        answer = await client.post(f"{path}/cancel", params={"turn": 7})
        assert (answer.status_code, answer.json()["code"]) == (404, "turn_not_found")


async def test_a_person_gets_a_page_for_an_unknown_address_and_a_program_a_problem() -> None:
    async with served() as client:
        for accept, kind in (("text/html,*/*", "text/html"), ("*/*", "application/problem+json")):
            answer = await client.get("/no/such", headers={"Accept": accept})
            assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, kind)
        assert (await client.post("/no/such", headers={"Accept": "text/html"})).status_code == 404


async def test_a_title_is_looked_for_in_so_many_of_the_last_active_conversations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(conversations, "MAX_LIMIT", 2)
    monkeypatch.setattr(conversations, "MOST_TITLE_PAGES", 2)
    async with served() as client:
        for number in range(6):
            await client.post("/v1/conversations", json={"title": f"Trip {number}"})
        found = (await client.get("/v1/search/titles", params={"q": "trip"})).json()["data"]
        assert [item["title"] for item in found] == ["Trip 5", "Trip 4", "Trip 3", "Trip 2"]
