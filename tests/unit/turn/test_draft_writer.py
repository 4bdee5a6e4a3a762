"""The draft writer: text is committed, then published; nothing is lost, doubled or left in flight."""

import asyncio

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.turn import Lease
from threadkeep.errors import ContentTooLarge, LeaseLost, ThreadkeepError
from threadkeep.runtime import open_store
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.testing.samples import ADA, new, running
from threadkeep.turn.draft_writer import MOST_UNWRITTEN, DraftWriter
from threadkeep.turn.local_bus import LocalBus, Nudge, Subscription


class Gated(MemoryStore):
    """The verb of a store that a draft writer uses, held up until the gate opens, failing from the n-th write on."""

    def __init__(self, store: Store, fails_at: int | None = None, error: ThreadkeepError | None = None) -> None:
        super().__init__(utc_now, new_id, MAX_BYTES)
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


class Scene:
    """A draft writer on a store in memory, and what a reader hears of it."""

    def __init__(self, store: Store, lease: Lease, gated: Gated) -> None:
        self.store = store
        self.lease = lease
        self.gated = gated
        self.bus = LocalBus()
        gated.listeners = (self.bus.hear,)
        self.writer = DraftWriter(gated, lease, "answer")

    @classmethod
    async def set(cls, fails_at: int | None = None, error: ThreadkeepError | None = None) -> "Scene":
        """Begin a turn and make its writer."""
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
    scene = await Scene.set()
    for piece in ("one ", "two ", "three"):
        await scene.writer.write(piece)
        await asyncio.sleep(0)
    assert scene.gated.writes == ["one "]
    scene.gated.gate.set()
    assert await scene.writer.finish() == "one two three"
    assert scene.gated.writes == ["one ", "two three"]
    assert await scene.stored() == "one two three"


async def test_nothing_is_published_before_it_is_stored() -> None:
    scene = await Scene.set()
    with scene.bus.subscribed(ADA.tenant, scene.lease.conversation) as reader:
        await scene.writer.write("secret")
        await asyncio.sleep(0)
        assert scene.gated.writes == ["secret"]
        assert reader._nudges == []
        scene.gated.gate.set()
        await scene.writer.finish()
        assert await _nudges(reader) == [Nudge("answer", 0, "secret")]


async def test_a_model_that_is_faster_than_the_disk_is_held_back() -> None:
    scene = await Scene.set()
    await scene.writer.write("x")
    fast = asyncio.create_task(scene.writer.write("y" * (MOST_UNWRITTEN + 1)))
    await asyncio.sleep(0)
    assert not fast.done()
    scene.gated.gate.set()
    await fast
    assert len(await scene.writer.finish()) == MOST_UNWRITTEN + 2


async def test_a_writer_that_is_stopped_while_it_waits_leaves_nothing_in_flight() -> None:
    scene = await Scene.set()
    await scene.writer.write("x")
    held = asyncio.create_task(scene.writer.write("y" * (MOST_UNWRITTEN + 1)))
    await asyncio.sleep(0)
    held.cancel()
    await asyncio.wait((held,))
    finishing = asyncio.create_task(scene.writer.finish())
    await asyncio.sleep(0)
    assert not finishing.done(), "the text that is being written was forgotten"
    scene.gated.gate.set()
    assert await finishing == await scene.stored()


async def test_behind_text_that_could_not_be_written_nothing_is_written() -> None:
    scene = await Scene.set(fails_at=2)
    await scene.writer.write("one ")
    await asyncio.sleep(0)
    await scene.writer.write("two ")
    scene.gated.gate.set()
    with pytest.raises(ContentTooLarge):
        await scene.writer.finish()
    assert await scene.writer.finish() == await scene.stored() == "one "


async def test_the_error_of_a_write_reaches_whoever_writes_next() -> None:
    scene = await Scene.set(fails_at=1, error=LeaseLost())
    scene.gated.gate.set()
    await scene.writer.write("one ")
    await asyncio.sleep(0)
    with pytest.raises(LeaseLost):
        await scene.writer.write("two ")
    assert await scene.writer.finish() == ""


async def test_a_dropped_pen_finishes_its_stroke_and_forgets_the_rest() -> None:
    scene = await Scene.set()
    await scene.writer.write("one ")
    await asyncio.sleep(0)
    await scene.writer.write("two ")
    dropping = asyncio.create_task(scene.writer.drop(20.0))
    await asyncio.sleep(0)
    scene.gated.gate.set()
    await dropping
    assert await scene.stored() == "one "


async def test_a_dropped_pen_does_not_wait_for_ever_for_a_store_that_hangs() -> None:
    scene = await Scene.set()
    await scene.writer.write("one ")
    await asyncio.sleep(0)
    await scene.writer.drop(0.0)
    scene.gated.gate.set()
    assert await scene.stored() == ""
