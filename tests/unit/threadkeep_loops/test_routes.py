"""Turns that a loop elsewhere runs over HTTP: what it may do, what others see of it, and how it ends."""

import asyncio
import json
from typing import Any

import httpx

from tests.unit.server.serving import app_behind, conversation, served, store_behind, until
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.scope import LOCAL

HELLO = {"content": "What is the weather in Oslo?"}


class Loop:
    """A loop that speaks HTTP."""

    def __init__(self, client: httpx.AsyncClient, path: str, begun: dict[str, Any]) -> None:
        self.client = client
        self.path = f"{path}/turns/{begun['turn']}"
        self.number, self.token = begun["turn"], begun["token"]

    @classmethod
    async def begin(cls, client: httpx.AsyncClient, path: str, **body: Any) -> "Loop":
        """Begin a turn."""
        begun = await client.post(f"{path}/turns", json=HELLO | body)
        assert begun.status_code == 201, begun.text
        return cls(client, path, begun.json())

    async def post(self, verb: str, **body: Any) -> httpx.Response:
        """Say something."""
        return await self.client.post(f"{self.path}/{verb}", json=body, headers={"Turn-Token": self.token})


def app_runner(client: httpx.AsyncClient) -> Any:
    """The runner of the application that a client calls."""
    return app_behind(client).state.tested._runner


async def test_a_turn_with_calls_results_and_an_answer_is_seen_as_one_of_ours() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path, turn_id="run-1", id="q-1")
        thought = await loop.post("draft", offset=0, text="Let me look", reasoning=True)
        assert thought.json() == {"offset": 12}
        assert (await loop.post("draft", offset=12, text="I look.")).json() == {"offset": 20}
        call = {"type": "call", "id": "c1", "name": "weather", "args": {"city": "Oslo"}}
        assert (await loop.post("entries", entries=[call])).json()["entries"][0]["kind"] == "message"
        assert (await loop.post("entries", entries=[call])).json() == {"entries": []}
        result = {"type": "result", "call": "c1", "content": "4 degrees", "duration_ms": 12}
        assert len((await loop.post("entries", entries=[result])).json()["entries"]) == 1
        for _ in range(2):  # a repeated piece is written once
            assert (await loop.post("draft", offset=0, text="4 degrees.", message="a-1")).json() == {"offset": 10}
        assert (await loop.post("entries", entries=[])).json() == {"entries": []}  # the turn is kept, and nothing said
        wrong = await loop.post("draft", offset=4, text="nonsense")
        assert (wrong.status_code, wrong.json()["code"], wrong.json()["offset"]) == (409, "draft_mismatch", 10)
        seen = (await client.get(loop.path)).json()
        assert (seen["id"], seen["state"], seen["draft"]["text"]) == ("run-1", "running", "4 degrees.")
        how = {"state": "completed", "usage": {"input_tokens": 3, "output_tokens": 2}, "model": "mine"}
        for _ in range(2):
            assert (await loop.post("settle", **how)).json()["state"] == "completed"
        whole = (await client.get(path)).json()
        assert [message["role"] for message in whole["messages"]] == ["user", "assistant", "tool", "assistant"]
        question, asked, _, answer = whole["messages"]
        assert question["id"] == "q-1"
        assert (asked["content"], asked["tool_calls"][0]["name"]) == ("I look.", "weather")
        assert asked["parts"][0]["text"] == "Let me look"
        assert (answer["id"], answer["content"], answer["model"]) == ("a-1", "4 degrees.", "mine")
        assert (answer["usage"]["output_tokens"], whole["ended"]["state"]) == (2, "completed")
        over = await loop.post("draft", offset=0, text="More")
        assert (over.status_code, over.json()["code"], over.json()["state"]) == (409, "turn_over", "completed")


async def test_a_request_that_is_sent_again_with_its_key_adds_nothing_whatever_is_in_it() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        block = {"type": "block", "block": {"type": "narrative", "text": "Cold."}}
        said = [
            {"type": "usage", "usage": {"input_tokens": 3, "output_tokens": 2}},
            *(block, {"type": "state", "set": {"city": "Oslo"}}, block),
            *({"type": "message", "role": "assistant", "content": "Hm"}, {"type": "call", "name": "look"}),
        ]
        headers = {"Turn-Token": loop.token, "Idempotency-Key": "once"}
        for _ in range(3):
            added = await client.post(f"{loop.path}/entries", json={"entries": said}, headers=headers)
            assert added.status_code == 200, added.text
        messages = (await client.get(path)).json()["messages"]
        assert [message["content"] for message in messages] == [HELLO["content"], "", "", "Hm", ""]
        assert [len(message["blocks"]) for message in messages] == [0, 1, 1, 0, 0]
        other = await client.post(f"{loop.path}/entries", json={"entries": [block]}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


async def test_a_stopped_turn_is_told_to_its_loop_and_keeps_what_was_written() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        await loop.post("draft", offset=0, text="Once upon")
        assert (await client.post(f"{path}/cancel")).json()["state"] == "cancelled"
        for verb, body in (
            ("draft", {"offset": 9, "text": " a time"}),
            ("entries", {"entries": [{"type": "call", "name": "x"}]}),
            ("settle", {"state": "completed"}),
        ):
            answer = await loop.post(verb, **body)
            assert (answer.status_code, answer.json()["code"], answer.json()["state"]) == (
                409,
                "turn_over",
                "cancelled",
            )
        answer = (await client.get(path)).json()["messages"][-1]
        assert (answer["content"], answer["status"]) == ("Once upon", "interrupted")


async def test_a_turn_begun_twice_with_one_id_is_one_and_the_later_token_holds() -> None:
    async with served() as client:
        path = await conversation(client)
        first = await Loop.begin(client, path, turn_id="run-1")
        again = await client.post(f"{path}/turns", json=HELLO | {"turn_id": "run-1"})
        assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
        second = Loop(client, path, again.json())
        assert second.number == first.number
        assert (await first.post("draft", offset=0, text="a")).json()["code"] == "turn_over"
        assert (await second.post("draft", offset=0, text="b")).json() == {"offset": 1}
        other = await client.post(f"{path}/turns", json={"content": "Something else", "turn_id": "run-1"})
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


async def test_a_call_waits_for_a_person_and_the_loop_takes_the_turn_up_again() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        await loop.post("entries", entries=[{"type": "call", "id": "c1", "name": "pay"}])
        assert (await loop.post("settle", state="waiting", calls=["c1"])).json()["state"] == "waiting"
        approved = await client.post(f"{path}/approve", json={"tool_call_id": "c1", "approved": True, "reason": "ok"})
        assert approved.status_code == 200
        seen = (await client.get(loop.path)).json()
        assert seen["decisions"] == [{"tool_call_id": "c1", "approved": True, "reason": "ok"}]
        taken = Loop(client, path, (await client.post(f"{loop.path}/lease")).json())
        await taken.post("entries", entries=[{"type": "result", "call": "c1", "content": "paid"}])
        await taken.post("draft", offset=0, text="Paid.")
        assert (await taken.post("settle", state="completed")).json()["state"] == "completed"
        assert (await client.get(path)).json()["messages"][-1]["content"] == "Paid."


async def test_history_of_any_role_is_added_without_a_turn() -> None:
    async with served() as client:
        path = await conversation(client)
        said = [
            {"type": "message", "role": "system", "content": "Be brief.", "id": "m0"},
            {"type": "message", "role": "user", "content": "Hi", "id": "m1"},
            {"type": "message", "role": "assistant", "content": "Hello!", "id": "m2"},
        ]
        for _ in range(2):
            added = await client.post(f"{path}/entries", json={"entries": said})
            assert [entry["id"] for entry in added.json()["entries"]] == ["m0", "m1", "m2"]
        assert len((await client.get(path)).json()["messages"]) == 3


async def test_a_turn_whose_loop_is_gone_is_interrupted_and_never_answered_by_our_model() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        await loop.post("draft", offset=0, text="Half an ans")
        store = store_behind(client)
        (turn,) = await store.turns(LOCAL, path.rpartition("/")[2])
        runner = app_runner(client)
        assert await runner.recover() == 0  # its lease has not run out
        lease = await store.take(turn, "loop", runner.deps.lease_for * 0)
        assert lease.fence == 2
        assert await runner.recover() == 1

        async def is_over() -> bool:
            return (await client.get(path)).json()["ended"] is not None

        await until(is_over)
        whole = (await client.get(path)).json()
        assert (whole["ended"]["state"], whole["ended"]["detail"][:8]) == ("interrupted", "the loop")
        assert [message["content"] for message in whole["messages"]] == [HELLO["content"], "Half an ans"]


async def test_a_queued_turn_begins_when_the_one_before_it_ends() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        queued = await client.post(f"{path}/turns", json={"content": "And then?"})
        assert (queued.status_code, queued.json()["state"], queued.json()["token"]) == (202, "queued", None)
        number = queued.json()["turn"]
        assert (await client.post(f"{path}/turns/{number}/lease")).status_code == 404
        await loop.post("settle", state="completed")

        async def is_mine() -> bool:
            return (await client.post(f"{path}/turns/{number}/lease")).status_code == 200

        await until(is_mine)
        store = store_behind(client)
        page = await store.log(LOCAL, path.rpartition("/")[2], Cursor())
        assert [entry.body.role for entry in page.entries if entry.body.kind == "message"] == ["user", "user"]


async def test_lines_of_json_run_a_turn_in_one_request() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        lines = [
            b'{"type": "reasoning", "text": "Hm"}\n{"type": "text", "te',
            b'xt": "I look."}\n\n{"type": "call", "id": "c1", "name": "weather"}\n',
            b'{"type": "result", "call": "c1", "content": "4"}\n',
            b'{"type": "text", "text": "It is "}\n{"type": "text", "text": "4."}\n',
            b'{"type": "settle", "state": "completed"}',
        ]

        async def body() -> Any:
            for line in lines:
                yield line
                await asyncio.sleep(0)

        answer = await client.post(f"{loop.path}/stream", content=body(), headers={"Turn-Token": loop.token})
        assert answer.status_code == 200
        last = json.loads(answer.text.split("\n")[-2])
        assert (last["lines"], last["state"]) == (7, "completed"), answer.text
        messages = (await client.get(path)).json()["messages"]
        assert [message["content"] for message in messages] == [HELLO["content"], "I look.", "4", "It is 4."]


async def test_a_stream_that_is_cut_goes_on_in_another() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        headers = {"Turn-Token": loop.token}
        await client.post(f"{loop.path}/stream", content=b'{"type": "text", "text": "Half "}\n', headers=headers)
        draft = (await client.get(loop.path)).json()["draft"]
        assert (draft["text"], draft["offset"]) == ("Half ", 5)
        rest = b'{"type": "text", "text": "and half."}\n{"type": "settle", "state": "completed"}\n'
        await client.post(f"{loop.path}/stream", content=rest, headers=headers)
        (_, answer) = (await client.get(path)).json()["messages"]
        assert (answer["content"], answer["status"]) == ("Half and half.", "complete")
        wrong = await client.post(f"{loop.path}/stream", content=b"x", headers=headers)
        assert (wrong.status_code, wrong.json()["code"]) == (409, "turn_over")
