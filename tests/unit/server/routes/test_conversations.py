"""A history that holds a lot: read in pages that end early, and as files and sessions piece by piece."""

import pytest

from tests.unit.server.serving import conversation, served, store_behind
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import StateChange
from threadkeep.store import values
from threadkeep.store.values import Append

SIZE, MESSAGES = 400_000, 5


async def test_a_page_ends_early_where_there_is_much_in_it_and_nothing_is_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values, "MOST_CHARACTERS", SIZE)
    async with served() as client:
        path = await conversation(client)
        for number in range(MESSAGES):
            sent = await client.post(f"{path}/messages", json={"content": f"{number}" + "x" * SIZE})
            assert sent.status_code == 200
        pages, place = [], None
        while True:
            page = (await client.get(path, params={"limit": 6} | ({"before": place} if place else {}))).json()
            pages.append([message["seq"] for message in page["messages"]])
            place = page["before"]
            if place is None:
                break
        assert max(map(len, pages)) < 6
        seen = [seq for page in reversed(pages) for seq in page]
        assert len(seen) == 2 * MESSAGES == len(set(seen))
        assert seen == sorted(seen)
        whole = (await client.get(f"/api/v1/sessions/{path.rpartition('/')[2]}")).json()
        assert whole["message_count"] == len(whole["messages"]) == 2 * MESSAGES + 1
        for kind in ("json", "markdown", "html"):
            text = (await client.get(f"{path}/export", params={"format": kind})).text
            assert text.count("x" * SIZE) >= MESSAGES


async def test_a_page_has_as_many_messages_as_asked_for_also_where_the_state_changes_often() -> None:
    async with served() as client:
        path = await conversation(client)
        store, id = store_behind(client), path.rpartition("/")[2]
        for number in range(4):
            message, change = Message(role=Role.USER, content=str(number)), StateChange(set={"n": 1}, whole=True)
            await store.append(LOCAL, id, Append(bodies=(message, *[change] * 30)))
        page = (await client.get(path, params={"limit": 3})).json()
        assert [message["content"] for message in page["messages"]] == list("123")
        rest = (await client.get(path, params={"limit": 3, "before": page["before"]})).json()
        assert ([message["content"] for message in rest["messages"]], rest["before"]) == (["0"], None)


async def test_a_branch_that_is_not_there_is_told_before_a_file_begins() -> None:
    async with served() as client:
        path = await conversation(client)
        await client.post(f"{path}/messages", json={"content": "hi"})
        missing = await client.get(f"{path}/export", params={"format": "html", "head": 99})
        assert (missing.status_code, missing.json()["code"]) == (404, "entry_not_found")


async def test_a_list_shows_metadata_and_instructions_where_it_is_asked_for_the_whole() -> None:
    async with served() as client:
        made = await client.post("/v1/conversations", json={"system": "Be brief.", "metadata": {"project": "apollo"}})
        (bare,) = (await client.get("/v1/conversations")).json()["data"]
        assert "metadata" not in bare
        (whole,) = (await client.get("/v1/conversations", params={"whole": True})).json()["data"]
        assert whole == made.json()


async def test_a_conversation_is_filed_listed_by_its_folder_and_begun_as_a_temporary_one() -> None:
    async with served() as client:
        first, second = await conversation(client), await conversation(client)
        filed = await client.patch(first, json={"folder": "Work"})
        assert (filed.json()["folder"], (await client.get(second)).json()["folder"]) == ("Work", "")

        async def listed(**query: str) -> list[str]:
            data = (await client.get("/v1/conversations", params=query)).json()["data"]
            return [f"/v1/conversations/{one['id']}" for one in data]

        assert await listed() == [first, second], "what is filed stands before the others"
        assert await listed(folder="Work") == [first]
        assert (await client.patch(first, json={"folder": "x" * 81})).status_code == 422
        await client.patch(first, json={"folder": ""})
        assert await listed(folder="Work") == []
        made = (await client.post("/v1/conversations", json={"temporary": True})).json()
        assert made["temporary"] is True
        assert await listed(temporary="true") == [f"/v1/conversations/{made['id']}"]
        assert (await client.post("/v1/conversations", json={"temporary": "yes"})).status_code == 422
