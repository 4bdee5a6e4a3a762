"""What all rules of the store's state machine share: the stage, the model, and the comparison after every step."""

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from tests.backends import Opener
from tests.integration.model.conversation import ConversationModel
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import ROOT, Store
from threadkeep.store.values import Append, Draft
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.stores import whole_log

T = TypeVar("T")
Replay = tuple[ConversationModel, Append, list[Entry]]

WORDS = ("apple", "pear", "zürich", "東京", "\x00nul")

pick = st.integers(0, 1_000)
side = st.integers(0, 1)
word = st.sampled_from(WORDS)
texts = st.lists(word, min_size=1, max_size=3).map(" ".join)


class Stage:
    """What all examples of one backend share: the loop, the clock and two handles on the same data."""

    def __init__(self, opened: Opener) -> None:
        self.clock = FakeClock()
        self.runner = asyncio.Runner()
        self.handles = [self.run(opened(self.clock)) for _ in range(2)]
        self.numbers = count()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def close(self) -> None:
        for handle in self.handles:
            self.run(handle.close())
        self.runner.close()


class Machine(RuleBasedStateMachine):
    """Does the same to a store and to the model, and compares what both say."""

    stage: Stage

    @initialize()
    def begin_with_a_tenant_of_its_own(self) -> None:
        tenant = f"tenant-{next(self.stage.numbers)}"
        self.clock = self.stage.clock
        self.scopes = [Scope(tenant=tenant, user=user) for user in ("ada", "bob")]
        self.model: list[ConversationModel] = []
        self.gone: list[ConversationModel] = []
        self.replays: list[Replay] = []
        self.deleted: dict[str, tuple[ConversationModel, list[Replay]]] = {}
        self.touched: ConversationModel | None = None
        self.names = count()

    # How the rules work

    def handle(self, which: int) -> Store:
        return self.stage.handles[which]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        self.clock.advance(1)
        return self.stage.run(work)

    def refuse(self, work: Coroutine[Any, Any, Any], error: type[Exception]) -> None:
        with pytest.raises(error):
            self.stage.run(work)

    def conversation(self, number: int) -> ConversationModel:
        self.touched = self.model[number % len(self.model)]
        return self.touched

    def place(self, here: ConversationModel, number: int) -> int:
        places = [ROOT, *here.places()]
        return places[number % len(places)]

    def check(self, stored: tuple[Entry, ...], expected: list[Entry]) -> None:
        assert stored == tuple(expected)

    @invariant()
    def what_was_touched_is_the_same_in_both(self) -> None:
        here, self.touched = getattr(self, "touched", None), None
        if here is not None:
            self.compare(here, self.stage.handles[0])
            self.compare(here, self.stage.handles[1])

    def compare(self, here: ConversationModel, store: Store) -> None:
        entries, draft = self.stage.run(whole_log(store, here.scope, here.id))
        for stored, expected in zip(entries, here.entries, strict=True):
            assert stored == expected
        assert draft == (
            Draft(
                message=here.draft.message,
                turn=here.draft.turn,
                started_at=here.draft.started_at,
                offset=0,
                text=here.draft.text,
            )
            if here.draft
            else None
        )
        conversation = self.stage.run(store.get(here.scope, here.id))
        assert (conversation.head or 0, conversation.version, conversation.title) == (
            here.head,
            here.version,
            here.title,
        )
        assert (conversation.entries, conversation.updated_at) == (len(here.entries), here.updated_at)
        tree = self.stage.run(store.snapshot(here.scope, here.id)).tree
        assert [branch.head for branch in tree.branches()] == here.heads()
        turns = self.stage.run(store.turns(here.scope, here.id))
        assert [(t.number, t.state, t.owner, t.fence, t.until) for t in turns] == [
            (t.number, t.state, t.owner, t.fence if t.fence else turns[at].fence, t.until)
            for at, t in enumerate(here.turns.values())
        ]

    def teardown(self) -> None:
        for here in getattr(self, "model", []):
            self.compare(here, self.stage.handles[0])
            page = self.stage.run(self.stage.handles[1].log(here.scope, here.id, Cursor(), limit=1000))
            assert len(page.entries) == len(here.entries)
            self.stage.run(self.stage.handles[1].delete(here.scope, here.id))
