"""The bridge: nudges reach the buses of other processes, once, without names, and a channel that breaks is mended."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tests.unit.turn.processes import until
from threadkeep import background
from threadkeep.background import supervised
from threadkeep.errors import StoreUnavailable
from threadkeep.store.changes import MOST_BYTES, NotifyChannel
from threadkeep.turn import notify_bridge
from threadkeep.turn.local_bus import LOOK, LocalBus, Nudge, Topic, topic_of
from threadkeep.turn.notify_bridge import MOST_DIGESTS, NotifyBridge


@dataclass
class Cable:
    """What wires of one test are joined by: all that was sent, and who hears it."""

    sent: list[str] = field(default_factory=list)
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    is_down: bool = False


class CableChannel(NotifyChannel):
    """A wire within this process."""

    def __init__(self, cable: Cable) -> None:
        self._cable = cable
        self._hear: Callable[[str], None] | None = None

    async def open(self, hear: Callable[[str], None]) -> None:
        """Join in."""
        if self._cable.is_down:
            raise StoreUnavailable
        self._hear = hear
        self._cable.listeners.append(hear)

    async def send(self, words: Sequence[str]) -> None:
        """Tell all who listen."""
        if self._cable.is_down:
            raise StoreUnavailable
        for word in words:
            self._cable.sent.append(word)
            for hear in self._cable.listeners:
                hear(word)

    async def close(self) -> None:
        """Leave."""
        if self._hear is not None:
            self._cable.listeners.remove(self._hear)
            self._hear = None


@dataclass
class Process:
    """A bus with a bridge, and what it was told that others have changed."""

    bus: LocalBus = field(default_factory=LocalBus)
    changed: list[frozenset[Topic]] = field(default_factory=list)

    async def note(self, topics: frozenset[Topic]) -> None:
        """Be told."""
        self.changed.append(topics)


@asynccontextmanager
async def joined(cable: Cable, *processes: Process) -> AsyncIterator[None]:
    """Run a bridge for each process."""
    bridges = [NotifyBridge(process.bus, CableChannel(cable), process.note) for process in processes]
    tasks = [asyncio.create_task(supervised("the bridge", bridge.run)) for bridge in bridges]
    await until(lambda: len(cable.listeners) == len(processes))
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert cable.listeners == []


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits longer than it must."""
    monkeypatch.setattr(notify_bridge, "GATHER", 0)
    monkeypatch.setattr(notify_bridge, "QUIET", 0.1)
    monkeypatch.setattr(background, "FIRST_PAUSE", 0)


async def test_readers_in_other_processes_are_told_to_look_and_no_text_travels() -> None:
    cable, here, there = Cable(), Process(), Process()
    async with joined(cable, here, there):
        with there.bus.subscribed("acme", "c") as reader, there.bus.subscribed("acme", "d") as other:
            here.bus.publish("acme", "c", Nudge("m", 0, "a secret"))
            assert await reader.get(20) == [LOOK]
            await until(lambda: bool(there.changed))
            assert other._nudges == []
    assert there.changed == [frozenset({topic_of("acme", "c")})]
    assert here.changed == []
    assert not any(name in word for word in cable.sent for name in ("acme", "secret"))


async def test_readers_here_hear_their_own_news_once() -> None:
    cable, here = Cable(), Process()
    async with joined(cable, here):
        with here.bus.subscribed("acme", "c") as reader:
            here.bus.publish("acme", "c", Nudge("m", 0, "text"))
            await until(lambda: bool(cable.sent))
            assert await reader.get(0) == [Nudge("m", 0, "text")]
            assert reader._nudges == []


async def test_what_happens_at_once_is_told_together_and_much_of_it_in_several_words() -> None:
    cable, here, there = Cable(), Process(), Process()
    count = MOST_DIGESTS * 2 + 1
    async with joined(cable, here, there):
        for number in range(count):
            here.bus.publish("acme", f"c{number}")
            here.bus.publish("acme", f"c{number}", Nudge("m", 0, "again"))
        await until(lambda: bool(there.changed))
    assert len(cable.sent) == 3
    assert max(map(len, cable.sent)) <= MOST_BYTES
    assert sum(map(len, there.changed)) == count


async def test_a_wire_that_broke_is_opened_again() -> None:
    cable, here, there = Cable(), Process(), Process()
    async with joined(cable, here, there):
        cable.is_down = True
        here.bus.publish("acme", "lost")
        there.bus.publish("acme", "lost")
        await until(lambda: cable.listeners == [])
        cable.is_down = False
        await until(lambda: len(cable.listeners) == 2)
        with there.bus.subscribed("acme", "c") as reader:
            here.bus.publish("acme", "c")
            assert await reader.get(20) == [LOOK]


async def test_a_wire_that_is_quiet_is_tried_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify_bridge, "QUIET", 0)
    cable, here = Cable(), Process()
    async with joined(cable, here):
        cable.is_down = True
        await until(lambda: cable.listeners == [])
        cable.is_down = False
        await until(lambda: len(cable.listeners) == 1)


async def test_readers_are_counted_in_all_processes_and_no_longer_when_one_of_them_goes() -> None:
    cable, here, there = Cable(), Process(), Process()
    topic = topic_of("acme", "c")

    def counts() -> tuple[int, int]:
        return here.bus.presence.count(topic), there.bus.presence.count(topic)

    async with joined(cable, here, there):
        with here.bus.subscribed("acme", "c", presence=True), here.bus.subscribed("acme", "c"):
            with there.bus.subscribed("acme", "c", presence=True), there.bus.subscribed("acme", "c", presence=True):
                await until(lambda: counts() == (3, 3))
            await until(lambda: counts() == (1, 0))
    assert not any("acme" in word for word in cable.sent)


async def test_a_process_that_comes_later_is_told_who_is_there() -> None:
    cable, here, there = Cable(), Process(), Process()
    topic = topic_of("acme", "c")
    with here.bus.subscribed("acme", "c", presence=True), there.bus.subscribed("acme", "c", presence=True):
        async with joined(cable, here, there):
            await until(lambda: here.bus.presence.count(topic) == there.bus.presence.count(topic) == 2)


async def test_the_readers_of_very_many_conversations_are_told_in_several_words() -> None:
    cable, here, there = Cable(), Process(), Process()
    ids = [f"c{number}" for number in range(MOST_DIGESTS * 2 + 1)]
    with ExitStack() as stack:
        for each in ids:
            stack.enter_context(here.bus.subscribed("acme", each, presence=True))
            stack.enter_context(there.bus.subscribed("acme", each, presence=True))
        async with joined(cable, here, there):
            await until(lambda: all(there.bus.presence.count(topic_of("acme", each)) == 2 for each in ids))
    assert max(map(len, cable.sent)) <= MOST_BYTES


@pytest.mark.parametrize(
    "word",
    ["", "x", "other readers", "other readers x", "other readers abcd", "other nothex", "other abc", "\x00 \x00"],
)
async def test_words_of_other_programs_mean_nothing(word: str) -> None:
    cable, here = Cable(), Process()
    async with joined(cable, here):
        with here.bus.subscribed("acme", "c") as reader:
            await CableChannel(cable).send([word])
            assert reader._nudges == []
