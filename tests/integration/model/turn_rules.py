"""Rules about turns, their leases and the messages that they write."""

from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.integration.model.conversation import ConversationModel, DraftModel, TurnModel
from tests.integration.model.machine import Machine, pick, side, texts, word
from threadkeep.conversation.entry import Body, Entry
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.errors import ConversationBusy, DraftMismatch, InvalidParent, LeaseLost
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.samples import MINUTE, answered, asked, key

T = TypeVar("T")

FINAL = (TurnState.COMPLETED, TurnState.FAILED, TurnState.CANCELLED, TurnState.INTERRUPTED)


async def _write(store: Store, lease: Lease, message: str, offset: int, text: str) -> None:
    await store.write(lease, message, offset, text)


class TurnRules(Machine):
    """Begin, start, take up, write, finish; and what a former owner tries."""

    # Turns

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, text=st.none() | texts, owner=word, parent=st.none() | pick, reject=st.booleans())
    def begin(self, which: int, at: int, text: str | None, owner: str, parent: int | None, reject: bool) -> None:
        here = self.conversation(at)
        place = None if parent is None else self.place(here, parent)
        message = None if text is None else asked(text)
        begin = Begin(
            message=message,
            parent=place,
            expected_head=here.head,
            owner=owner,
            lease_for=MINUTE,
            key=key(f"k{next(self.names)}"),
            when_busy="reject" if reject else "queue",
        )
        work = self.handle(which).begin(here.scope, here.id, begin)
        if message is None and not place:
            return self.refuse(work, InvalidParent)
        if here.turns and reject:
            return self.refuse(work, ConversationBusy)
        begun = self.run(work)
        number = here.next_seq()
        assert begun.turn == number
        if here.turns:
            turn = here.turns[number] = TurnModel(number, TurnState.QUEUED, message, place)
            change = TurnChange(state=TurnState.QUEUED, message=message, parent=place)
            expected = here.add([change], here.head if place is None else place, self.clock.now, number)
            assert begun.lease is None
        else:
            turn = here.turns[number] = TurnModel(number, TurnState.RUNNING, message, place)
            expected = self.run_turn(here, turn)
            self.hold(here, number, begun.lease, owner)
        self.check(begun.entries, expected)
        replay = self.stage.run(self.handle(1 - which).begin(here.scope, here.id, begin))
        assert (replay.turn, replay.replayed, replay.lease) == (number, True, None)
        return self.check(replay.entries, expected)

    def run_turn(self, here: ConversationModel, turn: TurnModel) -> list[Entry]:
        place = here.head if turn.parent is None else turn.parent
        bodies: list[Body] = [*([turn.message] if turn.message else []), TurnChange(state=TurnState.RUNNING)]
        added = here.add(bodies, place, self.clock.now, turn.number)
        if turn.message is None:
            here.head = place
        return added

    def hold(self, here: ConversationModel, number: int, lease: Lease | None, owner: str) -> None:
        assert lease is not None
        assert (lease.scope, lease.conversation, lease.turn, lease.owner) == (here.scope, here.id, number, owner)
        turn = here.turns[number]
        assert lease.fence > turn.fence
        turn.state, turn.owner, turn.fence, turn.until = TurnState.RUNNING, owner, lease.fence, self.clock.now + MINUTE
        here.leases.append(lease)

    @precondition(lambda self: any(here.turns for here in self.model))
    @rule(which=side, at=pick, owner=word)
    def start(self, which: int, at: int, owner: str) -> None:
        here = self.conversation(at)
        queued = [turn for turn in here.turns.values() if turn.state is TurnState.QUEUED]
        started = self.run(self.handle(which).start(here.scope, here.id, owner, MINUTE))
        if here.open_turn() is not None or not queued:
            assert started is None
            return
        assert started is not None
        turn = queued[0]
        assert started.turn == turn.number
        self.check(started.entries, self.run_turn(here, turn))
        self.hold(here, turn.number, started.lease, owner)

    @precondition(lambda self: any(here.open_turn() for here in self.model))
    @rule(which=side, at=pick, owner=word)
    def take(self, which: int, at: int, owner: str) -> None:
        taken = [here for here in self.model if here.open_turn()]
        here = self.touched = taken[at % len(taken)]
        turn = here.open_turn()
        assert turn is not None
        store = self.handle(which)
        (seen,) = (seen for seen in self.run(store.turns(here.scope, here.id)) if seen.number == turn.number)
        lease = self.run(store.take(seen, owner, MINUTE))
        change = (self.stage.run(store.entry(here.scope, here.id, here.next_seq()))).body
        assert isinstance(change, TurnChange)
        assert change.state is TurnState.RUNNING
        parent = (self.stage.run(store.entry(here.scope, here.id, here.next_seq()))).parent or 0
        here.add([change], parent, self.clock.now, turn.number)
        self.hold(here, turn.number, lease, owner)
        self.refuse(self.handle(1 - which).take(seen, owner, MINUTE), LeaseLost)

    @precondition(lambda self: any(here.live_lease() for here in self.model))
    @rule(which=side, at=pick, text=texts, wrong=st.booleans())
    def write(self, which: int, at: int, text: str, wrong: bool) -> None:
        here, lease = self.leased(at)
        draft = here.draft
        message = draft.message if draft else f"m{next(self.names)}"
        offset = len(draft.text) if draft else 0
        if wrong:
            store = self.handle(which)
            self.refuse(_write(store, lease, message, offset + 1, text), DraftMismatch)
            if draft:
                self.refuse(_write(store, lease, "another", 0, text), DraftMismatch)
            return
        self.run(_write(self.handle(which), lease, message, offset, text))
        if draft is None:
            here.draft = DraftModel(message, lease.turn, self.clock.now, text)
        else:
            draft.text += text

    def leased(self, number: int) -> tuple[ConversationModel, Lease]:
        leased = [here for here in self.model if here.live_lease()]
        here = self.touched = leased[number % len(leased)]
        lease = here.live_lease()
        assert lease is not None
        return here, lease

    @precondition(lambda self: any(here.live_lease() for here in self.model))
    @rule(which=side, at=pick, rest=texts, end=st.none() | st.sampled_from([*FINAL, TurnState.WAITING]))
    def finish(self, which: int, at: int, rest: str, end: TurnState | None) -> None:
        here, lease = self.leased(at)
        store = self.handle(which)
        text = here.draft.text + rest if here.draft else rest
        status = MessageStatus.INTERRUPTED if end is TurnState.INTERRUPTED else MessageStatus.COMPLETE
        message = Message(
            id=here.draft.message if here.draft else f"m{next(self.names)}",
            role=Role.ASSISTANT,
            content=text,
            status=status,
        )
        settle = TurnChange(state=end) if end else None
        if here.draft and settle:
            self.refuse(store.append(here.scope, here.id, Append(lease=lease, settle=settle)), DraftMismatch)
        append = Append(bodies=(message,), lease=lease, settle=settle)
        stored = self.run(store.append(here.scope, here.id, append))
        bodies: list[Body] = [message, *([settle] if settle else [])]
        self.check(stored.entries, here.add(bodies, here.head, self.clock.now, lease.turn))
        here.draft = None
        if end is TurnState.WAITING:
            turn = here.turns[lease.turn]
            turn.state, turn.owner, turn.until = TurnState.WAITING, None, None
        elif end:
            del here.turns[lease.turn]

    @precondition(lambda self: any(here.leases for here in [*self.model, *self.gone]))
    @rule(which=side, at=pick)
    def speak_as_a_zombie(self, which: int, at: int) -> None:
        every = [(here, lease) for here in [*self.model, *self.gone] for lease in here.leases]
        dead = [lease for here, lease in every if here in self.gone or lease != here.live_lease()]
        if not dead:
            return
        lease = dead[at % len(dead)]
        store = self.handle(which)
        self.refuse(_write(store, lease, "zombie", 0, "text"), LeaseLost)
        self.refuse(store.extend(lease, MINUTE), LeaseLost)
        if lease.conversation in {here.id for here in self.model}:
            append = Append(bodies=(answered("zombie"),), lease=lease)
            self.refuse(store.append(lease.scope, lease.conversation, append), LeaseLost)

    @precondition(lambda self: any(here.live_lease() for here in self.model))
    @rule(which=side, at=pick)
    def extend(self, which: int, at: int) -> None:
        here, lease = self.leased(at)
        self.run(self.handle(which).extend(lease, 2 * MINUTE))
        here.turns[lease.turn].until = self.clock.now + 2 * MINUTE

    @rule(which=side, seconds=st.integers(1, 100))
    def wait_for_leases_to_run_out(self, which: int, seconds: int) -> None:
        self.clock.advance(seconds)
        now = self.clock.now
        expected = [
            (turn.until, here.id)
            for here in self.model
            for turn in here.turns.values()
            if turn.until is not None and turn.until < now
        ]
        expired = self.stage.run(self.handle(which).operations.expired(MINUTE, limit=1000))
        mine = [(turn.until, turn.conversation) for turn in expired if turn.scope in self.scopes]
        assert sorted(mine) == sorted(expected)
        assert [until for until, _ in mine] == sorted(until for until, _ in expected)
