"""The pen: text is committed, then published; nothing is lost, doubled or left in flight."""

import asyncio

import pytest

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.turn import Lease
from threadkeep.errors import ContentTooLarge, LeaseLost, ThreadkeepError
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.samples import ADA, new, running
from threadkeep.turn.draft_writer import MOST_UNWRITTEN, DraftWriter
from threadkeep.turn.local_bus import LocalBus, Nudge, Subscription


class Gated:
    """The one verb of a store that a pen uses, held up until the gate opens, failing from the n-th write on."""

    def __init__(self, store: Store, fails_at: int | None = None, error: ThreadkeepError | None = None) -> None:
        self._store = store
        self._fails_at = fails_at
        self._error = error or ContentTooLarge()
        self.gate = asyncio.Event()
        self.writes: list[str] = []

    async def write(self, lease: Lease, message: str, offset: int, text: str) -> None:
        """Write when the gate is open."""
        self.writes.append(text)
        number = len(self.writes)
        await self.gate.wait()
        if number == self._fails_at:
            raise self._error
        await self._store.write(lease, message, offset, text)


class Desk:
    """A pen on a store in memory, and what a reader hears of it."""

    def __init__(self, store: Store, lease: Lease, gated: Gated) -> None:
        self.store = store
        self.lease = lease
        self.gated = gated
        self.bus = LocalBus()
        self.pen = DraftWriter(gated, self.bus, lease, "answer")  # type: ignore[arg-type]

    @classmethod
    async def set(cls, fails_at: int | None = None, error: ThreadkeepError | None = None) -> "Desk":
        """Begin a turn and take up the pen."""
        store = await open_store("memory:")
        lease = await running(store, await new(store))
        return cls(store, lease, Gated(store, fails_at, error))

    async def stored(self) -> str:
        """Return what is stored of the message."""
        draft = (await self.store.log(ADA, self.lease.conversation, Cursor(seq=2))).draft
        return draft.text if draft else ""


async def _nudges(subscription: Subscription) -> list[Nudge]:
    return await subscription.get(0.0)


async def test_the_first_text_is_written_at_once_and_what_comes_meanwhile_goes_together() -> None:
    desk = await Desk.set()
    for piece in ("one ", "two ", "three"):
        await desk.pen.write(piece)
        await asyncio.sleep(0)
    assert desk.gated.writes == ["one "]
    desk.gated.gate.set()
    assert await desk.pen.finish() == "one two three"
    assert desk.gated.writes == ["one ", "two three"]
    assert await desk.stored() == "one two three"


async def test_nothing_is_published_before_it_is_stored() -> None:
    desk = await Desk.set()
    with desk.bus.subscribed(ADA.tenant, desk.lease.conversation) as reader:
        await desk.pen.write("secret")
        await asyncio.sleep(0)
        assert desk.gated.writes == ["secret"]
        assert reader._nudges == []
        desk.gated.gate.set()
        await desk.pen.finish()
        assert await _nudges(reader) == [Nudge("answer", 0, "secret")]


async def test_a_model_that_is_faster_than_the_disk_is_held_back() -> None:
    desk = await Desk.set()
    await desk.pen.write("x")
    fast = asyncio.create_task(desk.pen.write("y" * (MOST_UNWRITTEN + 1)))
    await asyncio.sleep(0)
    assert not fast.done()
    desk.gated.gate.set()
    await fast
    assert len(await desk.pen.finish()) == MOST_UNWRITTEN + 2


async def test_a_writer_that_is_stopped_while_it_waits_leaves_nothing_in_flight() -> None:
    desk = await Desk.set()
    await desk.pen.write("x")
    held = asyncio.create_task(desk.pen.write("y" * (MOST_UNWRITTEN + 1)))
    await asyncio.sleep(0)
    held.cancel()
    await asyncio.wait((held,))
    finishing = asyncio.create_task(desk.pen.finish())
    await asyncio.sleep(0)
    assert not finishing.done(), "the text that is being written was forgotten"
    desk.gated.gate.set()
    assert await finishing == await desk.stored()


async def test_behind_text_that_could_not_be_written_nothing_is_written() -> None:
    desk = await Desk.set(fails_at=2)
    await desk.pen.write("one ")
    await asyncio.sleep(0)
    await desk.pen.write("two ")
    desk.gated.gate.set()
    with pytest.raises(ContentTooLarge):
        await desk.pen.finish()
    assert await desk.pen.finish() == await desk.stored() == "one "


async def test_the_error_of_a_write_reaches_whoever_writes_next() -> None:
    desk = await Desk.set(fails_at=1, error=LeaseLost())
    desk.gated.gate.set()
    await desk.pen.write("one ")
    await asyncio.sleep(0)
    with pytest.raises(LeaseLost):
        await desk.pen.write("two ")
    assert await desk.pen.finish() == ""


async def test_a_dropped_pen_finishes_its_stroke_and_forgets_the_rest() -> None:
    desk = await Desk.set()
    await desk.pen.write("one ")
    await asyncio.sleep(0)
    await desk.pen.write("two ")
    dropping = asyncio.create_task(desk.pen.drop(20.0))
    await asyncio.sleep(0)
    desk.gated.gate.set()
    await dropping
    assert await desk.stored() == "one "


async def test_a_dropped_pen_does_not_wait_for_ever_for_a_store_that_hangs() -> None:
    desk = await Desk.set()
    await desk.pen.write("one ")
    await asyncio.sleep(0)
    await desk.pen.drop(0.0)
    desk.gated.gate.set()
    assert await desk.stored() == ""
