"""assistant-ui's routes with its published client: `AssistantCloud` in Node; who may see what; what is no message."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import documents
from tests.backends import url_of
from tests.clients import NODE, client, node_tests
from tests.integration.obliging import obliging
from tests.integration.serving import PATIENCE, Server
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL

TESTS = Path(__file__).parent / "assistant_ui" / "cloud.test.mjs"
ROOT = "/assistant-ui/v1"
HELLO = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
KEPT = {"parent_id": None, "format": "ai-sdk/v6", "content": HELLO}


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_the_client_of_assistant_cloud_does_what_its_own_tests_say(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with obliging(url_of(backend, tmp_path, request), pace=0.002) as server:
        await node_tests("assistant-ui", TESTS, tmp_path, THREADKEEP_URL=server.url)


def test_the_how_to_names_the_releases_that_the_tests_drive() -> None:
    page = (documents.ROOT / "docs" / "howto" / "use-assistant-ui.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith("npm install "))
    named = dict(each.rsplit("@", 1) for each in line.split()[2:])
    manifest = documents.ROOT / "requirements" / "clients" / "assistant-ui" / "package.json"
    pinned = json.loads(manifest.read_text(encoding="utf-8"))["dependencies"]
    assert named == {name: pinned[name] for name in named}


SIGNS_IN = """
import { AssistantCloud } from "assistant-cloud";
const [url, apiKey, userId, workspaceId] = process.argv.slice(1);
const baseUrl = `${url}/assistant-ui`;
const server = new AssistantCloud({ baseUrl, apiKey, userId, workspaceId });
const browser = new AssistantCloud({ baseUrl, authToken: async () => (await server.auth.tokens.create()).token });
const { thread_id } = await browser.threads.create({ title: "Hers", last_message_at: new Date() });
const { threads } = await server.threads.list();
const other = new AssistantCloud({ baseUrl, apiKey, userId: "bob", workspaceId });
const nobody = new AssistantCloud({ baseUrl, anonymous: true });
const failed = async (asked) => asked.then(() => "done", (error) => error.status ?? error.message);
const told = [
  threads.map(({ id }) => id === thread_id),
  (await other.threads.list()).threads,
  await failed(other.threads.get(thread_id)),
  await failed(nobody.threads.list()),
  await failed(new AssistantCloud({ baseUrl, apiKey, userId, workspaceId: "globex" }).threads.list()),
];
console.log(JSON.stringify(told));
"""


async def test_a_service_names_its_user_and_gets_tokens_for_the_browser_of_that_one() -> None:
    async with obliging(auth="keys") as server:
        _, service = await server.key("acme", "backend", KeyRole.SERVICE)
        arguments = [server.url, service["Authorization"].split()[1], "ada", "acme"]
        program = await asyncio.create_subprocess_exec(
            NODE,
            *("--input-type=module", "--eval", SIGNS_IN, "--", *arguments),
            cwd=client("assistant-ui"),
            env=dict(os.environ),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert told.decode().strip() == '[[true],[],404,"Authorization failed",403]'


async def thread_of(server: Server, headers: dict[str, str]) -> str:
    """Make a thread with a message and a file, and return its path."""
    made = await server.client.post(f"{ROOT}/threads", json={}, headers=headers)
    path = f"{ROOT}/threads/{made.json()['thread_id']}"
    assert (await server.client.post(f"{path}/messages", json=KEPT, headers=headers)).status_code == 201
    return path


async def test_nobody_reaches_what_is_somebody_elses() -> None:
    async with obliging(auth="keys") as server:
        ask = server.client.request
        _, ada = await server.key("acme", "ada")
        hers = await thread_of(server, ada)
        id, said = hers.rpartition("/")[2], (await ask("GET", f"{hers}/messages", headers=ada)).json()["messages"][0]
        begun = await ask("POST", f"{ROOT}/files/attachments/generate-presigned-upload-url", json={}, headers=ada)
        put, shown, key = (begun.json()[name] for name in ("signedUrl", "publicUrl", "key"))
        assert (await ask("PUT", put, content=b"hers")).status_code == 204
        assert (await ask("GET", shown)).content == b"hers"
        for tenant, user, role in (
            ("acme", "bob", KeyRole.USER),
            ("globex", "ada", KeyRole.USER),
            ("acme", "root", KeyRole.ADMIN),
        ):
            _, other = await server.key(tenant, user, role)
            mine = await thread_of(server, other)
            asked: list[tuple[str, str, dict[str, Any] | None]] = [
                ("GET", hers, None),
                ("PUT", hers, {"title": "mine"}),
                ("DELETE", hers, None),
                ("GET", f"{ROOT}/threads?after={id}", None),
                ("GET", f"{hers}/messages", None),
                ("POST", f"{hers}/messages", KEPT),
                ("PUT", f"{hers}/messages/{said['id']}", {"content": HELLO}),
                ("PUT", f"{mine}/messages/{said['id']}x", {"content": HELLO}),
                ("POST", f"{hers}/messages/{said['id']}/feedback", {"type": "positive"}),
                ("POST", f"{ROOT}/runs/stream", {"thread_id": id, "assistant_id": "system/thread_title"}),
                ("POST", f"{ROOT}/files/attachments/generate-presigned-download-url", {"key": key}),
                ("POST", f"{ROOT}/files/attachments/generate-presigned-download-url", {"url": shown}),
            ]
            for method, path, body in asked:
                refused = await ask(method, path, json=body, headers=other)
                assert refused.status_code == 404, (method, path, refused.text)
            file = {"type": "file", "mediaType": "text/plain", "url": shown}
            send = {"id": "theirs", "message": {"id": "m", "parts": [file, {"type": "text", "text": "read"}]}}
            assert (await ask("POST", "/ai-sdk/chat", json=send, headers=other)).status_code == 404
            threads = (await ask("GET", f"{ROOT}/threads", headers=other)).json()["threads"]
            assert id not in [each["id"] for each in threads]
        assert (await ask("GET", f"{hers}/messages", headers=ada)).json()["messages"] == [said]


DEEP: Any = []
for _ in range(100):
    DEEP = [DEEP]
HOSTILE: list[tuple[str, str, Any]] = [
    ("POST", "/threads", {"title": 5}),
    ("POST", "/threads", {"title": "x" * 501}),
    ("POST", "/threads", {"metadata": [1]}),
    ("POST", "/threads", {"metadata": {"deep": DEEP}}),
    ("POST", "/threads", "nothing"),
    ("PUT", "/threads/{id}", {"title": "\ud800"}),
    ("PUT", "/threads/{id}", {"is_archived": "perhaps"}),
    ("GET", "/threads?limit=0", None),
    ("GET", "/threads?limit=1000000", None),
    ("GET", "/threads/{id}/messages?limit=-1", None),
    ("GET", "/threads/{id}/messages?after=nowhere", None),
    ("POST", "/threads/{id}/messages", {}),
    ("POST", "/threads/{id}/messages", {**KEPT, "content": []}),
    ("POST", "/threads/{id}/messages", {**KEPT, "content": {"role": "tool"}}),
    ("POST", "/threads/{id}/messages", {**KEPT, "content": {}}),
    ("POST", "/threads/{id}/messages", {**KEPT, "parent_id": "nowhere"}),
    ("POST", "/threads/{id}/messages", {**KEPT, "parent_id": 7}),
    ("POST", "/threads/{id}/messages", {**KEPT, "format": ""}),
    ("POST", "/threads/{id}/messages", {**KEPT, "content": {"role": "user", "parts": DEEP}}),
    ("PUT", "/threads/{id}/messages/nowhere", {"content": HELLO}),
    ("POST", "/threads/{id}/messages/nowhere/feedback", {"type": "positive"}),
    ("POST", "/threads/{id}/messages/{said}/feedback", {"type": "so-so"}),
    ("POST", "/threads/{id}/messages/{said}/feedback", {"type": "positive", "comment": "x" * 2001}),
    ("POST", "/runs/stream", {"thread_id": "nowhere", "assistant_id": "system/thread_title"}),
    ("POST", "/runs/stream", {"thread_id": "{id}", "assistant_id": "mine"}),
    ("POST", "/files/attachments/generate-presigned-upload-url", {"filename": 7}),
    ("POST", "/files/attachments/generate-presigned-download-url", {}),
    ("POST", "/files/attachments/generate-presigned-download-url", {"url": "https://169.254.169.254/"}),
    ("POST", "/files/attachments/generate-presigned-download-url", {"key": "../../etc/passwd"}),
]
STRANGE: list[dict[str, Any]] = [
    {"role": "assistant", "parts": "none"},
    {"role": "assistant", "parts": [None, 7, {"type": "text"}, {"type": "text", "text": 5}, {"type": ["text"]}]},
    {"role": "assistant", "parts": [{"type": "file"}, {"type": "image", "image": "/v1/files/x"}]},
    {"role": "assistant", "content": 9, "metadata": {"turn": 10**30}},
    {"role": "assistant", "parts": [], "metadata": {"turn": True, "custom": {"turn": -1}}},
    {"role": "assistant", "parts": [], "metadata": [1]},
    {"role": "user", "parts": [{"type": "text", "text": "\0 and <script>"}]},
]


async def test_what_is_hostile_is_refused_and_what_is_strange_is_kept_as_it_is() -> None:
    async with obliging() as server:
        path = await thread_of(server, {})
        id = path.rpartition("/")[2]
        said = (await server.client.get(f"{path}/messages")).json()["messages"][0]["id"]
        for method, where, body in HOSTILE:
            answer = await _ask(server, method, ROOT + where.format(id=id, said=said), body)
            assert 400 <= answer.status_code < 500, (method, where, body, answer.text)
            told = answer.json()
            assert told["message"], answer.text
            assert told["error"], answer.text
        assert [each["id"] for each in (await server.client.get(f"{path}/messages")).json()["messages"]] == [said]
        parent: str | None = None
        for content in STRANGE:
            given = {"parent_id": parent, "format": "aui/v0", "content": content}
            made = await server.client.post(f"{path}/messages", json=given)
            assert made.status_code == 201, made.text
            parent = made.json()["message_id"]
        for form in ("aui/v0", "ai-sdk/v6", "else"):
            rows = await server.client.get(f"{path}/messages", params={"format": form})
            assert rows.status_code == 200
            if form == "aui/v0":
                assert [row["content"] for row in rows.json()["messages"]][: len(STRANGE)] == STRANGE[::-1]


async def _ask(server: Server, method: str, path: str, body: Any) -> httpx.Response:
    content = None if body is None else json.dumps(body)
    return await server.client.request(method, path, content=content, headers={"content-type": "application/json"})


async def test_a_message_that_comes_several_times_is_kept_once() -> None:
    async with obliging() as server:
        made = await server.client.post(f"{ROOT}/threads", json={})
        path = f"{ROOT}/threads/{made.json()['thread_id']}/messages"
        for _ in range(2):
            sent = await asyncio.gather(*(server.client.post(path, json=KEPT) for _ in range(5)))
            assert len({each.json()["message_id"] for each in sent}) == 1
        assert len((await server.client.get(path)).json()["messages"]) == 1


async def test_a_long_thread_is_listed_page_by_page_with_all_parents() -> None:
    async with obliging() as server:
        made = await server.client.post(f"{ROOT}/threads", json={})
        id = made.json()["thread_id"]
        chat = server.conversations.at(LOCAL, id)
        roles = (Role.USER, Role.ASSISTANT)
        told = await chat.append(*(Message(role=roles[number % 2], content=f"{number}") for number in range(500)))
        beside = await chat.append(Message(role=Role.USER, content="beside"), parent=told[99].seq)
        found: list[dict[str, Any]] = []
        for _ in range(3):
            after = {"after": found[-1]["id"]} if found else {}
            asked = {"format": "ai-sdk/v6", "limit": 200, **after}
            answer = await server.client.get(f"{ROOT}/threads/{id}/messages", params=asked)
            found += answer.json()["messages"]
        ids = [entry.body.id for entry in (*told, *beside) if isinstance(entry.body, Message)]
        assert [each["id"] for each in reversed(found)] == ids
        parents = [None, *ids[:499], ids[99]]
        assert [each["parent_id"] for each in reversed(found)] == parents
        kept = {**KEPT, "parent_id": ids[3], "content": {"role": "user", "parts": [{"type": "text", "text": "4"}]}}
        known = await server.client.post(f"{ROOT}/threads/{id}/messages", json=kept)
        assert known.json() == {"message_id": ids[4]}
