"""Each native endpoint over a real socket, on real stores: what it answers, and how it refuses."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from httpx_sse import ServerSentEvent

from tests.integration.serving import AT_ONCE, EVENTS, PATIENCE, Server, assert_problem, serving, told, told_until
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import Text
from threadkeep.testing.samples import NO_TIME
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant

ODD = "CR\rLF\nCRLF\r\nNUL\x00 LS\u2028PS\u2029NEL\x85 VT\x0b end\n\n"


@tool(repeatable=True)
async def odd() -> str:
    """Give back characters that break lines."""
    return ODD


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


HELPER = Assistant(name="helper", instructions="Help.", tools=Registry([odd, pay]))


@pytest.fixture
def store(lane: str) -> str:
    """The URL of an empty store of each kind that servers use."""
    return lane


async def titled(server: Server) -> str:
    """A conversation that has a title, so that no turn gives it one."""
    return await server.conversation(title="Named")


async def test_a_conversation_is_created_listed_read_changed_deleted_and_brought_back(store: str) -> None:
    async with serving(store) as server:
        client = server.client
        fields = {"title": "Trip", "system": "Be kind.", "metadata": {"a": [1, None, "ü"]}, "assistant": "chat"}
        created = await client.post("/v1/conversations", json=fields)
        path, version = created.headers["location"], created.headers["etag"]
        assert (created.status_code, path) == (201, f"/v1/conversations/{created.json()['id']}")
        assert fields.items() <= created.json().items()
        assert_problem(await client.post("/v1/conversations", json={"assistant": "nobody"}), 400, "invalid_value")
        assert_problem(await client.post("/v1/conversations", json={"model": "no:such"}), 400, "invalid_value")
        assert_problem(await client.patch(path, json={"model": "none"}), 400, "invalid_value")
        assert_problem(await client.patch(path, json={"assistant": "nobody"}), 400, "invalid_value")
        assert_problem(await client.post("/v1/conversations", json={"titel": "x"}), 422, "invalid_request")
        other = await server.conversation(title="Other")
        page = (await client.get("/v1/conversations", params={"limit": 1})).json()
        rest = (await client.get("/v1/conversations", params={"limit": 1, "after": page["next"]})).json()
        assert [row["title"] for row in page["data"] + rest["data"]] == ["Other", "Trip"]
        assert rest["next"] is None
        assert_problem(await client.get("/v1/conversations", params={"after": "x"}), 400, "invalid_cursor")
        assert_problem(await client.get("/v1/conversations", params={"limit": 0}), 422, "invalid_request")
        whole = await client.get(path)
        assert (whole.headers["etag"], whole.json()["messages"], whole.json()["version"]) == (version, [], 1)
        changed = await client.patch(path, json={"title": "Trip 2"}, headers={"If-Match": version})
        assert (changed.json()["title"], changed.headers["etag"]) == ("Trip 2", '"2"')
        stale = await client.patch(path, json={"archived": True}, headers={"If-Match": version})
        assert_problem(stale, 412, "stale_version")
        assert (await client.patch(path, json={"archived": True}, headers={"If-Match": "*"})).json()["archived"]
        assert_problem(await client.patch(path, json={}), 400, "invalid_value")
        assert_problem(await client.patch(path, json={"title": "x"}, headers={"If-Match": "x"}), 400, "invalid_value")
        gone = await client.delete(path)
        assert (gone.status_code, gone.content) == (204, b"")
        for method in ("GET", "DELETE"):
            assert_problem(await client.request(method, path), 404, "conversation_not_found")
        assert (await client.post(f"{path}/restore")).json()["title"] == "Trip 2"
        assert (await client.get(path)).status_code == 200
        assert_problem(await client.post(f"{other}/restore"), 404, "conversation_not_found")
        await client.delete(path)
        await server.conversations._store.operations.purge(NO_TIME)
        assert_problem(await client.post(f"{path}/restore"), 404, "conversation_not_found")


async def test_a_message_is_answered_streamed_whole_or_later(store: str) -> None:
    async with serving(store, ScriptedModel(says("One ", "two."), says("Three."), says("Four."))) as server:
        path = await titled(server)
        streamed = await server.say(path, "count", **EVENTS)
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert (streamed.headers["cache-control"], streamed.headers["x-accel-buffering"]) == (
            "no-store, no-transform",
            "no",
        )
        names = [line.removeprefix("event: ") for line in streamed.text.splitlines() if line.startswith("event: ")]
        assert names[0] == "message.completed"
        assert names[-1] == "turn.completed"
        whole = (await server.say(path, "go on")).json()
        assert (whole["turn"]["state"], whole["message"]["content"]) == ("completed", "Three.")
        later = await server.say(path, "more", **AT_ONCE)
        assert (later.status_code, later.headers["preference-applied"]) == (202, "respond-async")
        number = later.json()["turn"]["id"]
        events = await told_until(server.client, f"{path}/events?after=0", "turn.completed")
        while events[-1].json()["turn"] != number:
            events = await told_until(
                server.client, f"{path}/events", "turn.completed", **{"Last-Event-ID": events[-1].id}
            )
        messages = (await server.client.get(path)).json()["messages"]
        assert [item["content"] for item in messages] == ["count", "One two.", "go on", "Three.", "more", "Four."]
        assert_problem(await server.client.post(f"{path}/messages", json={"content": ""}), 422, "invalid_request")
        missing = await server.client.post("/v1/conversations/none/messages", json={"content": "x"})
        assert_problem(missing, 404, "conversation_not_found")


async def test_a_key_answers_again_as_the_first_time_and_refuses_another_body(store: str) -> None:
    model = ScriptedModel(says("Once."), says("Again."))
    async with serving(store, model) as server:
        key = {"Idempotency-Key": "k1"}
        path = await titled(server)
        first, second = await server.say(path, "hi", **key), await server.say(path, "hi", **key)
        assert first.json() == second.json()
        assert ("idempotency-replayed" in first.headers, second.headers["idempotency-replayed"]) == (False, "true")
        assert "turn.completed" in (await server.say(path, "hi", **key, **EVENTS)).text
        assert_problem(await server.say(path, "ho", **key), 422, "idempotency_key_reused")
        assert_problem(await server.say(path, "hi", **{"Idempotency-Key": "x" * 256}), 400, "invalid_value")
        made = [await server.client.post("/v1/conversations", json={"title": "T"}, headers=key) for _ in range(2)]
        assert made[0].json()["id"] == made[1].json()["id"]
        assert made[1].headers["idempotency-replayed"] == "true"
        again = [await server.client.post(f"{path}/regenerate", headers=key) for _ in range(2)]
        assert [each.json()["message"]["content"] for each in again] == ["Again.", "Again."]
        assert again[1].headers["idempotency-replayed"] == "true"
    model.assert_finished()


async def test_twenty_concurrent_sends_with_one_key_make_one_turn(store: str) -> None:
    model = ScriptedModel(says("Only once."))
    async with serving(store, model) as server:
        path = await titled(server)
        sends = [server.say(path, "hi", **{"Idempotency-Key": "k"}, **(EVENTS if n % 2 else {})) for n in range(20)]
        answers = await asyncio.gather(*sends)
        assert {answer.status_code for answer in answers} == {200}
        assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
        assert all("Only once." in answer.text for answer in answers)
        assert len((await server.client.get(path)).json()["messages"]) == 2
    model.assert_finished()


async def test_a_stale_head_is_refused_with_the_new_one_and_nothing_is_stored(store: str) -> None:
    async with serving(store, ScriptedModel(says("Hi."), says("Yes."))) as server:
        path = await titled(server)
        head = (await server.say(path, "hello")).json()["message"]["seq"]
        before = (await server.client.get(path)).json()
        stale = await server.client.post(f"{path}/messages", json={"content": "x", "expected_head": 1})
        assert_problem(stale, 409, "stale_head")
        assert stale.json()["head"] == head
        assert (await server.client.get(path)).json() == before
        fresh = await server.client.post(f"{path}/messages", json={"content": "x", "expected_head": head})
        assert fresh.json()["message"]["content"] == "Yes."
        orphan = await server.client.post(f"{path}/messages", json={"content": "x", "parent": 999})
        assert orphan.status_code in (400, 404)


async def test_each_policy_says_what_becomes_of_the_running_turn(store: str) -> None:
    gate = asyncio.Event()
    stuck: list[Step] = [Text("I am "), gate]
    model = ScriptedModel(stuck, says("Instead."), stuck, says("Back."), stuck, says("Queued."))
    async with serving(store, model) as server:
        path = await titled(server)

        async def send(content: str, policy: str, **headers: str) -> httpx.Response:
            body = {"content": content, "policy": policy}
            return await server.client.post(f"{path}/messages", json=body, headers=headers)

        async def begin() -> None:
            sent = await send("begin", "queue", **AT_ONCE)
            after = sent.json()["turn"]["id"]
            async with asyncio.timeout(PATIENCE), aclosing(told(server.client, f"{path}/events?after=0")) as events:
                async for event in events:
                    if event.event == "message.started" and event.json()["turn"] == after:
                        return

        await begin()
        assert_problem(await send("x", "reject"), 409, "conversation_busy")
        assert (await send("x", "interrupt")).json()["message"]["content"] == "Instead."
        await begin()
        assert (await send("x", "rollback")).json()["message"]["content"] == "Back."
        await begin()
        queued = await send("x", "queue", **AT_ONCE)
        assert queued.json()["turn"]["state"] == "queued"
        running, waiting = (await server.client.get(path)).json()["turns"]
        assert (running["message"], waiting["message"]["content"]) == (None, "x")
        cancelled = (await server.client.post(f"{path}/cancel")).json()
        assert cancelled["state"] == "cancelled"
        assert_problem(await send("x", "whatever"), 422, "invalid_request")
        async with asyncio.timeout(PATIENCE), aclosing(told(server.client, f"{path}/events?after=0")) as events:
            names = [event.event async for event in _up_to(events, "Queued.")]
        assert (names.count("turn.interrupted"), names.count("turn.cancelled")) == (2, 1)
    model.assert_finished()


async def _up_to(events: AsyncIterator[ServerSentEvent], content: str) -> AsyncIterator[ServerSentEvent]:
    """Yield events up to the message that says this."""
    async for event in events:
        yield event
        if event.event == "message.completed" and event.json()["message"]["content"] == content:
            return


async def test_there_is_nothing_to_cancel_regenerate_or_approve_in_an_empty_conversation(store: str) -> None:
    async with serving(store) as server:
        path = await titled(server)
        assert_problem(await server.client.post(f"{path}/cancel"), 404, "turn_not_found")
        assert_problem(await server.client.post(f"{path}/regenerate"), 400, "invalid_parent")
        body = {"tool_call_id": "c", "approved": True}
        assert_problem(await server.client.post(f"{path}/approve", json=body), 404, "turn_not_found")


async def test_an_answer_is_made_again_beside_the_first_and_either_can_be_chosen(store: str) -> None:
    async with serving(store, ScriptedModel(says("First."), says("Second."))) as server:
        path = await titled(server)
        first = (await server.say(path, "hi")).json()["message"]
        second = (await server.client.post(f"{path}/regenerate")).json()["message"]
        assert (second["content"], second["siblings"]) == ("Second.", [first["seq"], second["seq"]])
        tree = (await server.client.get(f"{path}/tree")).json()
        assert [(each["head"], each["is_current"], each["preview"]) for each in tree["branches"]] == [
            (first["seq"], False, "First."),
            (second["seq"], True, "Second."),
        ]
        parted = {"entry": first["parent"], "branch": first["seq"], "preview": "hi", "role": "user"}
        assert [each["parted"] for each in tree["branches"]] == [None, parted]
        assert [each["updated_at"] for each in tree["branches"]] == [first["created_at"], second["created_at"]]
        shown = (await server.client.get(path, params={"head": first["seq"]})).json()
        assert (shown["messages"][-1]["content"], shown["head"]) == ("First.", second["seq"])
        stale = await server.client.put(f"{path}/head", json={"head": first["seq"]}, headers={"If-Match": '"9"'})
        assert_problem(stale, 412, "stale_version")
        chosen = await server.client.put(f"{path}/head", json={"head": first["seq"]})
        assert chosen.json()["head"] == first["seq"]
        assert (await server.client.get(path)).json()["messages"][-1]["content"] == "First."
        around = (await server.client.get(path, params={"around": second["seq"]})).json()
        assert (around["messages"][-1]["content"], around["branch"], around["after"]) == (
            "Second.",
            second["seq"],
            None,
        )
        assert around["head"] == first["seq"]
        for limit in (1, 2, 3):
            page = (await server.client.get(path, params={"around": 1, "limit": limit})).json()["messages"]
            assert [message["seq"] for message in page] == [1, first["seq"]][:limit]
        assert (await server.client.put(f"{path}/head", json={"head": 999})).status_code in (400, 404)
        for number in (-1, 0, 2**53 + 1, 10**30):
            for wrong in ({"before": 1, "head": number}, {"before": number}, {"around": number}):
                assert_problem(await server.client.get(path, params=wrong), 422, "invalid_request")
            assert_problem(await server.client.get(f"{path}/export", params={"head": number}), 422, "invalid_request")


@pytest.mark.parametrize("approved", [True, False])
async def test_a_turn_that_waits_for_a_person_goes_on_when_it_is_answered(store: str, approved: bool) -> None:
    model = ScriptedModel(wants(("call_1", "pay", {"amount": 5})), says("Done."))
    async with serving(store, model, [HELPER]) as server:
        path = await titled(server)
        assert (await server.say(path, "pay")).json()["turn"]["state"] == "waiting"
        assert (await server.client.get(path)).json()["turns"][0]["calls"] == ["call_1"]
        body = {"tool_call_id": "call_1", "approved": approved}
        wrong = await server.client.post(f"{path}/approve", json=body | {"tool_call_id": "call_2"})
        assert_problem(wrong, 404, "turn_not_found")
        assert (await server.client.post(f"{path}/approve", json=body)).status_code == 200
        events = await told_until(server.client, f"{path}/events?after=0", "turn.completed")
        (result,) = [event.json() for event in events if event.event == "tool.result"]
        assert (result["content"] == "paid 5") is approved
        assert (await server.client.post(f"{path}/approve", json=body)).status_code == 200, "the same answer again"


async def test_events_go_on_from_any_cursor_and_a_forged_one_is_refused(store: str) -> None:
    async with serving(store, ScriptedModel(wants(("c1", "odd", {}), ("c2", "odd", {})), says("Done.")), [HELPER]) as s:
        path = await titled(s)
        await s.say(path, "go")
        events = await told_until(s.client, f"{path}/events?after=0", "turn.completed")
        ids = [event.id for event in events]
        assert len(set(ids)) == len(ids)
        for place, event in enumerate(events[:-1]):
            for query, headers in ((f"?after={event.id}", {}), ("?after=0", {"Last-Event-ID": event.id})):
                rest = await told_until(s.client, f"{path}/events{query}", "turn.completed", **headers)
                assert [(each.id, each.event, each.data) for each in rest] == [
                    (each.id, each.event, each.data) for each in events[place + 1 :]
                ]
        other = await titled(s)
        for forged in (ids[0][:-1], ids[0] + "A", "x", "9" * 15, "é", ids[0].swapcase()):
            answer = await s.client.get(f"{path}/events", params={"after": forged})
            assert_problem(answer, 400, "invalid_cursor")
        assert_problem(await s.client.get(f"{other}/events", params={"after": ids[0]}), 400, "invalid_cursor")


async def test_every_character_comes_out_as_it_went_in(store: str) -> None:
    is_read = asyncio.Event()
    answer: list[Step] = [*map(Text, ODD), is_read, *says(".")]
    async with serving(store, ScriptedModel(wants(("c1", "odd", {})), answer), [HELPER]) as server:
        path, raw = await server.conversation(title=ODD), b""
        async with server.client.stream("POST", f"{path}/messages", json={"content": ODD}, headers=EVENTS) as stream:
            async for piece in stream.aiter_bytes():
                raw += piece
                if b"text.delta" in raw:
                    is_read.set()
        fields = {line.partition(b":")[0] for line in raw.split(b"\n")}
        assert fields <= {b"", b"id", b"event", b"data", b"retry"}
        assert b"\r" not in raw
        streamed = [json.loads(line[6:]) for line in raw.split(b"\n") if line.startswith(b"data: ")]
        replayed = [
            event.json() for event in await told_until(server.client, f"{path}/events?after=0", "turn.completed")
        ]
        for events in (streamed, replayed):
            contents = [event["message"]["content"] for event in events if isinstance(event.get("message"), dict)]
            assert contents == [ODD, "", ODD + "."]
            assert [event["content"] for event in events if "tool_call_id" in event] == [ODD]
        assert "".join(event["text"] for event in streamed if "text" in event) == ODD + "."
        assert (await server.client.get(path)).json()["title"] == ODD
        await server.client.patch(path, json={"title": ODD * 2})
        events = await told_until(server.client, f"{path}/events?after=0", "conversation.updated")
        assert events[-1].json()["title"] == ODD * 2


async def test_the_list_tells_what_happens_in_it(store: str) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([gate, *says("Done.")])
    async with (
        asyncio.timeout(PATIENCE),
        serving(store, model) as server,
        aclosing(told(server.client, "/v1/events")) as events,
    ):
        first = asyncio.ensure_future(anext(events))
        await server.until_streams(1)
        path = await titled(server)
        id = path.rpartition("/")[2]
        created = await first
        assert (created.event, created.json()["id"], created.json()["turn"]) == ("conversation.created", id, None)
        await server.client.patch(path, json={"title": "New"})
        assert (await _named(events, "conversation.updated"))["title"] == "New"
        await server.say(path, "hi", **AT_ONCE)
        assert (await _named(events, "conversation.updated"))["turn"] == "running"
        assert await _named(events, "conversation.running") == {"id": id}
        async with aclosing(told(server.client, "/v1/events")) as late:
            assert await _named(late, "conversation.running") == {"id": id}
        gate.set()
        while (await _named(events, "conversation.updated"))["turn"] is not None:
            pass  # a reader that is slow hears of the running turn a second time
        await server.client.delete(path)
        assert await _named(events, "conversation.deleted") == {"id": id}


async def _named(events: AsyncIterator[ServerSentEvent], name: str) -> dict[str, Any]:
    async for event in events:
        if event.event == name:
            found: dict[str, Any] = event.json()
            assert found.pop("type") == name
            return found
    raise AssertionError("the stream ended")


async def test_what_was_said_is_found_and_exported(store: str) -> None:
    async with serving(store, ScriptedModel(says("The answer is pineapple."))) as server:
        path = await titled(server)
        await server.say(path, "What fruit?")
        (hit,) = (await server.client.get("/v1/search", params={"q": "pineapple"})).json()["data"]
        assert (hit["conversation"], hit["role"]) == (path.rpartition("/")[2], "assistant")
        start, end = hit["highlights"][0]
        assert hit["snippet"][start:end].lower() == "pineapple"
        assert (await server.client.get("/v1/search", params={"q": "durian"})).json() == {"data": [], "next": None}
        assert_problem(await server.client.get("/v1/search", params={"q": "?!"}), 400, "invalid_search")
        assert_problem(await server.client.get("/v1/search"), 422, "invalid_request")
        for form, kind in (("json", "application/json"), ("markdown", "text/markdown"), ("html", "text/html")):
            file = await server.client.get(f"{path}/export", params={"format": form})
            assert file.headers["content-type"].partition(";")[0] == kind
            assert file.headers["content-disposition"].startswith("attachment;")
            assert "pineapple" in file.text
        assert len((await server.client.get(f"{path}/export")).json()["entries"]) >= 4
        assert_problem(await server.client.get(f"{path}/export?format=pdf"), 422, "invalid_request")


async def test_a_conversation_whose_model_is_gone_is_a_conflict_that_the_client_can_settle(store: str) -> None:
    async with serving(store) as server:
        made = await server.conversations.create(model="gone", title="Kept")
        path = f"/v1/conversations/{made.id}"
        for _ in range(2):
            answer = await server.say(path, "Hello", **{"Idempotency-Key": "k"})
            assert_problem(answer, 409, "unknown_model")
            assert answer.json()["turn"] == 1
        dialect = await server.client.post("/api/v1/chat", json={"message": "Hello", "session_id": made.id})
        assert_problem(dialect, 409, "unknown_model")
        assert dialect.json()["session_id"] == made.id
        assert (await server.client.patch(path, json={"model": "demo"})).status_code == 200
        again = await server.client.post(f"{path}/regenerate")
        assert again.json()["turn"]["state"] == "completed"


async def test_the_server_says_what_is_there_and_how_it_is_doing(store: str) -> None:
    async with serving(store, assistants=[HELPER]) as server:
        get = server.client.get
        (assistant,) = (await get("/v1/assistants")).json()["data"]
        assert (assistant["name"], assistant["tools"]) == ("helper", ["odd", "pay"])
        models = (await get("/v1/models")).json()
        assert (models["default"]["name"], models["default"]["is_scripted"]) == ("demo", True)
        assert "demo" in models["data"]
        way = getattr(store, "way", None)
        me = {
            "tenant": "local",
            "user": "local",
            "role": "user" if way == "service" else "admin",
            "signed_in": bool(way),
        }
        assert (await get("/v1/me")).json().items() >= me.items()
        for path in ("/health/live", "/health/ready"):
            assert (await get(path)).json() == {"status": "ok"}
        metrics, usage = await get("/metrics"), await get("/v1/admin/usage")
        # Whoever signs in sees no figures of all tenants, and a service none of its tenant.
        assert "threadkeep_open_streams 0" in metrics.text if way is None else metrics.status_code == 403
        assert usage.status_code == 403 if way == "service" else usage.json()["tenant"]["conversations"] == 0


def test_help_loads_neither_the_server_nor_langchain() -> None:
    program = "import sys; from threadkeep.cli.main import main; sys.argv = ['threadkeep', '--help']\n"
    program += "try: main()\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"fastapi", "starlette", "uvicorn", "langchain", "langchain_core", "langgraph", "pydantic"}
    assert "threadkeep.server" not in done.stderr.split()


async def test_how_the_newest_turn_ended_is_told_after_a_reload_too(store: str) -> None:
    async with serving(store, ScriptedModel([ModelRefused("Not today.")], says("Yes."))) as server:
        path = await server.conversation(title="Kept")
        assert (await server.client.get(path)).json()["ended"] is None
        await server.say(path, "May I?")
        failed = (await server.client.get(path)).json()
        assert (failed["turns"], failed["ended"]["state"]) == ([], "failed")
        assert "Not today." in failed["ended"]["failure"]["detail"]
        await server.say(path, "And now?")
        assert (await server.client.get(path)).json()["ended"]["state"] == "completed"


async def test_a_turn_that_ends_while_a_conversation_is_read_is_not_told_without_its_answer(store: str) -> None:
    gate = asyncio.Event()
    async with serving(store, ScriptedModel([Text("Now"), gate, *says(" done.")])) as server:
        path = await server.conversation(title="Kept")
        await server.client.post(f"{path}/messages", json={"content": "Go"}, headers=AT_ONCE)
        gate.set()
        is_open = True
        while is_open:
            read = (await server.client.get(path)).json()
            is_open = bool(read["turns"])
            said = [message["content"] for message in read["messages"]]
            assert said == (["Go"] if is_open else ["Go", "Now done."])
