"""The server of MCP with the official clients of PyPI and npm, and the official conformance suite."""

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import MCPError
from mcp.client.client import ConnectMode

from tests.browser.waiting import patiently
from tests.clients import NODE, client
from tests.documents import ROOT
from tests.integration.breaking import places
from tests.integration.killable import killable
from tests.integration.mcp_clients import ERAS, NEW, OLD, call, mcp_client
from tests.integration.obliging import obliging
from tests.integration.serving import PATIENCE, Server, serving
from tests.unit.threadkeep_protocols.dialects.serving import HELPER
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.scope import LOCAL
from threadkeep.llm.base import Text
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant

READING = ["search_conversations", "read_conversation"]
ALL = [*READING, "append_note", "send_message"]
CONFORMANCE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
OURS = {
    "2025-11-25": "server-initialize ping tools-list resources-list dns-rebinding-protection",
    NEW: "tools-list resources-list dns-rebinding-protection caching http-header-validation "
    "sep-2164-resource-not-found server-stateless",
}
"""The scenarios that fit any server. All others call tools and prompts of the suite's own example server."""
NOT_OURS = {
    "sep-2549-prompts-list-caching-hints": "there are no prompts",
    "sep-2575-server-rejects-undeclared-capability": "calls a tool of the example server",
    "sep-2575-missing-capability-http-400": "calls a tool of the example server",
    "sep-2575-http-server-no-independent-requests-on-stream": "calls a tool of the example server",
    "sep-2575-server-no-log-without-loglevel": "calls a tool of the example server",
}


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_sent_and_noted_is_found_and_read_and_is_what_the_log_holds(era: ConnectMode) -> None:
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        async with mcp_client(server, ada, era) as client:
            assert [each.name for each in (await client.list_tools()).tools] == ALL
            sent = await call(client, "send_message", text="My name is Alice.")
            assert (sent["state"], sent["is_error"]) == ("completed", False)
            again = await call(client, "send_message", text="What is my name?", conversation=sent["conversation"])
            assert again["answer"] == again["text"] == "Your name is Alice."
            note = await call(client, "append_note", text="Zebras are striped.", conversation=sent["conversation"])
            found = await call(client, "search_conversations", query="zebras")
            assert [(hit["conversation"], hit["entry"]) for hit in found["hits"]] == [
                (sent["conversation"], note["entry"])
            ]
            read = await call(client, "read_conversation", conversation=sent["conversation"])
            log = (await server.client.get(f"/v1/conversations/{sent['conversation']}", headers=ada)).json()["messages"]
            assert [each["entry"] for each in read["messages"]] == [each["seq"] for each in log]
            assert all(each["content"] in read["text"] for each in log)
            (listed,) = (await client.list_resources()).resources
            assert listed.uri == f"threadkeep://conversation/{sent['conversation']}"
            (whole,) = (await client.read_resource(listed.uri)).contents
            assert getattr(whole, "text", None) == read["text"]


@pytest.mark.parametrize("era", ERAS)
async def test_who_may_only_read_gets_the_reading_tools_and_can_call_no_other(era: ConnectMode) -> None:
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        made = await server.client.post("/v1/tokens", json={"access": "read", "seconds": 60}, headers=ada)
        async with mcp_client(server, {"Authorization": f"Bearer {made.json()['token']}"}, era) as client:
            assert [each.name for each in (await client.list_tools()).tools] == READING
            for name in ("append_note", "send_message"):
                refused = await call(client, name, text="hello")
                assert (refused["is_error"], refused["code"]) == (True, "not_allowed")
            assert (await call(client, "search_conversations", query="hello"))["hits"] == []
        assert (await server.client.get("/v1/conversations", headers=ada)).json()["data"] == []


async def test_nobody_reaches_what_is_somebody_elses() -> None:
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        _, bob = await server.key("acme", "bob")
        _, stranger = await server.key("globex", "ada")
        _, admin = await server.key("acme", "root", KeyRole.ADMIN)
        async with mcp_client(server, ada) as client:
            hers = (await call(client, "append_note", text="A secret of zebras"))["conversation"]
        for other in (bob, stranger, admin):
            async with mcp_client(server, other) as client:
                assert (await client.list_resources()).resources == []
                assert (await call(client, "search_conversations", query="zebras"))["hits"] == []
                for name, arguments in (
                    ("read_conversation", {}),
                    ("search_conversations", {"query": "zebras"}),
                    ("append_note", {"text": "mine"}),
                    ("send_message", {"text": "mine"}),
                ):
                    refused = await call(client, name, conversation=hers, **arguments)
                    unknown = await call(client, name, conversation="never-made", **arguments)
                    assert refused == unknown
                    assert refused.get("code", "none") == "conversation_not_found"
                with pytest.raises(MCPError, match="There is no such conversation"):
                    await client.read_resource(f"threadkeep://conversation/{hers}")
        read = await server.client.get(f"/v1/conversations/{hers}", headers=ada)
        assert [each["content"] for each in read.json()["messages"]] == ["A secret of zebras"]


async def test_what_comes_twice_with_one_key_is_done_once_and_a_key_is_for_one_thing() -> None:
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        async with mcp_client(server, ada) as client:
            for name in ("append_note", "send_message"):
                twice = [call(client, name, text="Once.", key=f"{name}-1") for _ in range(5)]
                answers = await asyncio.gather(*twice)
                assert [each for each in answers if each != answers[0]] == []
                other = await call(client, name, text="Something else.", key=f"{name}-1")
                assert (other["is_error"], other["code"]) == (True, "idempotency_key_reused")
        assert len((await server.client.get("/v1/conversations", headers=ada)).json()["data"]) == 2


async def test_an_answer_is_written_whether_somebody_waits_for_it_or_not() -> None:
    written = asyncio.Event()
    model = ScriptedModel([Text("It is "), written, *says("here.")], says("Nothing."))
    async with serving(model=model, assistants=[HELPER], protocols="mcp") as server:
        async with mcp_client(server, {}, OLD) as client:
            asked = asyncio.create_task(call(client, "send_message", text="Where?", wait=600))
            await until_running(server)
            asked.cancel()
        async with mcp_client(server, {}) as client:
            (row,) = (await server.client.get("/v1/conversations")).json()["data"]
            more = await call(client, "send_message", text="And then?", conversation=row["id"], wait=0)
            assert more["state"] in ("queued", "running")
            written.set()
            end = await server.conversations.at(LOCAL, row["id"]).turn(more["turn"]).outcome()
            assert end.message is not None
            read = await call(client, "read_conversation", conversation=row["id"])
        assert "It is here." in read["text"]
        assert "Nothing." in read["text"]


async def test_a_call_whose_answer_is_cut_is_sent_again_with_its_key_and_done_once() -> None:
    chance, names = random.Random(27), ("send_message", "append_note")
    async with obliging() as server:
        for number in range(places(30)):
            name, key = names[number % 2], f"call {number}"
            asked = {"text": f"number {number} of them", "key": key}
            cut = chance.randrange(500)
            with pytest.raises(ExceptionGroup):
                async with mcp_client(server, {}, breaks=lambda request, cut=cut: cut) as weak:  # type: ignore[misc]
                    await weak.call_tool(name, asked)
            async with mcp_client(server, {}) as client:
                done = await call(client, name, **asked)
                read = await call(client, "read_conversation", conversation=done["conversation"])
            assert len(read["messages"]) == 1 + (name == "send_message"), (cut, read["text"])
            listed = (await server.client.get("/v1/conversations", params={"limit": 1})).json()["data"]
            assert listed[0]["id"] == done["conversation"], "there is one conversation for each key"


async def test_a_message_survives_its_server_and_its_key_finds_the_answer(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"text": "count 40", "key": "once", "wait": 600}
    calls: list[asyncio.Task[Any]] = []
    async with killable(tmp_path, pace=0.02) as server:

        async def ask_and_kill() -> None:
            async with mcp_client(server, {}) as client:
                calls.append(asyncio.create_task(call(client, "send_message", **asked)))
                await _written(server.url, "8 9 10 ")
                await server.kill()
                await calls[0]

        with pytest.raises(ExceptionGroup):
            await ask_and_kill()
        await asyncio.gather(*calls, return_exceptions=True)
        await server.start()
        async with mcp_client(server, {}) as client:
            done = await call(client, "send_message", **asked)
            assert done["state"] == "completed"
            read = await call(client, "read_conversation", conversation=done["conversation"])
            assert "8 9 10 " in read["text"], "what was said before"
            assert done["answer"] in read["text"]
            assert len((await client.list_resources()).resources) == 1


async def _written(url: str, text: str) -> None:
    """Wait until this was written in the only conversation of a server."""
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as http:
        rows: list[Any] = []

        async def is_begun() -> bool:
            rows[:] = (await http.get("/v1/conversations")).json()["data"]
            return bool(rows)

        await patiently(is_begun)
        said = ""
        async with http.stream("GET", f"/v1/conversations/{rows[0]['id']}/events?after=0") as events:
            async for line in events.aiter_lines():
                said += json.loads(line[5:]).get("text", "") if line.startswith("data:") else ""
                if text in said:
                    return


async def until_running(server: Server) -> None:
    """Wait until a turn runs."""
    async with asyncio.timeout(PATIENCE):
        while not server.conversations.admission.running:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.01)


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.mark.server_may_fail
async def test_a_turn_that_waits_for_a_person_or_fails_says_so() -> None:
    payer = Assistant(name="payer", instructions="Pay.", tools=Registry([pay]))
    model = ScriptedModel(wants(("call_1", "pay", {"amount": 5})), [ValueError("no")])
    async with serving(model=model, assistants=[payer], protocols="mcp") as server, mcp_client(server, {}) as client:
        asked = await call(client, "send_message", text="Pay 5.")
        assert (asked["state"], asked["calls"]) == (
            "waiting",
            [{"id": "call_1", "name": "pay", "args": {"amount": 5}}],
        )
        await server.client.post(f"/v1/conversations/{asked['conversation']}/cancel")
        failed = await call(client, "send_message", text="Pay 6.")
        assert (failed["state"], failed["is_error"]) == ("failed", True)
        assert failed["code"]


def test_the_official_suite_finds_nothing_wrong(tmp_path: Path) -> None:
    asyncio.run(_conformance(tmp_path))


async def _conformance(folder: Path) -> None:
    async with serving(protocols="mcp") as server:
        await server.client.post("/v1/conversations", json={"title": "To be listed"})
        for spec, names in OURS.items():
            await _node(CONFORMANCE, *_flags(server, spec), "--output-dir", str(folder / spec), status=1)
            checked = {name: _checks(folder / spec, name) for name in names.split()}
            assert all(any(each["status"] == "SUCCESS" for each in checks) for checks in checked.values()), checked
            wrong = [each for checks in checked.values() for each in checks if each["status"] == "FAILURE"]
            assert {each["id"] for each in wrong} <= NOT_OURS.keys(), wrong


def _flags(server: Server, spec: str) -> list[str]:
    return ["server", "--url", f"{server.url}/mcp", "--suite", "all", "--spec-version", spec]


def _checks(folder: Path, scenario: str) -> list[dict[str, Any]]:
    (found,) = folder.glob(f"server-{scenario}-2*")
    checks: list[dict[str, Any]] = json.loads((found / "checks.json").read_text(encoding="utf-8"))
    return checks


async def _node(program: str, *arguments: str, status: int = 0) -> str:
    """Run a program of the pinned clients and return what it wrote."""
    process = await asyncio.create_subprocess_exec(
        NODE, program, *arguments, cwd=client("mcp"), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    text, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == status, text.decode()
    return text.decode()


async def test_the_example_asks_notes_and_finds() -> None:
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        arguments = (str(ROOT / "examples" / "mcp_memory.py"), f"{server.url}/mcp", ada["Authorization"].split()[1])
        for _ in range(2):  # a second time nothing is done twice
            process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
            told, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
            assert told.decode().splitlines() == [
                f"tools: {', '.join(ALL)}",
                "answer: Nice to meet you, Alice!",
                "found: Decided: the library closes at eight.",
                "read: # My name is Alice",
            ]


async def test_the_client_of_npm_does_the_same() -> None:
    program = Path(__file__).with_name("javascript") / "mcp_client.mjs"
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        told = json.loads(await _node(str(program), str(client("mcp")), server.url, ada["Authorization"]))
    assert told == {"tools": ALL, "answer": "Your name is Bea.", "found": 1, "resources": 1, "refused": True}
