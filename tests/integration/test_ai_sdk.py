"""The AI SDK as its users have it: the `Chat` class of `ai` 5, 6 and 7 in Node, against a real server; who may see
what; what is no request of it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients import node_tests
from tests.documents import ROOT
from tests.integration.obliging import obliging
from tests.integration.serving import Server
from threadkeep.conversation.api_key import KeyRole

HERE = Path(__file__).parent / "ai_sdk"
RELEASES = (5, 6, 7)
API = "/ai-sdk/chat"


@pytest.mark.parametrize("release", RELEASES)
async def test_the_chat_class_does_what_its_own_tests_say(release: int, tmp_path: Path) -> None:
    async with obliging(pace=0.002) as server:
        tests = HERE / "chat.test.mjs"
        await node_tests(f"ai-sdk-{release}", tests, tmp_path, RELEASE=str(release), THREADKEEP_URL=server.url)


@pytest.mark.parametrize("release", RELEASES)
async def test_an_answer_survives_its_server(release: int, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    tests, own = HERE / "killed.test.mjs", f"ai-sdk-{release}"
    await node_tests(own, tests, tmp_path, RELEASE=str(release), PYTHON=sys.executable, ROOT=str(ROOT), STORE=store)


def asked(text: str, **more: Any) -> dict[str, Any]:
    """Return a request of a chat that several people name alike."""
    return {"id": "plans", "message": {"id": f"m-{text}", "parts": [{"type": "text", "text": text}]}, **more}


async def _send(server: Server, who: dict[str, str], body: dict[str, Any]) -> str:
    answer = await server.client.post(API, json=body, headers=who)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_nobody_sees_or_changes_the_chats_of_others() -> None:
    tools: Any = {"paint": {}}
    async with obliging(auth="keys") as server:
        _, ada = await server.key("acme", "ada")
        await _send(server, ada, asked("use paint", tools=tools))
        waits = (await server.client.get(f"{API}/plans", headers=ada)).json()
        ours = (await server.client.get("/v1/conversations", headers=ada)).json()["data"][0]["id"]
        done = {**waits[1]["parts"][-1], "state": "output-available", "output": "stolen"}
        for tenant, user, role in (
            ("acme", "bob", KeyRole.USER),
            ("globex", "ada", KeyRole.USER),
            ("acme", "root", KeyRole.ADMIN),
        ):
            _, other = await server.key(tenant, user, role)
            for name in ("plans", ours):
                assert (await server.client.get(f"{API}/{name}/stream", headers=other)).status_code == 204
                for method, path in (("GET", name), ("DELETE", name), ("POST", f"{name}/stop")):
                    refused = await server.client.request(method, f"{API}/{path}", headers=other)
                    assert (refused.status_code, refused.json()["code"]) == (404, "conversation_not_found")
                going_on = {"id": name, "messages": [waits[0], {**waits[1], "parts": [done]}]}
                answer = await server.client.post(API, json=going_on, headers=other)
                assert (answer.status_code, answer.json()["code"]) == (404, "turn_not_found"), answer.text
            assert (await server.client.get(f"{API}/plans", headers=other)).json() == []
            assert "paint" not in await _send(server, other, asked("mine"))
            assert len((await server.client.get(API, headers=other)).json()["chats"]) == 2
        assert (await server.client.get(f"{API}/plans", headers=ada)).json() == waits
        made = await server.client.post("/v1/tokens", json={"access": "read", "seconds": 60}, headers=ada)
        reader = {"Authorization": f"Bearer {made.json()['token']}"}
        assert (await server.client.get(f"{API}/plans", headers=reader)).json() == waits
        for method, path in (("POST", API), ("DELETE", f"{API}/plans"), ("POST", f"{API}/plans/stop")):
            refused = await server.client.request(method, path, json=asked("hello"), headers=reader)
            assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        assert (await server.client.post(API, json=asked("hello"))).status_code == 401
        assert "[painted]" in await _send(
            server, ada, {"id": "plans", "messages": [waits[0], {**waits[1], "parts": [{**done, "output": "painted"}]}]}
        )


DEEP: Any = []
for _ in range(100):
    DEEP = [DEEP]
MANY: Any = {f"tool{number}": {} for number in range(129)}
SAID: Any = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
NO_MESSAGES: list[Any] = ["no", [], [7], [{"role": "emperor"}], [{}]]
NO_TOOLS: list[Any] = [["a"], {"a b": {}}, {"a": 7}, MANY, {"\ud800": {}}]
DECIDED: Any = {"toolCallId": "x", "state": "approval-responded", "approval": {"approved": True}}
NO_ANSWERS: list[Any] = [[], [{}], [DECIDED]]
HOSTILE: list[Any] = [
    *(b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"id":"c","messages":[{"parts":[{"type":"text","text":"\\ud800"}]}]}'),
    *([], 7, {}, {"id": "c"}, {"id": "", "message": SAID}, {"id": "x" * 3000, "message": SAID}),
    *({"id": "c", "messages": given} for given in NO_MESSAGES),
    *({"id": "c", "message": {"parts": given}} for given in (7, DEEP, [], [7], [{"type": "text", "text": ""}])),
    *({"id": "c", "message": {"parts": [{"type": "text", "text": given}]}} for given in (7, ["a"], {"a": 1}, "\ud800")),
    *(
        {"id": "c", "message": {"parts": [{"type": "file", "url": given}]}}
        for given in (None, 7, "http://127.0.0.1:1/x", "data:;base64", "data:a;base64,!", "/v1/files/../x", "file:///x")
    ),
    *({"id": "c", "message": {"parts": [{"type": "data-x", "data": given}]}} for given in (DEEP, "\ud800")),
    {"id": "c", "messages": [SAID] * 10_001},
    {"id": "c", "message": {"parts": [{"type": "text", "text": "a"}] * 1001}},
    {"id": "c", "message": SAID, "trigger": "fly"},
    {"id": "c", "message": SAID, "assistant": "nobody"},
    {"id": "c", "message": SAID, "assistant": 7},
    *({"id": "c", "message": SAID, "tools": given} for given in NO_TOOLS),
    *(
        {"id": "c", "message": SAID, "tools": {"a": {"parameters": given}}}
        for given in (7, {"a": DEEP}, {"a": "\ud800"})
    ),
    *(
        {"id": "c", "message": {"id": id, "role": "assistant", "parts": given}}
        for id in ("answer-1", "answer-99", "answer-999999999999999", "other")
        for given in NO_ANSWERS
    ),
]
STRANGE: list[Any] = [
    {"toolCallId": "remove-0-0", "state": "approval-responded", "approval": {"approved": "yes"}},
    {"toolCallId": "remove-0-0", "state": "approval-responded", "approval": [True]},
    {"toolCallId": "remove-0-0", "state": "output-available", "output": "removed, I say"},
    {"toolCallId": "remove-0-0", "state": ["output-available"]},
    {"toolCallId": "look-0-0", "state": "approval-responded", "approval": {"approved": True}},
    {"toolCallId": 7, "state": "approval-responded", "approval": {"approved": True}},
]


@pytest.mark.parametrize("api", [API, "/ai-sdk/v5/chat"])
async def test_what_nobody_should_send_is_refused_with_a_code_and_stores_nothing(api: str) -> None:
    async with obliging(max_body_bytes=4_000_000) as server:
        for body in HOSTILE:
            answer = await server.client.post(api, content=body if isinstance(body, bytes) else json.dumps(body))
            assert 400 <= answer.status_code < 500, (str(body)[:300], answer.text[:300])
            assert answer.json()["code"]
        for query in ("limit=0", "limit=1001", "entry=0", "entry=x", f"entry={10**30}", "entry=99"):
            answer = await server.client.get(f"{api}/c?{query}")
            assert 400 <= answer.status_code < 500, (query, answer.text)
        assert (await server.client.get(f"{api}?after=nothing of ours")).status_code == 400
        listed = (await server.client.get("/v1/conversations")).json()["data"]
        for each in listed:
            assert (await server.client.get(f"/v1/conversations/{each['id']}")).json()["messages"] == []


async def test_what_was_not_asked_decides_nothing() -> None:
    async with obliging() as server:
        await _send(server, {}, asked("use remove look"))
        before = (await server.client.get(f"{API}/plans")).json()
        for part in STRANGE:
            body = {"id": "plans", "messages": [before[0], {**before[1], "parts": [{"type": "tool-x", **part}]}]}
            answer = await server.client.post(API, json=body)
            assert answer.status_code < 500, (part, answer.text)
            assert (await server.client.get(f"{API}/plans")).json() == before, part
