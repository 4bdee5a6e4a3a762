"""Every pair of options meets in a short dialogue over HTTP, and once all of them do, on every kind of store.

The dialogue is what a person does in a first hour: begin, send, watch it live, let a tool run, allow another, edit,
regenerate, attach, search, share, export, import, and be erased.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from allpairspy import AllPairs

from tests.backends import BACKENDS, url_of
from tests.collector import collecting
from tests.everything import OPTIONS, chosen
from tests.integration.serving import EVENTS, PATIENCE, Server, serving
from threadkeep.conversation.api_key import KeyRole
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.demo.script import Call, Reply, Script, after, asked
from threadkeep_integrations.telemetry import Telemetry

SWITCHES = [*OPTIONS, "telemetry", "keys"]


@tool(repeatable=True)
async def weigh(thing: str) -> str:
    """Weigh something."""
    return f"{thing}: {len(thing)} kg"


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


HELPER = Assistant(
    name="helper",
    instructions="Help.",
    tools=Registry([weigh, pay]),
    mcp=True,
    script=Script(
        rules=(
            asked(r"weigh (?P<thing>\w+)", lambda m, _: Reply(calls=(Call("weigh", {"thing": m["thing"]}),))),
            asked(r"pay (?P<amount>\d+)", lambda m, _: Reply(calls=(Call("pay", {"amount": int(m["amount"])}),))),
            asked(r"add (?P<a>\d+) to (?P<b>\d+)", lambda m, _: Reply(calls=(_add(m["a"], m["b"]),))),
            after("weigh", lambda told, _: f"It is {told}."),
            after("pay", lambda told, _: f"Done: {told}."),
            after("double__add", lambda told, _: f"The sum is {told}."),
            asked(r"say (?P<words>.+)", "{words}"),
        )
    ),
)


def _add(a: str, b: str) -> Call:
    return Call("double__add", {"a": int(a), "b": int(b)})


def _rows() -> Iterator[tuple[str, list[str]]]:
    """Yield stores with the options that are on, so that each pair of choices is there; and each store with all."""
    columns = [list(BACKENDS), *[[False, True] for _ in SWITCHES]]

    def is_possible(row: list[Any]) -> bool:
        return not (len(row) > SWITCHES.index("spool") + 1 and row[1 + SWITCHES.index("spool")]) or (
            row[0] == "postgresql"
        )

    for store, *switches in AllPairs(columns, filter_func=is_possible):
        yield store, [name for name, is_on in zip(SWITCHES, switches, strict=True) if is_on]
    for store in BACKENDS:
        yield store, [name for name in SWITCHES if name != "spool" or store == "postgresql"]


@pytest.fixture(scope="module")
def collector() -> Iterator[str]:
    """Where telemetry goes."""
    with collecting() as (url, _):
        yield url


class Dialogue:
    """One person's hour at a server. Each step checks what it is told, live and afterwards."""

    def __init__(self, server: Server, options: list[str], headers: dict[str, str], admin: dict[str, str]) -> None:
        self.options = options
        self.headers = headers
        self.admin = admin
        self.server = server

    async def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer = await self.server.client.request(method, path, headers=self.headers | more.pop("headers", {}), **more)
        assert answer.status_code < 400, (method, path, answer.status_code, answer.text)
        return answer

    async def send(self, path: str, **body: Any) -> list[tuple[str, dict[str, Any]]]:
        """Begin a turn and return its events, which are live and end by themselves."""
        async with asyncio.timeout(PATIENCE):
            answer = await self.ask("POST", path, json=body, headers=EVENTS)
        blocks = [
            dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            for block in answer.text.split("\n\n")
        ]
        return [(block["event"], json.loads(block["data"])) for block in blocks if "event" in block]

    async def answer_to(self, path: str, content: object, **more: Any) -> str:
        """Send a message and return the answer; if prices are set, its cost was told."""
        events = await self.send(f"{path}/messages", content=content, **more)
        name, ended = events[-1]
        assert name == "turn.completed", events[-1]
        if "prices" in self.options:
            assert float(ended["usage"]["cost"]["amount"]) > 0
        *_, message = [said["message"] for kind, said in events if kind == "message.completed"]
        return str(message["content"])

    async def whole(self) -> None:
        path = (await self.ask("POST", "/v1/conversations", json={"title": "Named"})).headers["location"]
        assert (await self.answer_to(path, "say my name is Alice")).startswith("my name is Alice")
        await self.tools(path)
        await self.branches(path)
        await self.attachment(path)
        found = (await self.ask("GET", "/v1/search", params={"q": "alice"})).json()["data"]
        assert found
        await self.sharing(path)
        await self.moving(path)
        await self.erasing()

    async def tools(self, path: str) -> None:
        assert await self.answer_to(path, "weigh apples") == "It is apples: 6 kg."
        if "mcp" in self.options:
            await self.server.conversations.mcp.settled(PATIENCE)
            assert await self.answer_to(path, "add 2 to 3") == "The sum is 5."
        events = await self.send(f"{path}/messages", content="pay 5")
        assert events[-1][0] == "turn.waiting", events[-1]
        body = {"tool_call_id": events[-1][1]["calls"][0], "approved": True}
        await self.ask("POST", f"{path}/approve", json=body)
        assert (await self.turn_ended(path))["content"] == "Done: paid 5."

    async def turn_ended(self, path: str) -> dict[str, Any]:
        """Wait for the end of the turn that runs and return the newest message."""
        async with asyncio.timeout(PATIENCE):
            while (shown := (await self.ask("GET", path)).json())["turns"]:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)
        newest: dict[str, Any] = shown["messages"][-1]
        return newest

    async def branches(self, path: str) -> None:
        messages = (await self.ask("GET", path)).json()["messages"]
        first = next(message for message in messages if message["role"] == "user")
        edited = await self.answer_to(path, "say edited", parent=first["parent"])
        assert edited.startswith("edited")
        events = await self.send(f"{path}/regenerate")
        assert events[-1][0] == "turn.completed"
        assert len((await self.ask("GET", f"{path}/tree")).json()["branches"]) >= 3

    async def attachment(self, path: str) -> None:
        made = await self.ask("POST", "/v1/files", params={"name": "notes.txt"}, content=b"the word is zebra")
        part = {"type": made.json()["type"], "file": made.json()["id"]}
        said = await self.answer_to(path, [{"type": "text", "text": "say thanks"}, part])
        assert said == "thanks"

    async def sharing(self, path: str) -> None:
        if "keys" in self.options and "share" not in self.options:
            return
        link = (await self.ask("POST", f"{path}/shares")).json()["path"]
        read = await self.server.client.get(link)
        assert (read.status_code, "edited" in read.text) == (200, True)

    async def moving(self, path: str) -> None:
        """Export everything, delete the conversation, and import it again: nothing differs."""
        before = (await self.ask("GET", path)).json()
        exported = (await self.ask("GET", "/v1/export")).content
        archive = (await self.ask("GET", "/v1/export", params={"format": "zip"})).content
        for body in (exported, archive):
            taken = (await self.ask("POST", "/v1/import", content=body)).json()
            assert taken["failed"] == 0, taken
        for kind in ("html", "markdown", "json"):
            await self.ask("GET", f"{path}/export", params={"format": kind})
        after = (await self.ask("GET", path)).json()
        assert after["messages"] == before["messages"]

    async def erasing(self) -> None:
        user = (await self.ask("GET", "/v1/me")).json()["user"]
        erased = await self.server.client.delete(f"/v1/users/{user}", headers=self.admin)
        assert erased.status_code == 200, erased.text
        assert erased.json()["conversations"] >= 1
        if "keys" not in self.options:
            assert (await self.ask("GET", "/v1/conversations")).json()["data"] == []
            return
        async with asyncio.timeout(PATIENCE):  # a key that was just looked up is trusted for half a second
            while (await self.server.client.get("/v1/conversations", headers=self.headers)).status_code != 401:  # noqa: ASYNC110
                await asyncio.sleep(0)


@asynccontextmanager
async def _server(store: str, folder: Path, options: list[str]) -> AsyncIterator[Server]:
    settings = chosen(folder, [name for name in options if name in OPTIONS])
    telemetry = [Telemetry()] if "telemetry" in options else []
    auth = "keys" if "keys" in options else "none"
    async with serving(store, assistants=[HELPER], telemetry=telemetry, auth=auth, **settings) as server:
        yield server
    for each in telemetry:
        await asyncio.to_thread(each.close)


@pytest.mark.parametrize(
    ("backend", "options"), [pytest.param(*row, id=f"{row[0]}-{'-'.join(row[1]) or 'nothing'}") for row in _rows()]
)
async def test_options_meet_in_one_dialogue(
    backend: str,
    options: list[str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    collector: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
    store = "memory:" if backend == "memory" else url_of(backend, tmp_path, request)
    async with _server(store, tmp_path, options) as server:
        headers: dict[str, str] = {}
        admin: dict[str, str] = {}
        if "keys" in options:
            _, headers = await server.key("acme", "ada")
            _, admin = await server.key("acme", "boss", KeyRole.ADMIN)
        await Dialogue(server, options, headers, admin).whole()
