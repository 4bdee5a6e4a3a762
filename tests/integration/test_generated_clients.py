"""Clients that public generators make of docs/reference/openapi.json: they are whole, compile, and talk to a server."""

import asyncio
import os
import re
import subprocess
from pathlib import Path

from tests.clients import NODE, client, framework_python
from tests.contract import FILE
from tests.documents import blocks_of
from tests.integration.serving import Server, serving
from threadkeep.conversation.scope import LOCAL

PATIENCE = 120
NOT_GENERATED = {"GET /v1/export", "POST /v1/conversations/{id}/turns/{turn}/stream"}
"""A body, or an answer, of JSON Lines or of a ZIP archive, which openapi-python-client does not know: see
docs/howto/generate-a-client.md."""

IN_PYTHON = """
import importlib, os, pkgutil
import threadkeep_client as made
from threadkeep_client import AuthenticatedClient
from threadkeep_client.api.conversations import create_v1_conversations_post as create
from threadkeep_client.api.conversations import listing_v1_conversations_get as listing
from threadkeep_client.api.conversations import read_v1_conversations_id_get as read
from threadkeep_client.api.messages import send_v1_conversations_id_messages_post as send
from threadkeep_client.api.reading import search_v1_search_get as search
from threadkeep_client.models import Answered, CreateBody, Problem, SendBody

for module in pkgutil.walk_packages(made.__path__, "threadkeep_client."):
    importlib.import_module(module.name)
with AuthenticatedClient(base_url=os.environ["THREADKEEP_URL"], token=os.environ["THREADKEEP_KEY"]) as client:
    conversation = create.sync(client=client, body=CreateBody(title="Weather"))
    for _ in range(2):
        body = SendBody(content="What is Norwegian for cold?")
        answered = send.sync(conversation.id, client=client, body=body, idempotency_key="1", accept="application/json")
        assert isinstance(answered, Answered), answered
    shown = read.sync(conversation.id, client=client)
    assert [message.role for message in shown.messages] == ["user", "assistant"], shown
    assert shown.messages[1].usage is not None and shown.title == "Weather"
    assert [each.id for each in listing.sync(client=client).data] == [conversation.id]
    assert len(search.sync(client=client, q="Norwegian").data) == 1
    missing = read.sync("00000000-0000-7000-8000-000000000000", client=client)
    assert isinstance(missing, Problem) and missing.status == 404, missing
print("done")
"""

IN_TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const client = createClient<paths>({
  baseUrl: process.env.THREADKEEP_URL,
  headers: { Authorization: `Bearer ${process.env.THREADKEEP_KEY}` },
});
const { data: made } = await client.POST("/v1/conversations", { body: { title: "Weather" } });
if (!made) throw new Error("not made");
const path = { id: made.id };
const content = "What is Norwegian for cold?";
const sent = await client.POST("/v1/conversations/{id}/messages", {
  params: { path, header: { accept: "application/json" } },
  body: { content },
});
if (!sent.data) throw new Error(sent.error?.detail);
const { data: shown } = await client.GET("/v1/conversations/{id}", { params: { path } });
const messages: components["schemas"]["ShownMessage"][] = shown?.messages ?? [];
const asked = { content: "Go" };
const { data: begun } = await client.POST("/v1/conversations/{id}/turns", { params: { path }, body: asked });
if (!begun?.token) throw new Error("not begun");
const turn = { path: { ...path, turn: begun.turn }, header: { "turn-token": begun.token } };
await client.POST("/v1/conversations/{id}/turns/{turn}/settle", { params: turn, body: { state: "completed" } });
const missing = await client.GET("/v1/conversations/{id}", { params: { path: { id: "unknown" } } });
console.log(messages.map((message) => message.role).join(), missing.error?.code);
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a program and return what it says."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


async def spoken_to(server: Server, *command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a program beside a server, as a user who has a key, and return the last line that it says."""
    _, headers = await server.key(LOCAL.tenant, "ada")
    known = {"THREADKEEP_URL": server.url, "THREADKEEP_KEY": headers["Authorization"].removeprefix("Bearer ")}
    return (await asyncio.to_thread(run, *command, cwd=cwd, **known, **environment)).splitlines()[-1]


def at(server: Server, kind: str) -> str:
    """Return what the how-to shows in a language, with the address of a server and a key."""
    (shown,) = (block.text for block in blocks_of("docs/howto/generate-a-client.md") if block.kind == kind)
    reads = {"python": '__import__("os").environ["THREADKEEP_KEY"]', "typescript": "process.env.THREADKEEP_KEY"}
    here = shown.replace('"Bearer tk_…"', f'"Bearer " + {reads[kind]}').replace('"tk_…"', reads[kind])
    return here.replace("http://127.0.0.1:8000", server.url)


async def test_openapi_python_client_makes_one(tmp_path: Path) -> None:
    python = framework_python("openapi-python-client")
    made = tmp_path / "made"
    told = run(
        *(python.with_name("openapi-python-client"), "generate", "--path", FILE, "--output-path", made),
        cwd=tmp_path,
        PATH=f"{python.parent}:{os.environ['PATH']}",
    )
    assert set(re.findall(r"WARNING parsing (\S+ \S+) within", told)) == NOT_GENERATED
    assert "Unable to" not in told
    async with serving(auth="keys", share=True) as server:
        assert await spoken_to(server, python, "-c", IN_PYTHON, cwd=tmp_path, PYTHONPATH=str(made)) == "done"
        shown = f"{at(server, 'python')}\nprint(conversation.title)"
        assert await spoken_to(server, python, "-c", shown, cwd=tmp_path, PYTHONPATH=str(made)) == "Weather"


async def test_openapi_typescript_makes_one(tmp_path: Path) -> None:
    modules = client("openapi-typescript") / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "smoke.ts").write_text(IN_TYPESCRIPT)
    (tmp_path / "process.d.ts").write_text("declare const process: { env: Record<string, string> };")
    run(NODE, modules / "openapi-typescript" / "bin" / "cli.js", FILE, "-o", "api.d.ts", cwd=tmp_path)
    options = ["--strict", "--noEmit", "--target", "esnext", "--module", "nodenext", "--lib", "esnext,dom,dom.iterable"]
    run(NODE, modules / "typescript" / "bin" / "tsc", *options, "smoke.ts", "process.d.ts", cwd=tmp_path)
    async with serving(auth="keys", share=True) as server:
        assert await spoken_to(server, NODE, "smoke.ts", cwd=tmp_path) == "user,assistant conversation_not_found"
        (tmp_path / "shown.ts").write_text(f"{at(server, 'typescript')}console.log(made?.title, Boolean(data), error);")
        run(NODE, modules / "typescript" / "bin" / "tsc", *options, "shown.ts", "process.d.ts", cwd=tmp_path)
        assert await spoken_to(server, NODE, "shown.ts", cwd=tmp_path) == "Weather true undefined"
