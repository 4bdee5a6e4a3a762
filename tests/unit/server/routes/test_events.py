"""The stream of the list: what changed is told once, whoever changed it, and a quiet list is hardly read."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.runtime import open_store, open_unanswered
from threadkeep.server.routes import events as list_events
from threadkeep.server.routes.events import SHOWN, TOP, WHOLE_EVERY, watch_list
from threadkeep.store.base import Store
from threadkeep.store.values import ConversationPage


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    found = await open_store("memory:")
    yield found
    await found.close()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_events, "LOOK_EVERY", 0.001)


async def _next(changes: AsyncIterator[bytes]) -> tuple[str, dict[str, Any]]:
    lines = (await anext(changes)).decode().splitlines()
    return lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))


async def test_changes_that_nobody_told_of_are_found_and_told_once(store: Store) -> None:
    names = [(await store.create(LOCAL, NewConversation())).conversation.id for _ in range(SHOWN + 20)]
    async with aclosing(watch_list(await open_unanswered(store), LOCAL)) as changes:  # type: ignore[type-var]
        await anext(changes)
        await store.update(LOCAL, names[3], Update(title="up from below"))
        assert (await _next(changes))[1]["title"] == "up from below"
        for name in names[-10:-1]:
            await store.update(LOCAL, name, Update(status=Status.COMPLETED))
        told = [await _next(changes) for _ in range(9)]
        assert [(name, data["id"]) for name, data in told] == [("conversation.updated", id) for id in names[-10:-1]]
        made = (await store.create(LOCAL, NewConversation(system="much", metadata={"a": 1}))).conversation.id
        name, data = await _next(changes)
        assert (name, data["id"]) == ("conversation.created", made)
        assert "system" not in data
        assert "metadata" not in data
        await store.delete(LOCAL, names[-1])
        assert await _next(changes) == ("conversation.deleted", {"id": names[-1], "type": "conversation.deleted"})


async def test_a_quiet_list_is_hardly_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(SHOWN):
        await store.create(LOCAL, NewConversation())
    limits: list[int] = []
    read = store.list

    async def noted(scope: Scope, *filters: Any, limit: int = 20, **none: Any) -> ConversationPage:
        limits.append(limit)
        return await read(scope, limit=limit)

    monkeypatch.setattr(store, "list", noted)
    async with aclosing(watch_list(await open_unanswered(store), LOCAL)) as changes:  # type: ignore[type-var]
        await anext(changes)
        monkeypatch.setattr(store, "turns", None)  # nothing has changed, so nothing may be looked into
        waiting = asyncio.create_task(_next(changes))
        while len(limits) < 2 * WHOLE_EVERY + 1:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert limits[: 2 * WHOLE_EVERY + 1] == [SHOWN, *([*[TOP] * (WHOLE_EVERY - 1), SHOWN] * 2)]
