"""Sessions: `/api/v1/chat` and `/api/v1/sessions`, with the paths, fields and shapes of R-A5."""

from typing import Any

import pytest

from tests.unit.threadkeep_protocols.dialects.serving import HELPER, OTHER, assert_problem, serving
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import ModelRefused, StoreUnavailable
from threadkeep.settings import DialectSettings, Settings
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.testing.scripted_model import says, wants
from threadkeep.turn.assistant import Assistant

CALL = ("call-1", "get_budget", {"cost_center": "CC-1001"})
KEY = {"Idempotency-Key": "k1"}


async def test_the_first_message_makes_a_session_and_the_next_continues_it() -> None:
    async with serving(says("Hello ", "Alice."), says("Alice.")) as served:
        first = (await served.client.post("/api/v1/chat", json={"message": "I am Alice"})).json()
        assert first["response"] == "Hello Alice."
        assert (first["status"], first["tool_calls"]) == ("completed", [])
        again = {"message": "Who am I?", "session_id": first["session_id"]}
        second = (await served.client.post("/api/v1/chat", json=again)).json()
        assert (second["response"], second["session_id"]) == ("Alice.", first["session_id"])
        assert [message.content for message in served.model.requests[1].messages if message.role == "user"] == [
            "I am Alice",
            "Who am I?",
        ]


@pytest.mark.parametrize("session", [{}, {"session_id": None}, {"session_id": ""}])
async def test_a_missing_null_or_empty_session_is_a_new_one(session: dict[str, Any]) -> None:
    async with serving(says("one"), says("two")) as served:
        ids = [
            (await served.client.post("/api/v1/chat", json={"message": "hi", **session})).json()["session_id"]
            for _ in range(2)
        ]
        assert len(set(ids)) == 2


@pytest.mark.parametrize("unknown", ["sess_20250101_120000_abc12345", "../../etc/passwd", "white space", "x" * 300])
async def test_an_unknown_session_is_not_found_and_nothing_is_made(unknown: str) -> None:
    async with serving() as served:
        answer = await served.client.post("/api/v1/chat", json={"message": "hi", "session_id": unknown})
        assert_problem(answer, 404, "conversation_not_found")
        assert (await served.client.get("/api/v1/sessions")).json() == []


async def test_every_step_of_a_turn_is_in_the_session_with_the_system_message_first() -> None:
    async with serving(wants(CALL), says("15,000 are left.")) as served:
        asked = {"message": "What is left of CC-1001?"}
        answer = (await served.client.post("/api/v1/chat", json=asked)).json()
        assert answer["tool_calls"] == [{"id": CALL[0], "name": CALL[1], "args": CALL[2]}]
        session = (await served.client.get(f"/api/v1/sessions/{answer['session_id']}")).json()
    assert session["session_id"] == answer["session_id"]
    assert session["message_count"] == 5
    bare = {"tool_call_id": None, "tool_calls": None}
    assert session["messages"] == [
        {"role": "system", "content": "Help.", **bare},
        {"role": "user", "content": "What is left of CC-1001?", **bare},
        {"role": "assistant", "content": "", "tool_call_id": None, "tool_calls": answer["tool_calls"]},
        {"role": "tool", "content": '{"budget":50000,"spent":35000}', "tool_call_id": "call-1", "tool_calls": None},
        {"role": "assistant", "content": "15,000 are left.", **bare},
    ]


async def test_sessions_are_listed_with_their_fields_and_further_ones_behind_a_link() -> None:
    async with serving(says("one")) as served:
        first = (await served.client.post("/api/v1/sessions", json={"system": "Be brief."})).json()
        assert first["message_count"] == 1
        await served.client.post(f"/api/v1/sessions/{first['session_id']}/chat", json={"message": "hi"})
        second = await served.client.post("/api/v1/sessions")
        assert second.status_code == 201
        listed = (await served.client.get("/api/v1/sessions")).json()
        assert {item["session_id"]: item["message_count"] for item in listed} == {
            first["session_id"]: 3,
            second.json()["session_id"]: 1,
        }
        assert set(listed[0]) == {"session_id", "created_at", "last_accessed", "message_count"}
        page = await served.client.get("/api/v1/sessions?limit=1")
        assert page.json() == listed[:1]
        assert (await served.client.get(page.links["next"]["url"])).json() == listed[1:]
        whole = (await served.client.get(f"/api/v1/sessions/{first['session_id']}")).json()
        assert whole["messages"][0]["content"] == "Be brief."


async def test_a_deleted_session_is_gone_for_every_call() -> None:
    async with serving() as served:
        id = (await served.client.post("/api/v1/sessions")).json()["session_id"]
        assert (await served.client.delete(f"/api/v1/sessions/{id}")).status_code == 204
        for answer in (
            await served.client.get(f"/api/v1/sessions/{id}"),
            await served.client.delete(f"/api/v1/sessions/{id}"),
            await served.client.post(f"/api/v1/sessions/{id}/chat", json={"message": "hi"}),
        ):
            assert_problem(answer, 404, "conversation_not_found")


async def test_a_session_of_somebody_else_answers_like_a_missing_one() -> None:
    async with serving() as served:
        ada, bob = {"X-User": "ada"}, {"X-User": "bob"}
        id = (await served.client.post("/api/v1/sessions", headers=ada)).json()["session_id"]
        missing = await served.client.get("/api/v1/sessions/nothing", headers=bob)
        foreign = await served.client.get(f"/api/v1/sessions/{id}", headers=bob)
        said = [answer.json() | {"request_id": ""} for answer in (missing, foreign)]
        assert said[0] == said[1]
        sent = await served.client.post("/api/v1/chat", json={"message": "hi", "session_id": id}, headers=bob)
        assert_problem(sent, 404, "conversation_not_found")
        assert (await served.client.get("/api/v1/sessions", headers=bob)).json() == []


async def test_a_first_message_that_is_repeated_with_its_key_is_sent_once() -> None:
    async with serving(says("Hello.")) as served:
        first = await served.client.post("/api/v1/chat", json={"message": "hi"}, headers=KEY)
        again = await served.client.post("/api/v1/chat", json={"message": "hi"}, headers=KEY)
        assert again.json() == first.json()
        assert again.headers["idempotency-replayed"] == "true"
        assert len((await served.client.get("/api/v1/sessions")).json()) == 1
        other = await served.client.post("/api/v1/chat", json={"message": "ho"}, headers=KEY)
        assert_problem(other, 422, "idempotency_key_reused")


@pytest.mark.server_may_fail
async def test_a_retry_after_a_failure_between_conversation_and_message_finds_the_same_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(says("Hello.")) as served:
        with monkeypatch.context() as broken:
            broken.setattr(MemoryStore, "begin", _unavailable)
            failed = await served.client.post("/api/v1/chat", json={"message": "hi"}, headers=KEY)
        assert_problem(failed, 503, "store_unavailable")
        [made] = (await served.client.get("/api/v1/sessions")).json()
        answer = await served.client.post("/api/v1/chat", json={"message": "hi"}, headers=KEY)
        assert (answer.json()["response"], answer.json()["session_id"]) == ("Hello.", made["session_id"])


async def _unavailable(*_: Any) -> None:
    raise StoreUnavailable


async def test_a_refused_first_message_leaves_no_conversation_and_no_key() -> None:
    async with serving(says("Hello.")) as served:
        refused = await served.client.post("/api/v1/chat", json={"message": "x" * 1_100_000}, headers=KEY)
        assert_problem(refused, 413, "content_too_large")
        assert (await served.client.get("/api/v1/sessions")).json() == []
        assert (await served.client.post("/api/v1/chat", json={"message": "hi"}, headers=KEY)).status_code == 200


@pytest.mark.parametrize(
    ("named", "body", "answers"),
    [
        ("other", {}, "other"),
        ("skillian", {}, None),
        ("skillian", {"assistant": "other"}, "other"),
        ("other", {"assistant": "helper"}, "helper"),
    ],
)
async def test_the_dialects_assistant_answers_unless_another_is_named_or_it_is_missing(
    named: str, body: dict[str, str], answers: str | None
) -> None:
    settings = Settings(store="memory:", dialects=DialectSettings(sessions=named))
    async with serving(says("Hello."), settings=settings) as served:
        id = (await served.client.post("/api/v1/chat", json={"message": "hi", **body})).json()["session_id"]
        conversation = (await served.client.get(f"/v1/conversations/{id}")).json()
        assert conversation["assistant"] == answers
        instructions = {"other": OTHER, "helper": HELPER, None: HELPER}[answers].instructions
        assert served.model.requests[0].messages[0].content.startswith(instructions)


async def test_an_assistant_that_is_missing_is_refused_and_nothing_is_changed() -> None:
    async with serving(assistants=(Assistant(name="chat"),)) as served:
        id = (await served.client.post("/api/v1/sessions")).json()["session_id"]
        for session in ({}, {"session_id": id}):
            body = {"message": "hi", "assistant": "nobody", **session}
            assert_problem(await served.client.post("/api/v1/chat", json=body), 400, "invalid_value")
        listed = (await served.client.get("/v1/conversations")).json()["data"]
        assert [(row["id"], row["assistant"], row["version"]) for row in listed] == [(id, None, 1)]


async def test_a_message_can_say_who_answers_from_now_on() -> None:
    async with serving(*[says("Hello.")] * 5) as served:
        id = (await served.client.post("/api/v1/sessions")).json()["session_id"]
        for body in ({}, {"assistant": "other"}, {"assistant": "other"}, {}, {"assistant": "helper"}):
            answer = await served.client.post("/api/v1/chat", json={"message": "hi", "session_id": id, **body})
            assert answer.status_code == 200
        told = [
            request.messages[0].content for request in served.model.requests if request.messages[0].role == "system"
        ]
        answered = [OTHER if text.startswith(OTHER.instructions) else HELPER for text in told]
        assert answered == [HELPER, OTHER, OTHER, OTHER, HELPER]
        log = await served.conversations._store.log(LOCAL, id, Cursor(), limit=100)
        changes = [entry.body for entry in log.entries if isinstance(entry.body, Update) and not entry.body.title]
        assert changes == [Update(assistant="other"), Update(assistant="helper")]


@pytest.mark.server_may_fail
async def test_a_turn_that_fails_is_a_problem_that_names_the_session() -> None:
    async with serving([ModelRefused("The key is wrong.")]) as served:
        answer = await served.client.post("/api/v1/chat", json={"message": "hi"})
        assert_problem(answer, 502, "model_refused")
        session = (await served.client.get(f"/api/v1/sessions/{answer.json()['session_id']}")).json()
        assert [message["role"] for message in session["messages"]] == ["system", "user"]


async def test_an_answer_without_words_says_what_happened() -> None:
    async with serving(says()) as served:
        answer = (await served.client.post("/api/v1/chat", json={"message": "hi"})).json()
        assert answer["response"] == answer["detail"] == "The model gave an empty answer."


@pytest.mark.parametrize("body", [{}, {"message": ""}, {"message": 1}, {"message": "hi", "session_id": 7}, []])
async def test_a_misshapen_body_is_refused(body: Any) -> None:
    async with serving() as served:
        answer = await served.client.post("/api/v1/chat", json=body)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.status_code in (400, 422)


async def test_clearing_a_session_completes_it_keeps_its_system_message_and_deletes_nothing() -> None:
    async with serving(says("Hello Alice."), says("I do not know.")) as served:
        made = (await served.client.post("/api/v1/sessions", json={"system": "Be brief."})).json()
        path = f"/api/v1/sessions/{made['session_id']}"
        await served.client.post(f"{path}/chat", json={"message": "I am Alice"})
        cleared = await served.client.post(f"{path}/clear")
        assert (cleared.status_code, cleared.json()["message_count"]) == (200, 1)
        session = (await served.client.get(path)).json()
        assert [(each["role"], each["content"]) for each in session["messages"]] == [("system", "Be brief.")]
        native = (await served.client.get(f"/v1/conversations/{made['session_id']}")).json()
        assert native["status"] == "completed"
        found = (await served.client.get("/v1/search", params={"q": "Alice"})).json()["data"]
        assert {hit["conversation"] for hit in found} == {made["session_id"]}
        await served.client.post(f"{path}/chat", json={"message": "Who am I?"})
        assert [message.content for message in served.model.requests[1].messages if message.role == "user"] == [
            "Who am I?"
        ]
        assert_problem(await served.client.post("/api/v1/sessions/missing/clear"), 404, "conversation_not_found")


async def test_a_session_that_is_deleted_while_it_is_read_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(says("one"), says("two"), says("three")) as served:
        ids = [(await served.client.post("/api/v1/chat", json={"message": "hi"})).json()["session_id"] for _ in "123"]
        count = MemoryStore.count

        async def deleted_before(store: MemoryStore, scope: Scope, conversation: str, **given: Any) -> int:
            if conversation in ids[:2]:
                await store.delete(scope, conversation)
            return await count(store, scope, conversation, **given)

        monkeypatch.setattr(MemoryStore, "count", deleted_before)
        assert_problem(await served.client.get(f"/api/v1/sessions/{ids[0]}"), 404, "conversation_not_found")
        left = (await served.client.get("/api/v1/sessions")).json()
    assert [session["session_id"] for session in left] == [ids[2]]
