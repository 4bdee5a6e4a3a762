"""Imports: entries of another store with their own numbers, times, parents and turns."""

from datetime import datetime, timedelta

import pytest

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, HeadChoice, Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Message
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.errors import (
    ContentTooLarge,
    ConversationBusy,
    ConversationNotFound,
    ImportConflict,
    InvalidImport,
    InvalidParent,
    LeaseLost,
)
from threadkeep.store.base import ROOT, Store
from threadkeep.store.values import Adopt, Append, Begin, Import
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import (
    ADA,
    BOB,
    MINUTE,
    NO_TIME,
    answered,
    asked,
    key,
    new,
    run,
    running,
    say,
    settle,
    texts_of,
)
from threadkeep.testing.stores import everything, whole_log


async def _eventful(store: Store, clock: FakeClock) -> tuple[Conversation, tuple[Entry, ...]]:
    """Return a conversation with branches, states, a chosen head, a changed title and a finished turn, and its log."""
    lease = await running(store, name := await new(store))
    clock.advance(seconds=1)
    await settle(store, lease, answered("an answer"))
    clock.advance(seconds=1)
    changes = (StateChange(set={"a": 1}, depth=1), StateChange(set={"b": [1.5, None]}, depth=2))
    await store.append(ADA, name, Append(bodies=changes))
    await say(store, name, "again", "another answer", parent=1)
    clock.advance(seconds=1)
    await store.update(ADA, name, Update(title="titled", status=Status.COMPLETED, metadata={"m": "ü"}))
    await say(store, name, "from the beginning", parent=ROOT)
    await store.choose_head(ADA, name, 2 + 1)
    begin = Begin(parent=1, owner="one", lease_for=MINUTE)
    begun = await store.begin(ADA, name, begin)
    assert begun.lease is not None
    await settle(store, begun.lease, answered("a third answer"))
    entries, _ = await whole_log(store, ADA, name)
    return await store.get(ADA, name), entries


def _import(conversation: Conversation, entries: tuple[Entry, ...], **fields: object) -> Import:
    names = ("assistant", "title", "system", "model", "metadata")
    about = NewConversation(id=conversation.id, **{name: getattr(conversation, name) for name in names})
    given = {"created_at": conversation.created_at, "version": conversation.version, **fields}
    return Import(new=about, entries=entries, **given)  # type: ignore[arg-type]


def _entry(seq: int, body: object, parent: int | None, at: datetime, turn: int | None = None) -> Entry:
    return Entry(conversation="c", seq=seq, parent=parent, turn=turn, created_at=at, body=body)  # type: ignore[arg-type]


def _said(clock: FakeClock, *texts: str) -> Import:
    entries = tuple(_entry(seq, asked(text), seq - 1 or None, clock()) for seq, text in enumerate(texts, 1))
    return Import(new=NewConversation(id="c"), created_at=clock(), entries=entries, version=1)


@pytest.mark.asyncio
class TestImports:
    @pytest.mark.parametrize("step", [100, 1, 3])
    async def test_everything_is_as_it_was_elsewhere(self, store: Store, clock: FakeClock, step: int) -> None:
        conversation, entries = await _eventful(store, clock)
        tree = (await store.snapshot(ADA, conversation.id)).tree
        states = [await store.state(ADA, conversation.id, at=at) for at in (3, 5, conversation.head)]
        await store.delete(ADA, conversation.id)
        clock.advance(seconds=1000)
        added = 0
        for at in range(0, len(entries), step):
            page = entries[at : at + step]
            is_last = at + step >= len(entries)
            version = conversation.version if is_last else None
            added += await store.import_entries(ADA, _import(conversation, page, version=version))
        assert added == len(entries)
        assert await store.get(ADA, conversation.id) == conversation
        assert (await whole_log(store, ADA, conversation.id))[0] == entries
        assert (await store.snapshot(ADA, conversation.id)).tree == tree
        assert [await store.state(ADA, conversation.id, at=at) for at in (3, 5, conversation.head)] == states
        assert [hit.seq for hit in (await store.search(ADA, "beginning")).items] != []

    async def test_the_same_again_changes_nothing(self, store: Store, clock: FakeClock) -> None:
        conversation, entries = await _eventful(store, clock)
        before = await everything(store, ADA)
        assert await store.import_entries(ADA, _import(conversation, entries)) == 0
        assert await store.import_entries(ADA, _import(conversation, entries[2:5])) == 0
        assert await everything(store, ADA) == before

    async def test_what_is_missing_is_added(self, store: Store, clock: FakeClock) -> None:
        whole = _said(clock, *"12345")
        part = Import(new=whole.new, created_at=whole.created_at, entries=whole.entries[:2])
        assert await store.import_entries(ADA, part) == 2
        assert await store.import_entries(ADA, whole) == 3
        assert (await whole_log(store, ADA, "c"))[0] == whole.entries

    async def test_a_conversation_that_went_on_here_is_left_as_it_is(self, store: Store, clock: FakeClock) -> None:
        whole = _said(clock, "1", "2")
        await store.import_entries(ADA, whole)
        await say(store, "c", "3")
        before = await everything(store, ADA)
        assert await store.import_entries(ADA, whole) == 0
        assert await everything(store, ADA) == before

    async def test_a_log_that_differs_from_the_one_here_is_refused(self, store: Store, clock: FakeClock) -> None:
        whole = _said(clock, "1", "2", "3")
        await store.import_entries(ADA, Import(new=whole.new, created_at=clock(), entries=whole.entries[:2]))
        await say(store, "c", "another third")
        async with refused(store, ImportConflict):
            await store.import_entries(ADA, whole)

    async def test_an_empty_conversation_keeps_its_time(self, store: Store, clock: FakeClock) -> None:
        past = clock() - timedelta(days=700)
        empty = Import(new=NewConversation(id="c", title="t"), created_at=past, version=1)
        assert await store.import_entries(ADA, empty) == 0
        found = await store.get(ADA, "c")
        assert (found.created_at, found.updated_at, found.title) == (past, past, "t")

    async def test_another_users_id_is_not_found(self, store: Store, clock: FakeClock) -> None:
        await new(store, BOB, "mine", name="c")
        async with refused(store, ConversationNotFound):
            await store.import_entries(ADA, _said(clock, "1"))

    async def test_entries_without_those_before_them_are_refused(self, store: Store, clock: FakeClock) -> None:
        whole = _said(clock, *"123")
        tail = Import(new=whole.new, created_at=whole.created_at, entries=whole.entries[1:])
        async with refused(store, ConversationNotFound):
            await store.import_entries(ADA, tail)
        await new(store, name="c")
        async with refused(store, ImportConflict):
            await store.import_entries(ADA, tail)

    async def test_entries_that_do_not_fit_are_refused(self, store: Store, clock: FakeClock) -> None:
        now = clock()
        first = _entry(1, asked("1"), None, now)
        remark = _entry(2, HeadChoice(), 1, now)
        for bad in (
            (_entry(1, asked("1"), 1, now),),
            (_entry(1, asked("1"), None, now, turn=2),),
            (first, _entry(3, asked("3"), 1, now)),
            (_entry(0, asked("0"), None, now),),
        ):
            async with refused(store, InvalidImport):
                await store.import_entries(ADA, Import(new=NewConversation(id="c"), created_at=now, entries=bad))
        async with refused(store, InvalidImport):
            await store.import_entries(
                ADA, Import(new=NewConversation(id="c"), created_at=now, entries=(first,), version=2**31)
            )
        await store.import_entries(ADA, Import(new=NewConversation(id="c"), created_at=now, entries=(first, remark)))
        third = Import(new=NewConversation(id="c"), created_at=now, entries=(_entry(3, asked("3"), 2, now),))
        async with refused(store, InvalidParent):
            await store.import_entries(ADA, third)

    async def test_content_that_is_too_large_creates_no_conversation(self, store: Store, clock: FakeClock) -> None:
        async with refused(store, ContentTooLarge):
            await store.import_entries(ADA, _said(clock, "1", "x" * 5_000_000))

    async def test_a_conversation_in_which_a_turn_runs_is_busy(self, store: Store, clock: FakeClock) -> None:
        await store.import_entries(ADA, _said(clock, "1"))
        await running(store, "c")
        entries, _ = await whole_log(store, ADA, "c")
        more = (*entries, _entry(4, answered("4"), 2, clock()))
        async with refused(store, ConversationBusy):
            await store.import_entries(ADA, Import(new=NewConversation(id="c"), created_at=clock(), entries=more))

    async def test_turns_that_were_open_go_on(self, store: Store, clock: FakeClock) -> None:
        name = await new(store)
        await running(store, name)
        await run(store, name, "and then?")
        conversation, entries = await store.get(ADA, name), (await whole_log(store, ADA, name))[0]
        await store.delete(ADA, name)
        states = {1: TurnState.RUNNING, 3: TurnState.QUEUED}
        await store.import_entries(ADA, _import(conversation, entries, open_turns=states))
        assert {turn.number: turn.state for turn in await store.turns(ADA, name)} == states
        clock.advance(seconds=1)
        (expired,) = await store.operations.expired(NO_TIME)
        assert expired.number == 1
        lease = await store.take(expired, "two", MINUTE)
        await settle(store, lease, answered("at last"))
        begun = await store.start(ADA, name, "two", MINUTE)
        assert begun is not None
        assert isinstance(begun.entries[0].body, Message)
        assert begun.entries[0].body.content == "and then?"

    async def test_a_turn_that_ended_elsewhere_is_open_no_more(self, store: Store, clock: FakeClock) -> None:
        now, waiting = clock(), TurnChange(state=TurnState.WAITING)
        first = (_entry(1, asked("1"), None, now, 1), _entry(2, waiting, 1, now, 1))
        ended = _entry(3, TurnChange(state=TurnState.CANCELLED), 1, now, 1)
        about = NewConversation(id="c")
        await store.import_entries(
            ADA, Import(new=about, created_at=now, entries=first, version=1, open_turns={1: TurnState.WAITING})
        )
        assert [turn.state for turn in await store.turns(ADA, "c")] == [TurnState.WAITING]
        await store.import_entries(ADA, Import(new=about, created_at=now, entries=(*first, ended), version=1))
        assert await store.turns(ADA, "c") == ()

    async def test_a_turn_goes_on_with_the_lease_that_it_had_elsewhere(self, store: Store, clock: FakeClock) -> None:
        lease = Lease(scope=ADA, conversation="c", turn=1, owner="one", fence=7)
        entries = (_entry(1, asked("1"), None, clock(), 1), _entry(2, _RUNS, 1, clock(), 1))
        await store.import_entries(
            ADA,
            Import(
                new=NewConversation(id="c"),
                created_at=clock(),
                entries=entries,
                version=1,
                open_turns={1: TurnState.RUNNING},
                lease=lease,
            ),
        )
        async with refused(store, LeaseLost):
            await store.write(lease.model_copy(update={"fence": 6}), "m", 0, "late")
        await store.write(lease, "m", 0, "2")
        await settle(store, lease, answered("2").model_copy(update={"id": "m"}))
        assert texts_of(await store.newest(ADA, "c")) == ["1", "2"]


async def _adopt(
    store: Store, clock: FakeClock, name: str, *bodies: tuple[object, int | None, int | None], named: str = "k"
) -> Adopt:
    """Return entries from elsewhere with their parents and turns; negative numbers are among themselves."""
    last = (await store.get(ADA, name)).entries

    def number(given: int | None) -> int | None:
        return last - given if given is not None and given < 0 else given

    entries = tuple(
        _entry(last + seq, body, number(parent), clock(), number(turn))
        for seq, (body, parent, turn) in enumerate(bodies, 1)
    )
    return Adopt(entries=entries, key=key(named))


_RUNS, _ENDS = TurnChange(state=TurnState.RUNNING), TurnChange(state=TurnState.COMPLETED)


@pytest.mark.asyncio
class TestAdoption:
    async def test_entries_from_elsewhere_follow_the_end_with_their_turn_and_time(
        self, store: Store, clock: FakeClock
    ) -> None:
        name, past = await new(store, ADA, "1", "2"), clock()
        adopt = await _adopt(
            store, clock, name, (asked("3"), 2, -1), (_RUNS, -1, -1), (answered("4"), -1, -1), (_ENDS, -3, -1)
        )
        clock.advance(seconds=60)
        adopted = await store.adopt(ADA, name, adopt)
        assert [(entry.seq, entry.parent, entry.turn, entry.created_at) for entry in adopted.entries] == [
            (3, 2, 3, past),
            (4, 3, 3, past),
            (5, 3, 3, past),
            (6, 5, 3, past),
        ]
        assert (await store.get(ADA, name)).head == 5
        assert await store.turns(ADA, name) == ()
        assert [hit.seq for hit in (await store.search(ADA, "3")).items] == [3]

    async def test_where_the_log_went_on_they_are_a_branch_beside_a_turn_that_runs(
        self, store: Store, clock: FakeClock
    ) -> None:
        name = await new(store, ADA, "1", "2")
        lease = await running(store, name)
        await store.adopt(
            ADA, name, await _adopt(store, clock, name, (asked("beside"), 2, -1), (answered("so"), -1, -1))
        )
        assert [branch.head for branch in ((await store.snapshot(ADA, name)).tree).branches()] == [3, 6]
        await settle(store, lease, answered("still mine"))
        assert [branch.fork for branch in ((await store.snapshot(ADA, name)).tree).branches()] == [None, 2]

    async def test_a_repeated_key_adopts_nothing_again(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "1")
        adopt = await _adopt(store, clock, name, (asked("2"), 1, None))
        first = await store.adopt(ADA, name, adopt)
        await say(store, name, "3")
        before = await everything(store, ADA)
        again = await store.adopt(ADA, name, adopt)
        assert (again.entries, again.replayed) == (first.entries, True)
        assert await everything(store, ADA) == before

    async def test_the_key_of_a_message_finds_it_where_it_was_adopted(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "1")
        await store.adopt(
            ADA, name, await _adopt(store, clock, name, (asked("2"), 1, -1), (_RUNS, -1, -1), named="sent")
        )
        begin = Begin(message=asked("2"), owner="one", lease_for=MINUTE, key=key("sent"))
        begun = await store.begin(ADA, name, begin)
        assert (begun.turn, begun.replayed, len(begun.entries)) == (2, True, 2)
        assert await store.operations.expired(MINUTE) == ()
        clock.advance(seconds=11)
        (expired,) = await store.operations.expired(MINUTE)
        assert expired.number == 2

    async def test_a_queued_turn_that_was_adopted_can_be_started(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "1")
        queued = TurnChange(state=TurnState.QUEUED, message=asked("2"))
        await store.adopt(ADA, name, await _adopt(store, clock, name, (queued, 1, -1)))
        assert [turn.number for turn in await store.operations.expired(MINUTE)] == [2]
        begun = await store.start(ADA, name, "two", MINUTE)
        assert begun is not None
        assert (begun.turn, begun.entries[0].parent) == (2, 1)

    async def test_a_turn_that_ended_elsewhere_is_not_ended_under_whoever_writes(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await running(store, name := await new(store))
        await store.write(lease, "m", 0, "half")
        async with refused(store, ConversationBusy):
            await store.adopt(ADA, name, await _adopt(store, clock, name, (answered("whole"), 1, 1), (_ENDS, -1, 1)))
        await settle(store, lease, answered("half and half").model_copy(update={"id": "m"}))
        await store.adopt(ADA, name, await _adopt(store, clock, name, (answered("whole"), 1, 1), (_ENDS, -1, 1)))
        assert ((await store.snapshot(ADA, name)).tree).siblings(3, 1) == (3, 5)

    async def test_a_message_that_was_finished_elsewhere_is_not_being_written_any_more(
        self, store: Store, clock: FakeClock
    ) -> None:
        lease = await running(store, name := await new(store))
        await store.write(lease, "m", 0, "half")
        whole = answered("half and half").model_copy(update={"id": "m"})
        await store.adopt(ADA, name, await _adopt(store, clock, name, (whole, 1, 1), (_ENDS, -1, 1)))
        assert (await store.log(ADA, name, Cursor(seq=4))).draft is None
        assert await store.turns(ADA, name) == ()
        async with refused(store, LeaseLost):
            await store.write(lease, "m", 4, "too late")

    async def test_what_changes_a_conversation_changes_it_here(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "1")
        await store.adopt(ADA, name, await _adopt(store, clock, name, (Update(title="titled"), 1, None)))
        found = await store.get(ADA, name)
        assert (found.title, found.version, found.head) == ("titled", 2, 1)

    async def test_entries_that_do_not_fit_are_refused(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "1")
        await store.update(ADA, name, Update(title="a remark"))
        good = await _adopt(store, clock, name, (asked("2"), 1, None))
        for bad in (
            Adopt(entries=(), key=key("k")),
            Adopt(entries=(*good.entries, *good.entries), key=key("k")),
            await _adopt(store, clock, name, (asked("2"), -2, None)),
        ):
            async with refused(store, InvalidImport):
                await store.adopt(ADA, name, bad)
        async with refused(store, InvalidParent):
            await store.adopt(ADA, name, await _adopt(store, clock, name, (asked("2"), 2, None)))
        async with refused(store, ConversationNotFound):
            await store.adopt(BOB, name, good)

    async def test_a_turn_may_wait_for_somebody_to_start_it(self, store: Store) -> None:
        name = await new(store, ADA, "1")
        begin = Begin(message=asked("later"), owner="one", lease_for=MINUTE, waits=True)
        assert (await store.begin(ADA, name, begin)).lease is None
        assert [turn.state for turn in await store.turns(ADA, name)] == [TurnState.QUEUED]
        assert await store.start(ADA, name, "one", MINUTE) is not None

    async def test_who_does_not_know_the_end_of_the_log_must_look_again(self, store: Store, clock: FakeClock) -> None:
        name = await new(store, ADA, "1")
        adopt = await _adopt(store, clock, name, (asked("2"), 1, None))
        await say(store, name, "faster")
        async with refused(store, ImportConflict):
            await store.adopt(ADA, name, adopt)
