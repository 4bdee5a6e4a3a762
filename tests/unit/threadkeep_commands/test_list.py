"""`threadkeep list`: ids, titles and costs of conversations."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Cost, Message, Role, Usage
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA


async def _fill(url: str) -> None:
    store = await open_store(url)
    for scope, name in ((LOCAL, "one"), (LOCAL, "two"), (ADA, "other")):
        await store.create(scope, NewConversation(id=name, title=f"About\n{name}", assistant="chat"))
    for amount in ("0.1", "0.25"):
        usage = Usage(input_tokens=10, output_tokens=2, cost=Cost(amount=Decimal(amount), currency="EUR"))
        await store.append(LOCAL, "one", Append(bodies=(Message(role=Role.ASSISTANT, content="yes", usage=usage),)))
    await store.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/one.db"
    asyncio.run(_fill(url))
    return url


def test_conversations_are_listed_the_last_active_first(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", url]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("  one  local  chat  active  About one")
    assert "  two  local  " in second
    assert main(["list", "--store", url, "--tenant", ADA.tenant, "--user", ADA.user]) == 0
    assert "  other  ada  " in capsys.readouterr().out
    assert main(["list", "--store", url, "--tenant", "nobody"]) == 0
    assert capsys.readouterr() == ("", "There are no conversations.\n")


def test_what_a_conversation_cost_is_added_up(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", url, "--usage"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "  20 + 4 tokens  0.35 EUR  About one" in first
    assert "  0 + 0 tokens  -  About two" in second
    assert main(["list", "--store", url, "--usage", "--limit", "1", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["id"], row["usage"]["cost"]) == ("one", {"amount": "0.35", "currency": "EUR"})
