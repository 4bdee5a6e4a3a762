"""The channel between workers: every word reaches the others, and those who do not listen hold nobody up."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from threadkeep.store.changes import MOST_BYTES
from threadkeep.turn.worker_channel import Ear, WorkerChannel, make_ears


@pytest.fixture
def ears() -> Iterator[list[Ear]]:
    """Those of three workers."""
    made = make_ears(3)
    yield made
    for end in (end for ear in made for end in ear):
        end.close()


async def heard_by(channel: WorkerChannel, count: int) -> list[str]:
    """Return so many words that a channel hears."""
    words: list[str] = []
    enough = asyncio.Event()

    def hear(word: str) -> None:
        words.append(word)
        if len(words) >= count:
            enough.set()

    await channel.open(hear)
    await asyncio.wait_for(enough.wait(), 10)
    await channel.close()
    return words


async def test_the_others_hear_every_word_and_oneself_none(ears: list[Ear]) -> None:
    channels = [WorkerChannel(ears, number) for number in range(3)]
    words = ["first", "x" * MOST_BYTES, "last"]
    await channels[0].send(words)
    await channels[1].send(["own"])
    assert await heard_by(channels[1], 3) == words
    assert await heard_by(channels[2], 4) == [*words, "own"]
    assert await heard_by(channels[0], 1) == ["own"]


async def test_another_process_is_heard(ears: list[Ear]) -> None:
    if (child := os.fork()) == 0:
        os._exit(0 if ears[0][1].send(b"from the child") else 1)
    assert await heard_by(WorkerChannel(ears, 0), 1) == ["from the child"]
    assert os.waitpid(child, 0)[1] == 0


async def test_one_that_does_not_listen_gets_as_much_as_it_has_room_for_and_holds_nobody_up(ears: list[Ear]) -> None:
    channels = [WorkerChannel(ears, number) for number in range(3)]
    await asyncio.wait_for(channels[0].send(["x" * MOST_BYTES] * 1000), 10)
    assert len(await heard_by(channels[1], 20)) >= 20
    await channels[0].send(["now"])
    assert "now" in await heard_by(channels[1], 1)
