"""`threadkeep keys`: a secret is shown once, only its digest is stored, and a revoked key is useless.

`threadkeep logins`: who is signed in where, and the end of it.
"""

import asyncio
import re
from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.conversation.api_key import ApiKey, KeyRole, Login, digest_of
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope
from threadkeep.runtime import open_store


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'threadkeep.db'}"


def keys(*arguments: str, store: str) -> int:
    return main(["keys", *arguments, "--store", store])


def create(store: str, capsys: pytest.CaptureFixture[str], *more: str, tenant: str = "acme") -> str:
    assert keys("create", "--tenant", tenant, "--user", "ada", *more, store=store) == 0
    return capsys.readouterr().out.strip()


def listed(store: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    assert keys("list", *more, store=store) == 0
    return capsys.readouterr().out.splitlines()


async def found(store: str, secret: str) -> ApiKey | None:
    opened = await open_store(store)
    try:
        return await opened.keyring.find(digest_of(secret))
    finally:
        await opened.close()


def test_a_key_is_shown_once_and_alone_so_that_a_script_can_keep_it(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = create(store, capsys)
    assert re.fullmatch(r"tk_[\w-]{43}", secret)
    assert secret != create(store, capsys)
    assert not any(secret in line for line in listed(store, capsys))


def test_only_a_digest_of_it_is_stored(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = create(store, capsys)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in written
    assert secret.removeprefix("tk_").encode() not in written
    assert digest_of(secret) in written


@pytest.mark.parametrize(("more", "role"), [((), KeyRole.USER), (("--role", "admin"), KeyRole.ADMIN)])
def test_it_opens_what_it_was_made_for(
    more: tuple[str, ...], role: KeyRole, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = asyncio.run(found(store, create(store, capsys, *more)))
    assert key is not None
    assert (key.scope.tenant, key.scope.user, key.role, key.revoked_at) == ("acme", "ada", role, None)


def test_the_list_tells_keys_apart(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = create(store, capsys), create(store, capsys, "--role", "admin", tenant="globex")
    lines = listed(store, capsys)
    assert len(lines) == 2
    assert all(part in lines[0] for part in (first[:9], "acme", "ada", "user", "good"))
    assert all(part in lines[1] for part in (second[:9], "globex", "ada", "admin", "good"))
    assert listed(store, capsys, "--tenant", "globex") == lines[1:]
    assert listed(store, capsys, "--tenant", "nobody") == []


def test_a_revoked_key_is_marked_and_stays_so(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret = create(store, capsys)
    id = listed(store, capsys)[0].split()[0]
    for _ in range(2):
        assert keys("revoke", id, store=store) == 0
        assert capsys.readouterr().out == f"revoked {id} of ada in acme\n"
    assert "revoked 20" in listed(store, capsys)[0]
    key = asyncio.run(found(store, secret))
    assert key is not None
    assert key.revoked_at is not None


def test_a_key_that_is_not_there_cannot_be_revoked(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    create(store, capsys)
    assert keys("revoke", "nothing", store=store) == 1
    assert capsys.readouterr().err == "threadkeep: There is no such API key.\n"


@pytest.mark.parametrize("name", ["", "two words", "../acme", "a/b", "x" * 200])
def test_a_name_that_could_do_harm_is_refused_in_one_line(
    name: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keys("create", "--tenant", name, "--user", "ada", store=store) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("threadkeep: ")
    assert complaint.count("\n") == 1
    assert listed(store, capsys) == []


def test_a_role_that_is_not_there_is_a_mistake_of_usage(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        keys("create", "--tenant", "acme", "--user", "ada", "--role", "god", store=store)
    assert "invalid choice: 'god'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("list",), ("revoke", "any")])
def test_looking_for_keys_makes_no_store(
    arguments: tuple[str, ...], tmp_path: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keys(*arguments, store=store) == 1
    assert "There is no store" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_keys_says_how_to_make_one(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "--store", store]) == 0
    capsys.readouterr()
    assert keys("list", store=store) == 0
    told = capsys.readouterr()
    assert (told.out, "threadkeep keys create" in told.err) == ("", True)


def test_a_key_that_would_be_gone_at_once_is_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert keys("create", "--tenant", "t", "--user", "u", store="memory:") == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)


def test_a_key_can_end_by_itself(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = asyncio.run(found(store, create(store, capsys, "--expires", "90d")))
    assert key is not None
    assert key.expires_at == key.created_at + timedelta(days=90)
    assert "good until" in listed(store, capsys)[0]


@pytest.mark.parametrize("wrong", ["90", "d", "0d", "-1d", "1w", "1.5h", "\u0663d", "9999999d"])
def test_a_time_that_is_none_is_refused(store: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        keys("create", "--tenant", "acme", "--user", "ada", f"--expires={wrong}", store=store)
    assert "is no time" in capsys.readouterr().err


@pytest.fixture
def logins_store(tmp_path: Path) -> str:
    url, now = f"sqlite:///{tmp_path / 'threadkeep.db'}", utc_now()

    async def fill() -> None:
        opened = await open_store(url)
        for user in ("ada", "bob"):
            scope = Scope(tenant="acme", user=user)
            key = ApiKey(id=user, digest=digest_of(user), hint="tk_", scope=scope, created_at=now)
            await opened.keyring.add(key)
            login = Login(
                id=f"login-of-{user}",
                digest=digest_of(f"tl_{user}"),
                key=key,
                device="Firefox",
                created_at=now,
                idle_until=now + timedelta(hours=1),
                ends_at=now + timedelta(days=1),
            )
            await opened.keyring.add_login(login)
        await opened.close()

    asyncio.run(fill())
    return url


def test_logins_are_listed_and_ended(logins_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logins", "list", "--store", logins_store]) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["login-of-ada", "acme", "ada"],
        ["login-of-bob", "acme", "bob"],
    ]
    assert main(["logins", "end", "login-of-ada", "--store", logins_store]) == 0
    assert main(["logins", "end", "login-of-ada", "--store", logins_store]) == 1
    assert "no such login" in capsys.readouterr().err
    assert main(["logins", "list", "--tenant", "acme", "--user", "ada", "--store", logins_store]) == 0
    assert capsys.readouterr().out == ""
