"""Every block of the documentation is tried: the commands, settings and values of all pages here, their programs by the
tests that `PROGRAMS` names, and what neither can try stands with its reason in `NOT_TRIED`."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook
from starlette.requests import HTTPConnection

from tests.browser.server import PATIENCE, Server, free_port
from tests.clients import NODE, client
from tests.documents import ROOT, blocks_of, is_like, programs_of
from threadkeep.cli.settings_loading import load_settings
from threadkeep.conversation.scope import Scope

PAGES = [str(path.relative_to(ROOT)) for path in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])]
COMMANDS = ("sh", "bash")
SCREENS = ("sql", "console", "text")
"""What a page shows beside its commands: held against what they print by the tests of `PLAYED`."""
PLAYED = {
    "README.md": "tests/integration/test_curl_lines.py",
    "docs/howto/mount-in-an-app.md": "tests/integration/test_mounted.py",
    "docs/howto/search-your-documents.md": "tests/integration/test_index_docs.py",
    "docs/howto/use-postgresql.md": "tests/integration/test_postgres_docs.py",
    "docs/howto/write-an-assistant.md": "tests/integration/test_write_an_assistant.py",
    "docs/reference/dialects.md": "tests/integration/test_dialects_docs.py",
    "docs/reference/http-api.md": "tests/integration/test_http_api_docs.py",
    "docs/reference/python-api.md": "tests/integration/test_tutorial.py",
    "docs/tutorial.md": "tests/integration/test_tutorial.py",
}
"""Pages whose blocks depend on each other: a test of their own plays them to the end."""
PROGRAMS = {
    "docs/howto/connect-a-model.md": "tests/unit/llm/test_howto.py",
    "docs/howto/generate-a-client.md": "tests/integration/test_generated_clients.py",
    "docs/howto/run-your-own-loop.md": "tests/integration/test_howtos.py",
    "docs/howto/sign-people-in.md": "tests/integration/test_howtos.py",
    "docs/howto/test-your-own-store.md": "tests/integration/test_howtos.py",
    "docs/howto/use-ag-ui.md": "tests/integration/test_ag_ui.py",
    "docs/howto/use-assistant-ui.md": "tests/integration/test_howtos.py",
    "docs/howto/use-google-adk.md": "tests/frameworks/google_adk.py",
    "docs/howto/use-langchain-history.md": "tests/unit/threadkeep_integrations/langchain/test_howto.py",
    "docs/howto/use-langgraph.md": "tests/frameworks/langgraph.py",
    "docs/howto/use-openai-clients.md": "tests/integration/test_openai.py",
    "docs/howto/use-pydantic-ai.md": "tests/frameworks/pydantic_ai.py",
    "docs/howto/use-the-ai-sdk.md": "tests/integration/test_howtos.py",
    "docs/howto/use-the-claude-agent-sdk.md": "tests/frameworks/claude_agent_sdk.py",
    "docs/howto/use-the-javascript-client.md": "tests/integration/test_javascript_client.py",
    "docs/howto/use-the-openai-agents-sdk.md": "tests/frameworks/openai_agents.py",
    "docs/howto/webhooks.md": "tests/integration/test_howtos.py",
    "docs/howto/write-a-tool.md": "tests/unit/tools/test_howtos.py",
    "docs/reference/protocols.md": "tests/integration/test_howtos.py",
}
NOT_TRIED = {
    "docs/howto/deploy.md": "Docker; tests/acceptance/test_deploy.py checks the files by their programs",
    "docs/howto/scale.md": "machines with Citus: `make citus`, tests/integration/test_postgres_cells.py",
}
PROGRAM = re.compile(r"python|js|jsx|ts|tsx|typescript")
LEFT_OUT = re.compile(r"(pip|npm|npx|node|python|cd|claude|streamlit|openapi-python-client|make)\b|.*s3://")
"""What installs, starts programs of others or examples (which have tests of their own), or needs a bucket."""
ALONE = re.compile("threadkeep (serve|chat|config|doctor|trust)")
"""Commands that need no store to be there."""
IN_PLACE_OF = {
    "/var/lib/threadkeep": "{folder}",
    "/srv/shop": "{folder}",
    "postgresql://...": "{database}",
    "postgresql://…/threadkeep": "{database}",
    "http://127.0.0.1:8000": "{url}",
    "0198…": "{conversation}",
    "01a1...": "{conversation}",
    "CONVERSATION --tenant acme": "{conversation}",
}
"""What whoever reads a page puts in."""
IDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ROLES = {"docs/howto/retention.md": "admin", "docs/howto/sign-people-in.md": "user", "docs/howto/webhooks.md": "admin"}
"""Pages whose server asks for keys, and the role of the key that their commands show."""


def kinds(page: str) -> Iterator[str]:
    """Yield the languages of the blocks of a page."""
    return (block.kind for block in blocks_of(page))


def commands(page: str) -> list[str]:
    """Return the commands of a page, each in one line."""
    text = "".join(block.text for block in blocks_of(page) if block.kind in COMMANDS).replace("\\\n", " ")
    exported = "".join(f"{line}; " for line in text.splitlines() if line.startswith("export "))
    lines = (line.strip() for line in text.splitlines() if not line.startswith("export "))
    return [exported + line for line in lines if line and not LEFT_OUT.match(line)]


def tried(page: str) -> bool:
    return page not in PLAYED and page not in NOT_TRIED


WITH_COMMANDS = [page for page in PAGES if tried(page) and {*kinds(page)} & {*COMMANDS}]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """That of somebody who reads a page, for whom a refused request is a failed command."""
    (tmp_path / ".curlrc").write_text("fail\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "HOME": str(tmp_path)}


def test_every_program_and_every_page_with_screens_has_its_test() -> None:
    assert [page for page in PAGES if any(map(PROGRAM.fullmatch, kinds(page))) and page not in PLAYED | PROGRAMS] == []
    for page, test in (PLAYED | PROGRAMS).items():
        name = page.rpartition("/")[2]
        assert name in (ROOT / test).read_text(encoding="utf-8"), (page, test)
    known = {*COMMANDS, *SCREENS, "toml", "json", "ini"}
    assert [
        (page, kind) for page in PAGES for kind in kinds(page) if kind not in known and not PROGRAM.fullmatch(kind)
    ] == []
    fences = {page: (ROOT / page).read_text(encoding="utf-8").count("```") for page in PAGES}
    assert [page for page in PAGES if fences[page] != 2 * len(blocks_of(page))] == []


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of(
    page: str, tmp_path: Path, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    lines = commands(page)
    given = {"folder": str(tmp_path)}
    if any("postgresql://" in line for line in lines):
        given["database"] = request.getfixturevalue("postgres_database").server
    role = ROLES.get(page, "user")
    server = Server(tmp_path, "--auth", "keys" if page in ROLES else "none", "--share")
    told = ""
    try:
        if not all(ALONE.search(line) for line in lines):
            server.start()
            key = server.key(role=role)
            given |= {"url": server.url, "conversation": made(server, key)}
            environment |= {"URL": server.url, "KEY": key, "ADMIN_KEY": key}
            environment["CHAT"] = f"{server.url}/v1/conversations/{given['conversation']}"
        for line in lines:
            for written, meant in IN_PLACE_OF.items():
                line = line.replace(written, meant.format_map(given) if written in line else "")
            told += run(re.sub(r"\bID\b", (IDS.findall(told) or ["ID"])[-1], line), tmp_path, environment)
            if "keys create" in line:
                environment["KEY"] = re.findall(r"tk_\S+", told)[-1]
    finally:
        server.kill()


def made(server: Server, key: str) -> str:
    """Return the id of a conversation in which something was said that the pages look for."""
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE) as client:
        path = client.post("/v1/conversations", json={"title": "Our holidays"}).headers["location"]
        client.post(f"{path}/messages", json={"content": "An otter swims in the river."}).raise_for_status()
        client.patch(path, json={"status": "completed"}).raise_for_status()
    return str(path).rpartition("/")[2]


def run(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a command to its end, or a server until it serves, and return what it prints."""
    command, serves = line.partition("  #")[0], "threadkeep serve" in line
    if serves:
        command += f" --port {free_port()}" + ("" if "--model" in command else " --model demo")
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        if not serves:
            told, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == ("(status 1)" in line), (line, told)
            return told
        told = next((told for told in process.stdout if told.startswith("Threadkeep serves")), "")
        assert told, line
        return told
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize("page", [page for page in PAGES if "toml" in kinds(page)])
def test_the_settings_of(page: str) -> None:
    for block in blocks_of(page):
        if block.kind == "toml":
            expanded = block.text.replace("${APP_HOOK_SECRET}", "whsec_" + "A" * 40)
            load_settings({"THREADKEEP_AUTH": "keys"}, {}, tomllib.loads(expanded))


@pytest.mark.parametrize("page", [page for page in PAGES if "json" in kinds(page)])
def test_the_values_of(page: str) -> None:
    for block in blocks_of(page):
        if block.kind == "json":
            try:
                json.loads(block.text)
            except ValueError:
                assert [json.loads(line) for line in block.text.splitlines()]


def anchors(path: Path) -> set[str]:
    """Return what a link may name behind `#` in a page: its headings, as they are shown on the web."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found) for found in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere() -> None:
    lost = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]:
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (anchor and anchor not in anchors(target)):
                lost.append(f"{path.name}: {link}")
    assert lost == []


def test_every_extra_that_is_named_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    named = {extra for found in re.findall(r"threadkeep\[([\w,-]+)\]", text) for extra in found.split(",")}
    assert named - {*project["optional-dependencies"]} == set()


def test_the_loop_of_your_own_says_what_the_page_shows() -> None:
    program, shown = blocks_of("docs/howto/run-your-own-loop.md")
    ran = subprocess.run(
        [sys.executable, "-c", program.text], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert is_like(ran.stdout, shown.text), ran.stdout


async def test_the_guard_of_sign_people_in_lets_people_in(tmp_path: Path) -> None:
    (program,) = programs_of("docs/howto/sign-people-in.md", tmp_path)
    guard = program["Door"]()
    assert await guard.identify(HTTPConnection({"type": "http", "headers": []})) is None
    identity = await guard.identify(HTTPConnection({"type": "http", "headers": [(b"cookie", b"session=ada")]}))
    assert identity.scope == Scope(tenant="acme", user="ada")
    assert await guard.is_valid(identity)


def test_the_receiver_of_webhooks_verifies_what_is_signed() -> None:
    (block,) = (block.text for block in blocks_of("docs/howto/webhooks.md") if block.kind == "python")
    secret, body, now = "whsec_" + "A" * 40, '{"type": "test"}', datetime.now(UTC)
    headers = {"webhook-id": "1", "webhook-timestamp": str(int(now.timestamp()))}
    headers["webhook-signature"] = Webhook(secret).sign("1", now, body)
    names: dict[str, Any] = {"secret": secret, "body": body, "headers": headers}
    exec(block, names)  # noqa: S102 - our own page
    assert names["event"] == {"type": "test"}


def test_the_suite_for_test_your_own_store_runs_on_one(tmp_path: Path) -> None:
    (block,) = blocks_of("docs/howto/test-your-own-store.md")
    (tmp_path / "test_my_store.py").write_text(block.text)
    (tmp_path / "my_package.py").write_text(
        "from threadkeep.runtime import open_store\n\n\nclass MyStore:\n    @staticmethod\n"
        "    async def open(place, clock):\n        return await open_store(f'sqlite:///{place}', clock=clock)\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "idempotency or key",
        "test_my_store.py",
    ]
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout


FRAGMENTS = [(page, block.text) for page in PAGES for block in blocks_of(page) if block.kind in ("jsx", "tsx", "ts")]


@pytest.mark.parametrize(("page", "text"), FRAGMENTS, ids=[page for page, _ in FRAGMENTS])
def test_the_lines_for_react_are_a_program(page: str, text: str) -> None:
    parse = "require('esbuild').transformSync(process.argv[1], { loader: 'tsx', format: 'esm' })"
    modules = client("assistant-ui") / "node_modules"
    subprocess.run(
        [NODE, "--eval", parse, text], env=os.environ | {"NODE_PATH": str(modules)}, check=True, timeout=PATIENCE
    )
