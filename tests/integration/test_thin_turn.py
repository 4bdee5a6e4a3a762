"""A thin turn through the store's verbs: accept, stream a scripted answer, settle; and readers that come and go.

The follower here is the smallest one that keeps the second law: it knows only its cursor, which it carries as the text
that a client would, and asks the log for what it missed.
"""

import random
from collections.abc import AsyncGenerator

import pytest

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.message import Message, MessageStatus, Role, Usage
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, MINUTE, answered, asked, key, new, run
from threadkeep.testing.stores import OpenAnother, whole_log

SCRIPT = ["Once ", "upon\x00 a ", "time 🙂", " there ", "was a ", "日本語", " otter", ", who ", "kept ", "everything."]
ANSWER = "".join(SCRIPT)


class Reader:
    """Reads a conversation from a cursor on, and collects the text of each message and the numbers of all entries."""

    def __init__(self, store: Store, conversation: str) -> None:
        self._store = store
        self._conversation = conversation
        self.cursor = "0"
        self.texts: dict[str, str] = {}
        self.seqs: list[int] = []

    async def read(self, limit: int = 100) -> None:
        """Take in one page of what was missed, as a client that knows nothing but its cursor."""
        place = Cursor.decode(self.cursor, self._conversation)
        page = await self._store.log(ADA, self._conversation, place, limit=limit)
        for entry in page.entries:
            place = self._take_entry(entry, place)
        if page.draft is not None and page.draft.text:
            self._add(page.draft.message, page.draft.offset, page.draft.text)
            place = Cursor(seq=place.seq, message=page.draft.message, offset=page.draft.offset + len(page.draft.text))
        self.cursor = place.encode(self._conversation)

    def _take_entry(self, entry: Entry, place: Cursor) -> Cursor:
        self.seqs.append(entry.seq)
        if not isinstance(entry.body, Message):
            return place.model_copy(update={"seq": entry.seq})
        seen = place.offset if place.message == entry.body.id else 0
        self._add(entry.body.id, seen, entry.body.content[seen:])
        return Cursor(seq=entry.seq) if seen else place.model_copy(update={"seq": entry.seq})

    def _add(self, message: str, offset: int, text: str) -> None:
        so_far = self.texts.get(message, "")
        assert len(so_far) == offset, "a gap or a repeat"
        self.texts[message] = so_far + text


async def _answer(store: Store, lease: Lease) -> AsyncGenerator[int, None]:
    """Stream the scripted answer and settle, yielding after every step that was made durable."""
    offset = 0
    for chunk in SCRIPT:
        await store.write(lease, "answer", offset, chunk)
        offset += len(chunk)
        yield offset
    final = Message(id="answer", role=Role.ASSISTANT, content=ANSWER, usage=Usage(output_tokens=12))
    settle = TurnChange(state=TurnState.COMPLETED, usage=Usage(output_tokens=12))
    await store.append(ADA, lease.conversation, Append(bodies=(final,), lease=lease, settle=settle))
    yield offset


async def _accept(store: Store, name: str, text: str = "Tell me a story") -> Lease:
    begin = Begin(message=asked(text), owner="one", lease_for=MINUTE, key=key(text))
    begun = await store.begin(ADA, name, begin)
    assert begun.lease is not None
    return begun.lease


async def test_a_turn_is_accepted_streamed_settled_and_read_as_it_happens(store: Store) -> None:
    name = await new(store)
    reader = Reader(store, name)
    lease = await _accept(store, name)
    async for offset in _answer(store, lease):
        await reader.read()
        assert reader.texts["answer"] == ANSWER[:offset]
    assert list(reader.texts.values()) == ["Tell me a story", ANSWER]
    assert reader.seqs == [1, 2, 3, 4]
    page = await store.log(ADA, name, Cursor.decode(reader.cursor, name))
    assert (page.entries, page.draft) == ((), None)


async def test_a_retried_request_attaches_to_the_turn_instead_of_asking_twice(store: Store) -> None:
    name = await new(store)
    lease = await _accept(store, name)
    retry = await store.begin(
        ADA, name, Begin(message=asked("Tell me a story"), owner="two", lease_for=MINUTE, key=key("Tell me a story"))
    )
    assert (retry.turn, retry.replayed, retry.lease) == (lease.turn, True, None)
    async for _ in _answer(store, lease):
        pass
    assert (await store.get(ADA, name)).entries == 4


@pytest.mark.parametrize("seed", range(8))
async def test_readers_cut_at_random_cursors_reassemble_exactly_what_is_stored(
    store: Store, open_another: OpenAnother, seed: int
) -> None:
    chance = random.Random(seed)
    other = await open_another()
    name = await new(store)
    readers = [Reader(chance.choice((store, other)), name) for _ in range(6)]
    lease = await _accept(store, name)
    step = 0
    async for _ in _answer(store, lease):
        step += 1
        if step == 3:
            await run(other, name, "a queued question")
        if step == 5:
            await other.update(ADA, name, Update(title="A story"))
        if step == 7:
            await other.append(ADA, name, Append(bodies=(asked("an aside"),)))
        for reader in readers:
            if chance.random() < 0.4:
                await reader.read(limit=chance.choice((1, 2, 100)))
    entries, draft = await whole_log(store, ADA, name)
    assert draft is None
    stored = {entry.body.id: entry.body.content for entry in entries if isinstance(entry.body, Message)}
    assert stored["answer"] == ANSWER
    for reader in [*readers, Reader(other, name)]:
        while len(reader.seqs) < len(entries):
            await reader.read(limit=chance.choice((1, 2, 100)))
        assert reader.texts == stored
        assert reader.seqs == [entry.seq for entry in entries]
    await other.close()


async def test_a_turn_whose_owner_died_in_mid_text_is_taken_up_and_told_to_every_reader(
    store: Store, clock: FakeClock, open_another: OpenAnother
) -> None:
    name = await new(store)
    reader = Reader(store, name)
    lease = await _accept(store, name)
    story = _answer(store, lease)
    offsets = [await anext(story) for _ in range(4)]
    await story.aclose()
    await reader.read()
    partial = ANSWER[: offsets[-1]]
    clock.advance(61)

    other = await open_another()
    (turn,) = await other.operations.expired(MINUTE)
    taken = await other.take(turn, "two", MINUTE)
    _, draft = await whole_log(other, ADA, name)
    assert draft is not None
    assert draft.text == partial
    interrupted = Message(id=draft.message, role=Role.ASSISTANT, content=draft.text, status=MessageStatus.INTERRUPTED)
    await other.append(ADA, name, Append(bodies=(interrupted,), lease=taken))
    second = answered(ANSWER)
    settle = TurnChange(state=TurnState.COMPLETED)
    await other.append(ADA, name, Append(bodies=(second,), lease=taken, settle=settle))

    await reader.read()
    assert reader.texts["answer"] == partial
    assert reader.texts[second.id] == ANSWER
    assert reader.seqs == list(range(1, 7))
    assert await store.turns(ADA, name) == ()
    await other.close()


async def test_a_queued_turn_follows_the_first_and_a_reader_sees_both(store: Store) -> None:
    name = await new(store)
    reader = Reader(store, name)
    lease = await _accept(store, name)
    await run(store, name, "And then?")
    async for _ in _answer(store, lease):
        await reader.read()
    started = await store.start(ADA, name, "one", MINUTE)
    assert started is not None
    assert started.lease is not None
    await reader.read()
    settle = TurnChange(state=TurnState.COMPLETED)
    await store.append(ADA, name, Append(bodies=(answered("The end."),), lease=started.lease, settle=settle))
    await reader.read()
    assert list(reader.texts.values()) == ["Tell me a story", ANSWER, "And then?", "The end."]
    assert [entry.seq for entry in await store.newest(ADA, name)] == [1, 4, 6, 8]
