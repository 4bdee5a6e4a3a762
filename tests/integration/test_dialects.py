"""The dialects over a real socket, on real stores: what is made in one is there in all, also after a restart."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from threadkeep.llm.base import Model, Text
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.settings import Settings
from threadkeep.testing.scripted_model import ScriptedModel, says

Told = tuple[str, dict[str, Any], str]


@pytest.fixture
def store(lane: str) -> str:
    """The URL of an empty store of each kind that servers use."""
    return lane


@asynccontextmanager
async def serving(store: str, model: str | Model = "demo") -> AsyncIterator[httpx.AsyncClient]:
    """Serve a store on a free port for a while, and yield a client of it."""
    conversations = await open_conversations(store, model=model, pace=0)
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_app(conversations, Settings(store=store))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        await running
        await conversations.close()


async def told(client: httpx.AsyncClient, session: str, after: str | None = None) -> AsyncIterator[Told]:
    """Yield the events of a stream as they arrive."""
    headers = {"Last-Event-ID": after} if after else {}
    async with client.stream("GET", "/stream", params={"session_id": session}, headers=headers) as answer:
        assert answer.status_code == 200
        fields: dict[str, str] = {}
        async for line in answer.aiter_lines():
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
            elif "event" in fields:
                yield fields["event"], json.loads(fields["data"]), fields["id"]
                fields = {}


async def all_told(client: httpx.AsyncClient, session: str, after: str | None = None) -> list[Told]:
    return [event async for event in told(client, session, after)]


def text_in(events: list[Told]) -> str:
    return "".join(data["text"] for name, data, _ in events if name == "delta")


async def test_a_session_goes_on_in_every_dialect_and_after_a_restart(store: str) -> None:
    async with serving(store) as client:
        first = await client.post("/api/v1/chat", json={"message": "My name is Alice."})
        id = first.json()["session_id"]
        assert "Alice" in first.json()["response"]
    async with serving(store) as client:
        second = await client.post("/chat", json={"query": "What's my name?", "session_id": id})
        assert second.json()["response"] == "Your name is Alice."
        third = await client.post("/api/chat", data={"message": "Who am I?", "session_id": id})
        events = await all_told(client, third.json()["session_id"])
        assert (text_in(events), events[-1][0], events[-1][1]["message_count"]) == ("Your name is Alice.", "done", 6)
        native = (await client.get(f"/v1/conversations/{id}")).json()
        session = (await client.get(f"/api/v1/sessions/{id}")).json()
        assert [item["content"] for item in native["messages"]] == [item["content"] for item in session["messages"][1:]]
        assert session["message_count"] == 7
        [listed] = (await client.get("/api/v1/sessions")).json()
        assert (listed["session_id"], listed["message_count"]) == (id, 7)
        export = (await client.get(f"/v1/conversations/{id}/export?format=json")).json()
        assert len(export["entries"]) == export["conversation"]["entries"]
        assert (await client.delete(f"/api/v1/sessions/{id}")).status_code == 204
        for path in (f"/v1/conversations/{id}", f"/api/v1/sessions/{id}", f"/stream?session_id={id}"):
            assert (await client.get(path)).status_code == 404


async def test_twenty_first_messages_with_one_key_are_one_conversation_and_one_turn(store: str) -> None:
    model = ScriptedModel(says("Hello."))
    async with serving(store, model) as client:
        body, key = {"query": "hi", "session_id": ""}, {"Idempotency-Key": "only once"}
        answers = await asyncio.gather(*(client.post("/chat", json=body, headers=key) for _ in range(20)))
        assert {(answer.status_code, answer.json()["response"]) for answer in answers} == {(200, "Hello.")}
        assert len({answer.json()["session_id"] for answer in answers}) == 1
        assert len((await client.get("/v1/conversations")).json()["data"]) == 1
    model.assert_finished()


async def test_a_key_that_was_used_in_a_session_makes_no_conversation(store: str) -> None:
    async with serving(store, ScriptedModel(says("one"), says("two"))) as client:
        id = (await client.post("/chat", json={"query": "hi"})).json()["session_id"]
        key = {"Idempotency-Key": "k"}
        await client.post("/chat", json={"query": "ho", "session_id": id}, headers=key)
        refused = await client.post("/chat", json={"query": "ho"}, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
        assert len((await client.get("/v1/conversations")).json()["data"]) == 1


async def test_a_refused_first_message_leaves_neither_a_conversation_nor_its_key(store: str) -> None:
    async with serving(store, ScriptedModel(says("one"))) as client:
        key = {"Idempotency-Key": "k"}
        refused = await client.post("/chat", json={"query": "x" * 1_100_000}, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (413, "content_too_large")
        assert (await client.get("/v1/conversations")).json()["data"] == []
        assert (await client.post("/chat", json={"query": "hi"}, headers=key)).json()["response"] == "one"


async def test_a_stream_that_is_cut_in_the_middle_of_an_answer_resumes_without_gap_or_repeat(store: str) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    pieces = [Text("One\r\n"), gates[0], Text("two\u2028"), gates[1], Text("three\x00"), gates[2], *says(" four.")]
    async with serving(store, ScriptedModel(pieces)) as client:
        id = (await client.post("/api/chat", json={"message": "Count"})).json()["session_id"]
        seen: list[Told] = []
        for gate in gates:
            # The answer stands still here: whoever comes gets what is there, leaves, and comes back with the cursor.
            async with aclosing(told(client, id, seen[-1][2] if seen else None)) as events:  # type: ignore[type-var]
                seen.append(await anext(events))
            gate.set()
        seen += await all_told(client, id, seen[-1][2])
        assert text_in(seen) == "One\r\ntwo\u2028three\x00 four."
        assert [name for name, _, _ in seen].count("done") == 1
        late = await all_told(client, id)
        assert text_in(late) == text_in(seen)


async def test_a_stateless_question_streams_and_leaves_nothing(store: str) -> None:
    async with serving(store) as client:
        history = [{"role": "user", "content": "My name is Bob."}, {"role": "assistant", "content": "Hello Bob."}]
        asked = [
            await client.post("/v1/chat/query/stream", json={"query": "What's my name?", "history": history}),
            await client.get(
                "/v1/chat/query/stream", params={"query": "What's my name?", "history": json.dumps(history)}
            ),
        ]
        for answer in asked:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert "Your name is Bob." in answer.text
            assert "event: turn.completed" in answer.text
        assert (await client.get("/v1/conversations")).json()["data"] == []
        assert (await client.post("/chat", json={"query": "hi"})).status_code == 200


async def test_a_client_that_leaves_a_stateless_question_ends_its_model_call(store: str) -> None:
    left = asyncio.Event()

    class Noticing(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            try:
                async for delta in super().stream(request):
                    yield delta
            finally:
                left.set()

    async with serving(store, Noticing([Text("Well, "), asyncio.Event()])) as client:
        async with client.stream("POST", "/v1/chat/query/stream", json={"query": "hi"}) as answer:
            async for line in answer.aiter_lines():
                if "Well" in line:
                    break
        async with asyncio.timeout(20):
            await left.wait()
