"""Queries: `POST /chat` with `query` and `session_id` (R-E9), and what is made here in the other dialects."""

from tests.unit.threadkeep_protocols.dialects.serving import OTHER, assert_problem, serving
from threadkeep.testing.scripted_model import says
from threadkeep.turn.assistant import Assistant

SHOP = Assistant(name="shop", instructions="Sell.")


async def test_a_query_is_answered_by_the_shop_and_continued_by_its_session() -> None:
    async with serving(says("Two phones."), says("The first."), assistants=(OTHER, SHOP)) as served:
        first = (await served.client.post("/chat", json={"query": "phones?", "session_id": None})).json()
        assert first["response"] == "Two phones."
        again = {"query": "which one?", "session_id": first["session_id"]}
        assert (await served.client.post("/chat", json=again)).json()["response"] == "The first."
        assert served.model.requests[1].messages[0].content.startswith("Sell.")


async def test_an_unknown_session_is_not_found() -> None:
    async with serving() as served:
        answer = await served.client.post("/chat", json={"query": "phones?", "session_id": "sess_1"})
        assert_problem(answer, 404, "conversation_not_found")


async def test_each_message_is_stored_once_and_seen_in_every_dialect() -> None:
    async with serving(says("Two phones."), says("Yes.")) as served:
        id = (await served.client.post("/chat", json={"query": "phones?"})).json()["session_id"]
        await served.client.post(f"/api/v1/sessions/{id}/chat", json={"message": "in red?"})
        said = ["phones?", "Two phones.", "in red?", "Yes."]
        native = (await served.client.get(f"/v1/conversations/{id}")).json()
        assert [message["content"] for message in native["messages"]] == said
        session = (await served.client.get(f"/api/v1/sessions/{id}")).json()
        assert [message["content"] for message in session["messages"][1:]] == said
        stream = await served.client.get("/stream", params={"session_id": id})
        assert '"text":"Yes."' in stream.text


async def test_one_key_on_two_routes_is_two_keys() -> None:
    async with serving(says("one"), says("two")) as served:
        key = {"Idempotency-Key": "same"}
        shop = (await served.client.post("/chat", json={"query": "hi"}, headers=key)).json()
        chat = (await served.client.post("/api/v1/chat", json={"message": "hi"}, headers=key)).json()
        assert shop["session_id"] != chat["session_id"]
