"""What arrives at `/mcp` and is no good message of the protocol."""

import json
from typing import Any

import pytest

from tests.integration.serving import Server, assert_problem, serving
from threadkeep.settings import Settings

BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
NEW = {
    **BOTH,
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


async def call(server: Server, name: str, arguments: Any, **headers: str) -> dict[str, Any]:
    """Call a tool with one bare request, and return the result."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"_meta": META, "name": name, "arguments": arguments},
    }
    sent = await server.client.post("/mcp", json=body, headers={**NEW, "Mcp-Name": name, **headers})
    assert sent.status_code == 200, sent.text
    result: dict[str, Any] = sent.json()["result"]
    return result


BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"[" * 100_000,
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":{},"method":"tools/list","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":3,"arguments":[]}}',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
    b"\xff\xfe\x00",
]


async def test_what_is_no_message_is_refused_and_nothing_fails() -> None:
    async with serving(protocols="mcp") as server:
        for headers in (BOTH, NEW):
            for body in BODIES:
                answer = await server.client.post("/mcp", content=body, headers=headers)
                assert answer.status_code < 500, (headers, body[:80], answer.text)
                assert answer.status_code >= 400 or "error" in answer.text, (headers, body[:80], answer.text)
        for headers in ({}, {"Accept": "application/json"}, {**BOTH, "Content-Type": "text/plain"}):
            assert 400 <= (await server.client.post("/mcp", content=b"{}", headers=headers)).status_code < 500
        for method in ("GET", "DELETE", "PUT"):
            assert_problem(await server.client.request(method, "/mcp"), 405, "method_not_allowed")


ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("search_conversations", {}),
    ("search_conversations", {"query": ""}),
    ("search_conversations", {"query": "a" * 1001}),
    ("search_conversations", {"query": "a", "limit": 0}),
    ("search_conversations", {"query": "a", "limit": 10**30}),
    ("search_conversations", {"query": "a", "after": "nothing of ours"}),
    ("search_conversations", {"query": "a\x00", "order": "worst"}),
    ("search_conversations", {"query": "a", "conversation": "../../etc"}),
    ("read_conversation", {"conversation": "a/b"}),
    ("read_conversation", {"conversation": "a", "messages": "3"}),
    ("read_conversation", {"conversation": "a", "before": -1}),
    ("append_note", {"text": "a", "role": "system"}),
    ("append_note", {"text": "a", "user": "bob"}),
    ("append_note", {"text": "a", "key": ""}),
    ("append_note", {"text": ["a"]}),
    ("send_message", {"text": "a", "wait": 601}),
    ("send_message", {"text": "a", "assistant": "nobody"}),
]


async def test_arguments_that_are_no_good_are_told_to_the_model_and_store_nothing() -> None:
    async with serving(protocols="mcp") as server:
        for name, arguments in ARGUMENTS:
            result = await call(server, name, arguments)
            assert result["isError"], (name, arguments)
            assert result["structuredContent"]["code"], (name, arguments)
        sent = {"text": "a lone \ud800"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        body["params"] = {"_meta": META, "name": "append_note", "arguments": sent}
        raw = json.dumps(body).encode()
        answer = await server.client.post("/mcp", content=raw, headers={**NEW, "Mcp-Name": "append_note"})
        assert answer.status_code < 500
        assert "error" in answer.text.lower()
        assert (await server.client.get("/v1/conversations")).json()["data"] == []


async def test_it_is_closed_to_strangers_to_tokens_for_one_conversation_and_to_other_sites() -> None:
    async with serving(auth="keys", protocols="mcp") as server:
        _, ada = await server.key("acme", "ada")
        assert_problem(await server.client.post("/mcp", json={}), 401, "not_authenticated")
        foreign = {"Origin": "https://elsewhere.example"}
        assert_problem(await server.client.post("/mcp", json={}, headers={**ada, **foreign}), 403, "foreign_origin")
        id = (await server.client.post("/v1/conversations", json={}, headers=ada)).json()["id"]
        asked = {"access": "write", "seconds": 60, "conversation": id}
        token = (await server.client.post("/v1/tokens", json=asked, headers=ada)).json()["token"]
        refused = await server.client.post("/mcp", json={}, headers={"Authorization": f"Bearer {token}"})
        assert_problem(refused, 403, "not_allowed")


async def test_it_counts_towards_the_limits_of_requests_and_streams() -> None:
    async with serving(protocols="mcp", user_requests_per_second=0.1) as server:
        answers = [await server.client.post("/mcp", content=b"{}", headers=BOTH) for _ in range(3)]
        assert_problem(answers[-1], 429, "rate_limited")


async def test_it_is_off_unless_it_is_switched_on() -> None:
    async with serving() as server:
        assert_problem(await server.client.post("/mcp", json={}), 404, "not_found")


def test_an_unknown_protocol_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="there is no protocol mpc"):
        Settings(protocols="mpc")
