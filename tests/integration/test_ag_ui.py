"""AG-UI and CopilotKit as their users have them: `HttpAgent` and `CopilotKitCore` in Node, against a real server."""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.backends import url_of
from tests.clients import NODE, client, node_tests
from tests.documents import ROOT, blocks_of
from tests.integration.obliging import obliging
from tests.integration.serving import PATIENCE, Server
from threadkeep.conversation.scope import LOCAL

HERE = Path(__file__).parent / "ag_ui"
CLIENTS = "ag-ui"
HOSTILE: list[Any] = [
    b"",
    b"{",
    b"[" * 100_000,
    {},
    {"threadId": "", "runId": "r"},
    {"threadId": "t", "runId": "r", "messages": "no"},
    {"threadId": "t", "runId": "r", "messages": [{"role": "emperor"}]},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": ""}]},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "\x00\ud800"}]},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": [{"type": "image", "source": 5}]}]},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": {"a": [[]]}}]},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": "a"}], "tools": [{"name": "a b"}]},
    {"threadId": "t", "runId": "r", "resume": [{"interruptId": "x", "status": "perhaps"}]},
    {"threadId": "x" * 3000, "runId": "r"},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": [{"type": "text", "text": "\ud800"}]}]},
    {"threadId": "t", "runId": "r", "messages": [{"role": "user", "content": [{"type": "audio", "source": {}}]}]},
]


@pytest.mark.parametrize("backend", ["memory", "postgresql"])
async def test_http_agent_does_what_its_own_tests_say(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = "memory:" if backend == "memory" else url_of(backend, tmp_path, request)
    async with obliging(store, pace=0.002) as server:
        await node_tests(CLIENTS, HERE / "agents.test.mjs", tmp_path, THREADKEEP_URL=server.url)


@pytest.mark.parametrize("transport", ["rest", "single"])
async def test_copilotkit_does_what_its_own_tests_say(transport: str, tmp_path: Path) -> None:
    async with obliging(pace=0.002) as server:
        tests = HERE / "copilotkit.test.mjs"
        await node_tests(CLIENTS, tests, tmp_path, THREADKEEP_URL=server.url, TRANSPORT=transport)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_an_answer_survives_its_server(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = url_of(backend, tmp_path, request)
    tests = HERE / "killed.test.mjs"
    await node_tests(CLIENTS, tests, tmp_path, PYTHON=sys.executable, ROOT=str(ROOT), STORE=store)


async def _said(server: Server, who: dict[str, str], path: str, thread: str, *contents: str) -> str:
    messages = [{"id": content, "role": "user", "content": content} for content in contents]
    body = {"threadId": thread, "runId": f"run-{'-'.join(contents)}", "messages": messages}
    answer = await server.client.post(path, json=body, headers=who)
    assert answer.status_code == 200, answer.text
    return answer.text


async def test_nobody_sees_or_changes_the_threads_of_others() -> None:
    async with obliging(auth="keys") as server:
        (_, ada), (_, bob), (_, eve) = [await server.key(*who) for who in (("a", "ada"), ("a", "bob"), ("b", "ada"))]
        await _said(server, ada, "/ag-ui/helper", "plans", "secret")
        for other in (bob, eve):
            for path in ("/ag-ui/helper/connect", "/copilotkit/agent/helper/connect"):
                told = await _said(server, other, path, "plans")
                assert "RUN_FINISHED" in told
                assert "MESSAGES_SNAPSHOT" not in told
            listed = await server.client.get("/copilotkit/threads", headers=other)
            assert listed.json()["threads"] == []
            for method, path in (
                ("POST", "/ag-ui/helper/stop/plans"),
                ("POST", "/copilotkit/agent/helper/stop/plans"),
                ("PATCH", "/copilotkit/threads/plans"),
                ("POST", "/copilotkit/threads/plans/archive"),
                ("DELETE", "/copilotkit/threads/plans"),
            ):
                answer = await server.client.request(method, path, json={"name": "mine"}, headers=other)
                assert (answer.status_code, answer.json()["code"]) == (404, "conversation_not_found")
            assert "secret" not in await _said(server, other, "/ag-ui/helper", "plans", "mine")
        told = await _said(server, ada, "/ag-ui/helper/connect", "plans")
        assert "secret" in told
        assert "mine" not in told
        made = await server.client.post("/v1/tokens", json={"access": "read", "seconds": 60}, headers=ada)
        reader = {"Authorization": f"Bearer {made.json()['token']}"}
        assert "secret" in await _said(server, reader, "/copilotkit/agent/default/connect", "plans")
        for path in ("/ag-ui/helper", "/ag-ui/helper/stop/plans", "/copilotkit"):
            body = {"threadId": "plans", "runId": "r", "method": "info"}
            assert (await server.client.post(path, json=body, headers=reader)).status_code == 403
        nobody = await server.client.post("/ag-ui/helper", json={"threadId": "plans", "runId": "r"})
        assert nobody.status_code == 401


@pytest.mark.parametrize("path", ["/ag-ui/helper", "/copilotkit/agent/helper/run", "/copilotkit"])
async def test_what_nobody_should_send_is_refused_with_a_code_and_stores_nothing(path: str) -> None:
    async with obliging() as server:
        for body in HOSTILE:
            how: dict[str, Any] = {"content": body}
            if not isinstance(body, bytes):
                enveloped = {"method": "agent/run", "params": {"agentId": "helper"}, "body": body}
                how = {"content": json.dumps(enveloped if path == "/copilotkit" else body)}
            answer = await server.client.post(path, **how)
            assert answer.status_code in (400, 413, 422), (body, answer.text)
            assert answer.json()["code"]
        assert (await server.client.post("/ag-ui/nobody", json={"threadId": "t", "runId": "r"})).status_code == 400
        for sent in (
            {"method": "agent/run", "params": {}, "body": {}},
            {"method": "fly"},
            {"method": "resource/request", "params": {"httpMethod": "GET", "path": "/threads?limit=a"}},
            {"method": "resource/request", "params": {"httpMethod": "GET", "path": "/threads?" + "a&" * 100}},
            {"method": "resource/request", "params": {"httpMethod": "PATCH", "path": "//[threads"}},
        ):
            assert (await server.client.post("/copilotkit", json=sent)).status_code in (400, 422), sent
        lost = {"method": "resource/request", "params": {"httpMethod": "GET", "path": "/memories"}}
        assert (await server.client.post("/copilotkit", json=lost)).status_code == 404
        told = await server.client.get("/v1/conversations/t")
        assert told.status_code == 404 or told.json()["messages"] == []


async def test_thousands_of_messages_from_elsewhere_are_kept_once() -> None:
    async with obliging() as server:
        roles = ("user", "assistant")
        messages = [{"id": f"m{at}", "role": roles[at % 2], "content": f"{at}"} for at in range(2000)]
        for said in ("now", "then"):
            messages.append({"id": said, "role": "user", "content": said})
            body = {"threadId": "long", "runId": said, "messages": messages}
            answer = await server.client.post("/ag-ui/helper", json=body)
            assert f'"delta":"{said} "' in answer.text
        kept = server.conversations.at(LOCAL, "long")
        assert await kept.reading.count() == 2004


async def test_a_run_whose_message_has_no_id_is_done_once_too() -> None:
    async with obliging() as server:
        body = {"threadId": "t", "runId": "r\n", "messages": [{"role": "user", "content": "hello"}]}
        for _ in range(2):
            answer = await server.client.post("/ag-ui/helper", json=body)
            assert "hello " in answer.text
        assert await server.conversations.at(LOCAL, "t").reading.count() == 2


async def test_the_program_of_the_how_to_runs(tmp_path: Path) -> None:
    (program,) = (block.text for block in blocks_of("docs/howto/use-ag-ui.md") if block.kind == "ts")
    (tmp_path / "node_modules").symlink_to(client(CLIENTS) / "node_modules")
    async with obliging() as server:
        here = program.replace("http://127.0.0.1:8000/ag-ui/chat", f"{server.url}/ag-ui/helper")
        (tmp_path / "program.mjs").write_text(
            f"{here}console.log(agent.messages.map(({{ content }}) => content).join());"
        )
        ran = await asyncio.create_subprocess_exec(NODE, tmp_path / "program.mjs", stdout=asyncio.subprocess.PIPE)
        told, _ = await asyncio.wait_for(ran.communicate(), PATIENCE)
    assert told.decode() == "Hello!,Hello! \n"


async def test_the_example_goes_on_in_its_thread(tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(client(CLIENTS) / "node_modules")
    shutil.copy(ROOT / "examples" / "ag_ui_chat.mjs", tmp_path)
    async with obliging(auth="keys") as server:
        _, ada = await server.key("acme", "ada")
        chosen = {
            "THREADKEEP_URL": server.url,
            "THREADKEEP_KEY": ada["Authorization"].split()[1],
            "ASSISTANT": "helper",
        }
        for question, answer, told in (
            ("first", b"", "user: first\nfirst \n"),
            ("use remove\ndone", b"yes\n", "assistant: first \n"),
            ("", b"", "assistant: done [removed hall 0]\n"),
        ):
            program = await asyncio.create_subprocess_exec(
                *(NODE, tmp_path / "ag_ui_chat.mjs", question),
                env=os.environ | chosen,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            shown, _ = await asyncio.wait_for(program.communicate(answer), PATIENCE)
            assert program.returncode == 0
            assert told in shown.decode()
