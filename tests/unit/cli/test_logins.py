"""`threadkeep logins`: who is signed in where, and the end of it."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.conversation.api_key import ApiKey, Login, digest_of
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope
from threadkeep.runtime import open_store


@pytest.fixture
def store(tmp_path: Path) -> str:
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


def test_logins_are_listed_and_ended(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logins", "list", "--store", store]) == 0
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["login-of-ada", "acme", "ada"],
        ["login-of-bob", "acme", "bob"],
    ]
    assert main(["logins", "end", "login-of-ada", "--store", store]) == 0
    assert main(["logins", "end", "login-of-ada", "--store", store]) == 1
    assert "no such login" in capsys.readouterr().err
    assert main(["logins", "list", "--tenant", "acme", "--user", "ada", "--store", store]) == 0
    assert capsys.readouterr().out == ""
