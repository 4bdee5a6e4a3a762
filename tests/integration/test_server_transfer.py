"""Exports and imports in bulk over HTTP: everything of a person or a tenant, and nothing of anybody else."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

import pytest

from tests.integration.serving import EVENTS, PATIENCE, Server, assert_problem, serving
from tests.unit.transfer.kinds import CHATGPT, CLAUDE, as_json, zipped
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.server.routes import transfer
from threadkeep.testing.samples import ADA, BOB, EVE, new
from threadkeep.transfer.sources import Found, read_items


@pytest.fixture
def store(lane: str) -> str:
    """The URL of an empty store of each kind that servers use."""
    return lane


async def _fill(server: Server) -> None:
    for scope, name in ((ADA, "adas"), (BOB, "bobs"), (EVE, "eves")):
        await new(server.conversations._store, scope, f"secret of {name}", name=name)


async def test_a_person_exports_what_is_theirs_and_imports_it_elsewhere(store: str) -> None:
    async with serving(store, auth="keys") as server:
        await _fill(server)
        (_, ada), (_, zoe) = await server.key("acme", "ada"), await server.key("elsewhere", "zoe")
        exported = await server.client.get("/v1/export", headers=ada)
        assert exported.headers["content-type"] == "application/jsonl"
        assert "secret of adas" in exported.text
        assert "bobs" not in exported.text
        taken = await server.client.post("/v1/import", content=exported.content, headers=zoe)
        assert (taken.status_code, taken.json()["added"], taken.json()["problems"]) == (200, 1, [])
        own = Scope(tenant="elsewhere", user="zoe").own_id("adas")
        assert "secret of adas" in (await server.client.get(f"/v1/conversations/{own}", headers=zoe)).text
        again = await server.client.post("/v1/import", content=exported.content, headers=zoe)
        assert (again.json()["added"], again.json()["unchanged"]) == (0, 1)
        archive = await server.client.get("/v1/export", params={"format": "zip"}, headers=ada)
        from_archive = await server.client.post("/v1/import", content=archive.content, headers=zoe)
        assert from_archive.json()["unchanged"] == 1


async def test_a_tenant_is_for_administrators_and_never_reaches_into_another(store: str) -> None:
    async with serving(store, auth="keys") as server:
        await _fill(server)
        (_, ada), (_, boss) = await server.key("acme", "ada"), await server.key("acme", "boss", KeyRole.ADMIN)
        (_, mallory) = await server.key("umbrella", "mallory", KeyRole.ADMIN)
        assert_problem(await server.client.get("/v1/export", params={"of": "tenant"}, headers=ada), 403, "not_allowed")
        refused = await server.client.post("/v1/import", params={"of": "tenant"}, content=b"", headers=ada)
        assert_problem(refused, 403, "not_allowed")
        whole = await server.client.get("/v1/export", params={"of": "tenant"}, headers=boss)
        assert ("secret of adas" in whole.text, "secret of bobs" in whole.text) == (True, True)
        assert "eves" not in whole.text
        # A file that names another tenant is taken into the one of who sends it.
        named = whole.text.replace('"user":"bob"', '"tenant":"acme","user":"bob"').encode()
        theirs = await server.client.post("/v1/import", params={"of": "tenant"}, content=named, headers=mallory)
        assert theirs.json()["failed"] > 0
        await server.client.post("/v1/import", params={"of": "tenant"}, content=whole.content, headers=mallory)
        kept = server.conversations._store
        assert (await kept.get(Scope(tenant="umbrella", user="bob"), "bobs")).entries == 1
        assert (await kept.get(BOB, "bobs")).entries == 1
        assert {item.id for item in (await kept.list("acme")).items} == {"adas", "bobs"}


async def test_files_of_other_programs_are_taken_in_with_progress(store: str) -> None:
    async with serving(store) as server:
        chats = [{**CHATGPT, "conversation_id": f"c-{number}"} for number in range(45)]
        body = zipped({"conversations.json": as_json(*chats), "users.json": b"[{}]"})
        answer = await server.client.post("/v1/import", content=body, headers=EVENTS)
        events = [block for block in answer.text.split("\n\n") if block]
        assert [event.split("\n")[0] for event in events] == [
            "event: import.progress",
            "event: import.progress",
            "event: import.done",
        ]
        done = json.loads(events[-1].partition("data: ")[2])
        assert (done["added"], done["failed"]) == (45, 0)
        bad = {"uuid": "x", "chat_messages": [{"sender": "martian"}]}
        mixed = await server.client.post("/v1/import", content=as_json(CLAUDE, bad))
        assert (mixed.json()["added"], [problem["code"] for problem in mixed.json()["problems"]]) == (
            1,
            ["invalid_import"],
        )


class Endless:
    """Stands in for the reading of a file: conversations without an end, until nobody asks for more."""

    def __init__(self) -> None:
        self.begun, self.closed = asyncio.Event(), asyncio.Event()

    async def read(self, file: IO[bytes], *about: object) -> AsyncIterator[Found]:
        (conversation,) = read_items(io.BytesIO(as_json(CHATGPT)), "file")
        try:
            while True:
                yield conversation
                self.begun.set()
                await asyncio.sleep(0)  # as if a thread had read it
        finally:
            self.closed.set()


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_an_import_runs_alone_and_ends_when_its_client_leaves(
    accept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(f"sqlite:///{tmp_path}/one.db") as server, asyncio.timeout(PATIENCE):
        endless = Endless()
        with monkeypatch.context() as patched:
            patched.setattr(transfer, "read_file", endless.read)
            _, writer = await server.connect()
            head = "POST /v1/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n"
            writer.write(f"{head}Accept: {accept}\r\n\r\n[]".encode())
            await endless.begun.wait()
            assert_problem(await server.client.post("/v1/import", content=b"[]"), 429, "rate_limited")
            writer.close()
            await endless.closed.wait()
        answer = await server.client.post("/v1/import", content=as_json(CHATGPT))
        while answer.status_code == 429:  # the last request ends a moment after its reading
            answer = await server.client.post("/v1/import", content=as_json(CHATGPT))
        assert (answer.json()["added"], answer.json()["unchanged"]) == (0, 1)


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", "unknown_format"), (b"{", "import_damaged"), (zipped({"../x.json": b"[]"}), "unsafe_archive")],
)
async def test_what_is_no_export_is_a_bad_request(body: bytes, code: str, tmp_path: Path) -> None:
    async with serving(f"sqlite:///{tmp_path}/one.db") as server:
        assert_problem(await server.client.post("/v1/import", content=body), 400, code)


async def test_a_file_that_is_too_large_or_a_full_storage_is_refused(tmp_path: Path) -> None:

    async with serving(f"sqlite:///{tmp_path}/one.db", max_import_bytes=1000) as server:
        assert_problem(await server.client.post("/v1/import", content=b"[" * 2000), 413, "body_too_large")

    async with serving(f"sqlite:///{tmp_path}/two.db", user_storage_bytes=1) as server:
        answer = await server.client.post("/v1/import", content=as_json(CHATGPT, CLAUDE))
        assert (answer.json()["added"], [each["code"] for each in answer.json()["problems"]]) == (0, ["storage_full"])
