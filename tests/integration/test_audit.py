"""The audit log from outside: `GET /v1/audit`, `threadkeep audit`, and whatever is done to its table or file."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from tests.integration.serving import assert_problem, serving
from tests.postgres_server import PostgresServer, Urls
from threadkeep.cli.main import main
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.clock import utc_now
from threadkeep.runtime import open_store
from threadkeep.store.audit import Act
from threadkeep.testing.clock import FakeClock


async def test_an_administrator_reads_the_acts_of_the_tenant_in_pages_and_by_what_is_asked() -> None:
    async with serving(auth="keys") as server:
        client = server.client
        _, ada = await server.key("acme", "ada")
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        _, other = await server.key("globex", "root", KeyRole.ADMIN)
        made = [(await client.post("/v1/conversations", json={}, headers=ada)).json()["id"] for _ in range(3)]
        for id in made:
            headers = {**ada, "X-Request-Id": f"delete-{id}"}
            assert (await client.delete(f"/v1/conversations/{id}", headers=headers)).status_code == 204
        assert_problem(await client.get("/v1/audit", headers=ada), 403, "not_allowed")
        page = (
            await client.get("/v1/audit", params={"action": "conversation.deleted", "limit": 2}, headers=root)
        ).json()
        assert [act["object"] for act in page["data"]] == [f"conversation:{id}" for id in reversed(made[1:])]
        newest = page["data"][0]
        assert page["names"] == {newest["actor"]: "ada"}
        assert (newest["address"], newest["request"]) == ("127.0.0.1", f"delete-{made[2]}")
        asked = {"action": "conversation.deleted", "after": page["next"]}
        rest = (await client.get("/v1/audit", params=asked, headers=root)).json()
        assert [act["object"] for act in rest["data"]] == [f"conversation:{made[0]}"]
        assert rest["next"] is None
        for wanted, count in (
            ({"actor": "user:ada"}, 4),
            ({"object": f"conversation:{made[1]}"}, 1),
            ({"from": "2099-01-01T00:00:00Z"}, 0),
            ({"to": newest["at"], "actor": newest["actor"]}, 2),
        ):
            found = (await client.get("/v1/audit", params=wanted, headers=root)).json()["data"]
            assert len(found) == count, wanted
        assert [act["action"] for act in (await client.get("/v1/audit", headers=other)).json()["data"]] == [
            "audit.read"
        ]
        for bad in ({"limit": 0}, {"after": "x"}, {"from": "yesterday"}):
            assert_problem(await client.get("/v1/audit", params=bad, headers=root), 422, "invalid_request")
        assert_problem(await client.get("/v1/audit", params={"action": "\x00"}, headers=root), 400, "invalid_text")
        for bad in ({"to": "0001-01-01T00:00:00+23:59"}, {"from": "9999-12-31T23:59:59-23:59"}):
            assert_problem(await client.get("/v1/audit", params=bad, headers=root), 400, "invalid_value")


async def test_json_lines_are_all_records_oldest_first_and_hold_what_is_needed_to_verify_them() -> None:
    async with serving(auth="keys") as server:
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        for _ in range(3):
            await server.client.get("/v1/admin/usage", headers=root)
        answer = await server.client.get("/v1/audit", headers={**root, "Accept": "application/jsonl"})
        assert answer.headers["content-type"].startswith("application/jsonl")
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert [line["seq"] for line in lines] == [1, 2, 3, 4]
        assert {line["tenant"] for line in lines} == {"acme"}
        assert [line["action"] for line in lines] == ["usage.read"] * 3 + ["audit.read"]
        head = await server.conversations.admin.audit.head("acme")
        assert lines[-1]["hash"] == head.hash


async def test_nothing_that_people_say_or_are_called_is_in_the_log(tmp_path: Path) -> None:
    async with serving(f"sqlite:///{tmp_path / 'threadkeep.db'}", auth="keys") as server:
        _, ada = await server.key("acme", "ada-lovelace")
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        id = (await server.client.post("/v1/conversations", json={"title": "canary"}, headers=ada)).json()["id"]
        await server.client.post(f"/v1/conversations/{id}/messages", json={"content": "canary"}, headers=ada)
        await server.client.patch(f"/v1/conversations/{id}", json={"status": "completed"}, headers=ada)
        for path in (f"/v1/conversations/{id}/export", "/v1/export?of=tenant", "/v1/audit"):
            assert (await server.client.get(path, headers=ada if "tenant" not in path else root)).status_code in (
                200,
                403,
            )
        await server.client.delete(f"/v1/conversations/{id}", headers=ada)
        assert (await server.client.get("/v1/audit", headers=root)).status_code == 200  # gives acts their place
        with closing(apsw.Connection(str(tmp_path / "threadkeep.db"))) as db:
            written = db.execute("SELECT * FROM audit").fetchall()
        assert len(written) >= 4
        assert "canary" not in repr(written)
        assert "lovelace" not in repr(written)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'threadkeep.db'}"


async def _filled(url: str, clock: FakeClock, count: int = 12, tenant: str = "acme") -> None:
    store = await open_store(url, clock=clock)
    for number in range(count):
        clock.advance(3600)
        act = Act(at=clock(), action="key.created", object=f"key:{number}", actor="operator", details={"times": number})
        await store.audit.append(tenant, act)
    await store.close()


def _audit(store: str, *arguments: str) -> int:
    return main(["audit", *arguments, "--tenant", "acme", "--store", store])


def test_a_line_shows_the_beginning_of_a_long_detail_and_json_all_of_it(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    long = [f"setting_{number}" for number in range(60)]

    async def fill() -> None:
        opened = await open_store(store)
        act = Act(at=utc_now(), action="settings.changed", object="settings:server", actor="system")
        await opened.audit.append("acme", act.model_copy(update={"details": {"changed": long}}))
        await opened.close()

    asyncio.run(fill())
    assert _audit(store, "list") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert 'changed=["setting_0"' in line
    assert len(line) < 250
    assert _audit(store, "list", "--json") == 0
    assert json.loads(capsys.readouterr().out)["act"]["details"] == {"changed": long}


def test_what_is_done_at_the_command_line_is_on_record_and_listed(
    store: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["keys", "create", "--tenant", "acme", "--user", "ada", "--store", store]) == 0
    assert main(["keys", "list", "--store", store]) == 0
    id = capsys.readouterr().out.splitlines()[1].split()[0]
    assert main(["keys", "revoke", id, "--store", store]) == 0
    assert main(["export", "--tenant", "acme", "--store", store, str(tmp_path / "out.jsonl")]) == 0
    capsys.readouterr()
    assert _audit(store, "list", "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["tenant"] for line in lines} == {"acme"}
    acts = [line["act"] for line in lines]
    assert [(act["action"], act["object"]) for act in acts] == [
        ("key.created", f"key:{id}"),
        ("key.revoked", f"key:{id}"),
        ("conversations.exported", "tenant:acme"),
    ]
    assert {act["actor"] for act in acts} == {"operator"}
    assert _audit(store, "--act", "key.revoked", "--from", "2026-01-01") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert f"operator  key.revoked  key:{id}" in line


def test_a_signed_head_is_checked_and_one_of_another_key_tenant_or_log_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["keys", "create", "--tenant", "acme", "--user", "ada", "--store", store]) == 0
    capsys.readouterr()
    assert _audit(store, "head") == 0
    kept = tmp_path / "head.json"
    kept.write_text(capsys.readouterr().out)
    assert _audit(store, "verify", "--head", str(kept)) == 0
    assert "1 records" in capsys.readouterr().out
    kept.write_text(kept.read_text().replace('"seq": 1', '"seq": 2'))
    assert _audit(store, "verify", "--head", str(kept)) == 1
    assert "was changed" in capsys.readouterr().err
    monkeypatch.setenv("THREADKEEP_AUDIT_KEY", "another key, given by a setting")
    assert _audit(store, "head") == 0
    kept.write_text(capsys.readouterr().out)
    assert _audit(store, "verify", "--head", str(kept)) == 0
    assert main(["audit", "verify", "--tenant", "other", "--head", str(kept), "--store", store]) == 1
    assert "another tenant" in capsys.readouterr().err
    assert main(["audit", "verify", "--tenant", "typo", "--store", store]) == 1
    assert capsys.readouterr().err == "threadkeep: There is no tenant typo.\n"
    kept.write_text("{}")
    assert _audit(store, "verify", "--head", str(kept)) == 1
    assert "no head" in capsys.readouterr().err


Rows = list[list[Any]]
"""The rows of the table, alike in both databases: tenant, number, seven texts and the hash."""
Change = Callable[[Rows, random.Random], None]
Replace = Callable[[Rows], Awaitable[Rows]]


def _change(rows: Rows, chance: random.Random) -> None:
    """Change a letter of a field, or the field as a whole."""
    row, column = chance.choice(rows), chance.randrange(2, 10)
    old = str(row[column])
    place = chance.randrange(len(old) + 1)
    text = old[:place] + chance.choice("0 ~xé\n") + old[place + chance.randint(0, 1) :]
    row[column] = text if text != old else f"{old}!"


def _remove(rows: Rows, chance: random.Random) -> None:
    first = chance.randrange(12)
    del rows[first : first + chance.randint(1, 4)]


def _cut(rows: Rows, chance: random.Random) -> None:
    del rows[chance.randrange(12) :]


def _swap(rows: Rows, chance: random.Random) -> None:
    one, other = chance.sample(rows, 2)
    one[1], other[1] = other[1], one[1]


def _close_up(rows: Rows, chance: random.Random) -> None:
    """Remove a record and give those after it its number."""
    gone = chance.randrange(12)
    del rows[gone]
    for row in rows[gone:]:
        row[1] -= 1


def _insert(rows: Rows, chance: random.Random) -> None:
    """Put a copy of a record at the end."""
    rows.append([rows[0][0], 13, *chance.choice(rows)[2:]])


@asynccontextmanager
async def _sqlite_table(tmp_path: Path) -> AsyncIterator[Replace]:
    """Yield what puts other rows into the table and returns those that were there."""
    db = apsw.Connection(str(tmp_path / "threadkeep.db"))
    db.set_busy_timeout(10_000)

    async def replace(rows: Rows) -> Rows:
        with db:
            before = [list(row) for row in db.execute("DELETE FROM audit RETURNING *")]
            db.executemany(f"INSERT INTO audit VALUES ({', '.join('?' * 10)})", rows)
        return before

    yield replace
    db.close()


@asynccontextmanager
async def _postgres_table(url: str) -> AsyncIterator[Replace]:
    connection = await asyncpg.connect(url, server_settings={"synchronous_commit": "off"})

    async def replace(rows: Rows) -> Rows:
        async with connection.transaction():
            before = await connection.fetch("DELETE FROM threadkeep.audit RETURNING *")
            await connection.copy_records_to_table("audit", schema_name="threadkeep", records=rows)
        return [list(row) for row in before]

    yield replace
    await connection.close()


async def _check_a_thousand_changes(url: str, table: AbstractAsyncContextManager[Replace]) -> None:
    opened, chance = await open_store(url), random.Random(12)
    kept = await opened.audit.head("acme")
    assert (await opened.audit.verify("acme", kept)).breaks == ()
    changes: tuple[Change, ...] = (_change, _change, _change, _remove, _cut, _swap, _close_up, _insert)
    async with table as replace:
        rows = sorted(await replace([]))
        for number in range(1000):
            change, changed = changes[number % len(changes)], [list(row) for row in rows]
            change(changed, chance)
            await replace(changed)
            found = (await opened.audit.verify("acme", kept)).breaks
            assert found, f"number {number}, {change.__name__}"
            assert all(said.startswith("record ") for said in found)
        await replace(rows)
    assert (await opened.audit.verify("acme", kept)).breaks == ()
    await opened.close()


async def test_a_thousand_random_changes_of_the_table_are_all_found(tmp_path: Path, store: str) -> None:
    await _filled(store, FakeClock())
    await _check_a_thousand_changes(store, _sqlite_table(tmp_path))


async def test_a_thousand_random_changes_in_postgresql_are_all_found(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    await _filled(postgres_database.server, FakeClock())
    await _check_a_thousand_changes(
        postgres_database.server, _postgres_table(postgres_server.as_admin(postgres_database))
    )


async def test_a_changed_record_is_told_by_its_number(tmp_path: Path, store: str) -> None:
    await _filled(store, FakeClock())
    with closing(apsw.Connection(str(tmp_path / "threadkeep.db"))) as db:
        db.execute("UPDATE audit SET actor = 'system' WHERE seq = 7")
    opened = await open_store(store)
    (said,) = (await opened.audit.verify("acme")).breaks
    assert said.startswith("record 7:")
    await opened.close()
