"""Erasing a person from outside: over HTTP and with `threadkeep erase`; afterwards no file holds a word of it."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.integration.serving import PATIENCE, assert_problem, serving
from threadkeep.cli.main import main
from threadkeep.conversation.api_key import KeyRole
from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, BOB, new

CANARY, NAME, KEPT = "quetzalbird", "tamarinnest", "pangolinlair"


def _words_in(folder: Path) -> set[str]:
    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {word for word in (CANARY, NAME, KEPT) if word.encode() in data}


@pytest.mark.parametrize("backend", ["sqlite", "files"])
async def test_a_person_erases_itself_while_a_turn_runs_and_is_let_in_no_more(backend: str, tmp_path: Path) -> None:
    async with serving(f"{backend}:///{tmp_path / 'store'}", auth="keys") as server:
        (_, ada), (_, bob) = await server.key("acme", NAME), await server.key("acme", "bob")
        for who, word in ((ada, CANARY), (bob, KEPT)):
            path = (await server.client.post("/v1/conversations", json={"title": word}, headers=who)).headers[
                "location"
            ]
            file = await server.client.post(
                "/v1/files", params={"name": f"{word}.txt"}, content=word.encode() * 100_000, headers=who
            )
            for _ in range(3):
                text = {"type": "text", "text": f"tell me about the {word} and more"}
                sent = {"content": [text, {"type": "file", "file": file.json()["id"]}]}
                begun = await server.client.post(
                    f"{path}/messages", json=sent, headers={**who, "Prefer": "respond-async"}
                )
                assert begun.status_code == 202
        erased = await server.client.delete(f"/v1/users/{NAME}", headers=ada)
        assert erased.status_code == 200, erased.text
        receipt = erased.json()
        assert (receipt["conversations"], receipt["files"], receipt["keys"]) == (1, 1, 1)
        assert not {CANARY, NAME} & set(re.findall(r"\w+", erased.text))
        assert _words_in(tmp_path) == {KEPT}
        # A key is trusted for half a second after it was looked up.
        async with asyncio.timeout(PATIENCE):
            while (await server.client.get("/v1/conversations", headers=ada)).status_code != 401:
                pass
        assert len((await server.client.get("/v1/conversations", headers=bob)).json()["data"]) == 1


async def test_only_an_administrator_erases_others_and_nobody_who_is_held() -> None:
    async with serving(auth="keys") as server:
        client = server.client
        _, ada = await server.key("acme", "ada")
        _, bob = await server.key("acme", "bob")
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        _, other = await server.key("globex", "root", KeyRole.ADMIN)
        await client.post("/v1/conversations", json={}, headers=ada)
        assert_problem(await client.delete("/v1/users/ada", headers=bob), 403, "not_allowed")
        assert (await client.delete("/v1/users/ada", headers=other)).json()["conversations"] == 0
        held = (await client.post("/v1/admin/holds", json={"user": "ada", "reason": "case 1"}, headers=root)).json()
        assert_problem(await client.delete("/v1/users/ada", headers=root), 409, "legal_hold")
        assert len((await client.get("/v1/conversations", headers=ada)).json()["data"]) == 1
        await client.delete(f"/v1/admin/holds/{held['id']}", headers=root)
        assert (await client.delete("/v1/users/ada", headers=root)).json()["conversations"] == 1
        acts = (await client.get("/v1/audit", params={"object": "user:ada"}, headers=root)).json()["data"]
        assert [act["action"] for act in acts if act["action"].startswith("erasure.")] == [
            "erasure.completed",
            "erasure.begun",
        ]


async def _filled(url: str) -> None:
    store = await open_store(url)
    await new(store, ADA, f"the {CANARY}", "an answer")
    await new(store, BOB, f"the {KEPT}", "an answer")
    await store.close()


def test_the_command_tells_what_would_go_and_erases_when_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    skills = tmp_path / "skills"
    monkeypatch.setenv("THREADKEEP_SKILLS_DIR", str(skills))
    (skills / "acme/personal/ada/notes").mkdir(parents=True)
    (skills / "acme/personal/ada/notes/SKILL.md").write_text(CANARY)
    url = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    asyncio.run(_filled(url))
    asked = ["erase", "--tenant", "acme", "--user", "ada", "--store", url]
    assert main(asked) == 1
    assert "1 conversation(s) with 2 entries" in capsys.readouterr().err
    assert _words_in(tmp_path) == {CANARY, KEPT}
    assert main([*asked, "--yes"]) == 0
    receipt = json.loads(capsys.readouterr().out)
    assert (receipt["tenant"], receipt["conversations"], receipt["saved"]) == ("acme", 1, 1)
    assert len(receipt["signature"]) == 64
    assert _words_in(tmp_path) == {KEPT}
    assert main([*asked, "--yes"]) == 0


def test_a_tenant_that_is_not_there_is_refused_and_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    asyncio.run(_filled(url))
    for _ in range(2):
        assert main(["erase", "--tenant", "acmee", "--user", "ada", "--yes", "--store", url]) == 1
        assert capsys.readouterr().err == "threadkeep: There is no tenant acmee.\n"
