"""Webhooks of a real server, to a real receiver: in order for each conversation, at least once, whoever sends."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.backends import ON_DISK, url_of
from tests.integration.serving import PATIENCE, Server, serving
from tests.webhook_receiver import Receiver, receiving, settings_of
from threadkeep_webhooks import sending

TURN = ["message.completed", "message.completed", "turn.completed"]


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, and try again soon."""
    monkeypatch.setattr(sending, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(sending, "PAUSES", (0.05,))


async def until(receiver: Receiver, types: list[str], conversation: str | None = None) -> None:
    await asyncio.to_thread(receiver.wait, lambda: len(receiver.types(conversation)) >= len(types))
    assert receiver.types(conversation) == types


async def said(server: Server, path: str, text: str) -> None:
    answer = await server.say(path, text)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("backend", ON_DISK)
async def test_each_turn_is_sent_signed_and_in_order_by_one_of_two_servers_and_goes_on_after_a_restart(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = url_of(backend, tmp_path, request)
    with receiving() as receiver:
        table = settings_of(receiver)
        async with serving(store, webhooks=table) as first, serving(store, webhooks=table) as second:
            path = await _begun(first, receiver)
            for server, text in ((first, "one"), (second, "two")):
                await said(server, path, text)
            name = path.rsplit("/", 1)[1]
            await until(receiver, TURN * 3, name)
        async with serving(store) as off:
            await said(off, path, "three")
        before = len(receiver.taken)
        async with serving(store, webhooks=table) as third:
            await until(receiver, TURN * 4, name)
            assert len(receiver.taken) - before <= len(TURN)
            event = receiver.taken[-1][1]
            assert event["data"]["conversation"] == name
            erased = await third.client.delete("/v1/users/local")
            assert erased.status_code == 200


async def _begun(server: Server, receiver: Receiver) -> str:
    """Return a conversation in which one turn was made that was sent: the sender has seen the target by then."""
    path = await server.conversation()
    targets = server.conversations.operations.notes
    while not await targets.read("local", ["webhooks/begun/app"]):  # noqa: ASYNC110 - what is looked at is no event
        await asyncio.sleep(0.01)
    await said(server, path, "zero")
    await until(receiver, TURN, path.rsplit("/", 1)[1])
    return path


async def test_what_fails_is_tried_again_holds_up_its_own_conversation_alone_and_is_given_up_at_last() -> None:
    with receiving() as receiver:
        async with serving(webhooks=settings_of(receiver, attempts=3)) as server:
            path, other = await _begun(server, receiver), await server.conversation()
            name, beside = path.rsplit("/", 1)[1], other.rsplit("/", 1)[1]

            def refuse_poison(event: dict[str, Any]) -> int:
                return 400 if "poison" in str(event["data"].get("message")) else 200

            receiver.answers = refuse_poison
            await said(server, path, "poison")
            await said(server, other, "fine")
            await until(receiver, TURN, beside)
            await until(receiver, [*TURN, *TURN[1:]], name)
            letters: list[dict[str, Any]] = []
            while not letters:
                letters = (await server.client.get("/v1/admin/webhooks/app/dead")).json()["data"]
            assert [(each["type"], each["attempts"], each["reason"]) for each in letters] == [
                ("message.completed", 3, "it answered 400")
            ]
            assert "poison" not in str(letters)
            receiver.answers = lambda _: 200
            for letter in letters:
                sent = (await server.client.post(f"/v1/admin/webhooks/app/dead/{letter['id']}")).json()
                assert sent["delivered"], sent
            assert (await server.client.get("/v1/admin/webhooks/app/dead")).json()["data"] == []
            receiver.answers = lambda _: 503
            await said(server, path, "later")
            tried = receiver.tried
            await asyncio.to_thread(receiver.wait, lambda: receiver.tried > tried)
            receiver.answers = lambda _: 200
            await asyncio.to_thread(receiver.wait, lambda: receiver.types(name)[-3:] == TURN)


async def test_what_was_deleted_before_it_was_sent_is_not_sent() -> None:
    with receiving() as receiver:
        async with serving(webhooks=settings_of(receiver)) as server:
            path = await _begun(server, receiver)
            receiver.answers = lambda _: 503
            await said(server, path, "secret")
            tried = receiver.tried
            await asyncio.to_thread(receiver.wait, lambda: receiver.tried > tried)
            assert (await server.client.delete(path)).status_code == 204
            notes = server.conversations.operations.notes
            while await notes.list("local", "webhooks/at/"):  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.01)
            assert await notes.list("local", "webhooks/open/") == []
            assert "secret" not in str(receiver.taken)


async def test_old_positions_are_forgotten_while_a_sender_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "FORGET_EVERY", 0.0)
    with receiving() as receiver:
        async with serving(webhooks=settings_of(receiver)) as server:
            await _begun(server, receiver)
            notes = server.conversations.operations.notes
            while not await notes.list("local", "webhooks/at/"):  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.01)
            monkeypatch.setattr(sending, "KEPT", timedelta(0))
            async with asyncio.timeout(PATIENCE):
                while await notes.list("local", "webhooks/at/"):  # noqa: ASYNC110 - what is looked at is no event
                    await asyncio.sleep(0.01)
