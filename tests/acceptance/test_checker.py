"""The checker of the kill campaigns sees what it is there to see: each kind of broken promise is named."""

import json
import os
from collections.abc import Callable

import httpx
import pytest

from tests.acceptance.checker import Ack, Checker
from tests.acceptance.stream_reader import Reader
from tests.acceptance.writer import SHARED, Writer
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.server.sse import encode
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import asked

STEPS = 17
"""The script is in the middle of a turn here, with three chunks of its answer written."""


async def _written(steps: int = STEPS) -> tuple[Store, list[Ack]]:
    """Return a store in which a writer did so many steps, and what it told."""
    store = await open_store("memory:")
    for name in ("c", SHARED):
        await store.create(LOCAL, NewConversation(id=name))
    reader, out = os.pipe()
    await Writer(store, "c", out).play(last=steps)
    os.close(out)
    with os.fdopen(reader) as told:
        return store, [json.loads(line) for line in told]


async def _violations(store: Store, acks: list[Ack]) -> list[str]:
    checker = Checker(store, acks)
    await checker.check("c", was_created=True)
    await checker.check_shared(0)
    return checker.violations


@pytest.mark.parametrize("steps", range(1, 23))
async def test_a_writer_that_was_stopped_after_any_step_broke_nothing(steps: int) -> None:
    store, acks = await _written(steps)
    assert await _violations(store, acks) == []


@pytest.mark.parametrize("steps", range(1, 23))
async def test_a_last_step_that_was_stored_but_not_acknowledged_broke_nothing(steps: int) -> None:
    store, acks = await _written(steps)
    assert await _violations(store, acks[:-1]) == []


def _claim_one_more(acks: list[Ack]) -> list[Ack]:
    last = acks[-1]
    return [*acks, {**last, "step": last["step"] + 1}, {**last, "step": last["step"] + 2}]


def _forget_two(acks: list[Ack]) -> list[Ack]:
    return acks[:-2]


def _claim_another_place(acks: list[Ack]) -> list[Ack]:
    return [{**acks[0], "seqs": [2]}, *acks[1:]]


def _claim_a_lost_shared_one(acks: list[Ack]) -> list[Ack]:
    return [{**ack, "seqs": [99]} if ack["step"] == 9 else ack for ack in acks]


@pytest.mark.parametrize("change", [_claim_one_more, _forget_two, _claim_another_place, _claim_a_lost_shared_one])
async def test_acknowledgements_that_do_not_fit_the_store_are_named(change: Callable[[list[Ack]], list[Ack]]) -> None:
    store, acks = await _written()
    assert await _violations(store, change(acks)) != []


async def test_an_entry_that_nobody_acknowledged_is_named() -> None:
    store, acks = await _written(2)
    await store.append(LOCAL, "c", Append(bodies=(asked("out of nowhere"),)))
    assert await _violations(store, acks) != []


async def test_a_message_that_is_there_twice_is_named() -> None:
    store, acks = await _written(1)
    await store.append(LOCAL, "c", Append(bodies=(asked("c step0x"),)))
    assert await _violations(store, acks) != []


async def test_a_conversation_that_is_gone_is_named() -> None:
    store, acks = await _written()
    await store.delete(LOCAL, "c")
    assert await _violations(store, acks) != []


async def test_a_reader_whose_stream_ends_with_an_error_comes_back_behind_the_last_event_of_the_log() -> None:
    error = encode("error", {"code": "store_unavailable", "detail": "The database does not answer."})
    asked: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        told = [encode("turn.started", {}, "first") + error, error, encode("turn.completed", {}, "second")]
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=told[len(asked) - 1])

    reader = Reader("/v1/conversations/c")
    async with httpx.AsyncClient(base_url="http://server", transport=httpx.MockTransport(answer)) as client:
        while not reader.is_done:
            await reader.read(client)
    assert asked == [None, "first", "first"]
    reader.check()
