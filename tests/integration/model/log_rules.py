"""Rules about conversations, their logs and their trees."""

import asyncio
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.integration.model.conversation import ConversationModel
from tests.integration.model.machine import Machine, pick, side, texts, word
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Approval, Entry, HeadChoice, Summary, Update
from threadkeep.conversation.state import State
from threadkeep.errors import AlreadyExists, ConversationNotFound, InvalidParent, KeyReused, StaleHead, StaleVersion
from threadkeep.store.values import Append
from threadkeep.testing.samples import NO_TIME, answered, asked, key

T = TypeVar("T")


class LogRules(Machine):
    """Create, rename, delete, restore, purge; append, remark, retry, choose a head, change the state."""

    # Conversations

    @precondition(lambda self: len(self.model) < 5)
    @rule(which=side, user=side, keyed=st.booleans())
    def create(self, which: int, user: int, keyed: bool) -> None:
        scope, name = self.scopes[user], f"c{next(self.names)}"
        work = self.handle(which).create(scope, NewConversation(id=name), key=key(name) if keyed else None)
        created = self.run(work)
        assert not created.replayed
        self.model.append(ConversationModel(scope, name, self.clock.now))
        again = self.handle(1 - which).create(scope, NewConversation(id=name), key=key(name) if keyed else None)
        if keyed:
            assert self.stage.run(again).replayed
        else:
            self.refuse(again, AlreadyExists)

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, title=texts, stale=st.booleans())
    def rename(self, which: int, at: int, title: str, stale: bool) -> None:
        here = self.conversation(at)
        expected = here.version + 1 if stale else here.version
        work = self.handle(which).update(here.scope, here.id, Update(title=title), expected_version=expected)
        if stale:
            return self.refuse(work, StaleVersion)
        changed = self.run(work)
        here.add([Update(title=title)], here.head, self.clock.now)
        here.title, here.version = title, here.version + 1
        assert changed.version == here.version
        return None

    @precondition(lambda self: len(self.model) > 2)
    @rule(which=side, at=pick)
    def delete(self, which: int, at: int) -> None:
        here = self.conversation(at)
        self.run(self.handle(which).delete(here.scope, here.id))
        self.model.remove(here)
        self.gone.append(here)
        self.deleted[here.id] = (here, [replay for replay in self.replays if replay[0] is here])
        self.replays = [replay for replay in self.replays if replay[0] is not here]
        self.touched = None
        self.refuse(self.handle(1 - which).get(here.scope, here.id), ConversationNotFound)

    @precondition(lambda self: self.deleted)
    @rule(which=side, at=pick)
    def restore(self, which: int, at: int) -> None:
        here, replays = self.deleted.pop(sorted(self.deleted)[at % len(self.deleted)])
        self.run(self.handle(which).restore(here.scope, here.id))
        self.gone.remove(here)
        self.model.append(here)
        self.replays += replays
        self.touched = here

    @precondition(lambda self: self.deleted)
    @rule(which=side)
    def purge(self, which: int) -> None:
        self.stage.run(self.handle(which).operations.purge(NO_TIME))
        for here, _ in self.deleted.values():
            self.refuse(self.handle(1 - which).restore(here.scope, here.id), ConversationNotFound)
        self.deleted.clear()

    # The log and its tree

    @precondition(lambda self: self.model)
    @rule(
        which=side, at=pick, said=st.lists(texts, min_size=1, max_size=3), parent=st.none() | pick, keyed=st.booleans()
    )
    def append(self, which: int, at: int, said: list[str], parent: int | None, keyed: bool) -> None:
        here = self.conversation(at)
        place = None if parent is None else self.place(here, parent)
        name = f"k{next(self.names)}"
        append = Append(
            bodies=tuple(asked(text) for text in said),
            parent=place,
            expected_head=here.head,
            key=key(name) if keyed else None,
        )
        stored = self.run(self.handle(which).append(here.scope, here.id, append))
        expected = here.add(append.bodies, here.head if place is None else place, self.clock.now)
        self.check(stored.entries, expected)
        if keyed:
            self.replays.append((here, append, expected))

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, parent=st.none() | pick, content=texts)
    def remark(self, which: int, at: int, parent: int | None, content: str) -> None:
        here = self.conversation(at)
        place = None if parent is None else self.place(here, parent)
        bodies = (Summary(content=content), Approval(tool_call_id="call", approved=True))
        stored = self.run(self.handle(which).append(here.scope, here.id, Append(bodies=bodies, parent=place)))
        self.check(stored.entries, here.add(bodies, here.head if place is None else place, self.clock.now))

    @precondition(lambda self: self.replays)
    @rule(which=side, at=pick, other_body=st.booleans())
    def retry(self, which: int, at: int, other_body: bool) -> None:
        here, append, expected = self.replays[at % len(self.replays)]
        self.touched = here
        assert append.key is not None
        if other_body:
            changed = Append(bodies=append.bodies, key=key(append.key.key, "another body"))
            return self.refuse(self.handle(which).append(here.scope, here.id, changed), KeyReused)
        again = self.run(self.handle(which).append(here.scope, here.id, append))
        assert again.replayed
        return self.check(again.entries, expected)

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, kind=st.sampled_from(["head", "parent", "remark", "somebody"]))
    def append_badly(self, which: int, at: int, kind: str) -> None:
        here = self.conversation(at)
        remarks = [entry.seq for entry in here.entries if not entry.continues_branch]
        store, body = self.handle(which), (asked("bad"),)
        missing = remarks[-1] if kind == "remark" and remarks else here.next_seq()
        if kind == "head":
            self.refuse(store.append(here.scope, here.id, Append(bodies=body, expected_head=here.head + 1)), StaleHead)
        elif kind == "somebody":
            other = next(scope for scope in self.scopes if scope != here.scope)
            self.refuse(store.append(other, here.id, Append(bodies=body)), ConversationNotFound)
        else:
            self.refuse(store.append(here.scope, here.id, Append(bodies=body, parent=missing)), InvalidParent)

    @precondition(lambda self: self.model)
    @rule(at=pick, said=texts)
    def append_through_both_at_once(self, at: int, said: str) -> None:
        here = self.conversation(at)
        appends = [Append(bodies=(asked(f"{said} {side}"), answered("so"))) for side in range(2)]

        async def both() -> list[tuple[Entry, ...]]:
            jobs = (
                handle.append(here.scope, here.id, append)
                for handle, append in zip(self.stage.handles, appends, strict=True)
            )
            return [one.entries for one in await asyncio.gather(*jobs)]

        first, second = sorted(self.run(both()), key=lambda entries: entries[0].seq)
        for stored in (first, second):
            self.check(stored, here.add([entry.body for entry in stored], here.head, self.clock.now))

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, head=pick)
    def choose_head(self, which: int, at: int, head: int) -> None:
        here = self.conversation(at)
        place = self.place(here, head)
        self.run(self.handle(which).choose_head(here.scope, here.id, place, expected_version=here.version))
        here.add([HeadChoice()], place, self.clock.now)
        here.head, here.version = place, here.version + 1

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, parent=pick, name=word, value=st.integers(), unset=st.lists(word, max_size=2))
    def change_state(self, which: int, at: int, parent: int, name: str, value: int, unset: list[str]) -> None:
        here = self.conversation(at)
        place = self.place(here, parent)
        store = self.handle(which)
        state = self.run(store.state(here.scope, here.id, at=place)) if place else State()
        change = state.change({name: value}, unset)
        stored = self.run(store.append(here.scope, here.id, Append(bodies=(change,), parent=place)))
        self.check(stored.entries, here.add([change], place, self.clock.now))
