"""Rules that only read: branches, searches, lists, statistics."""

from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.integration.model.machine import Machine, pick, side, word
from threadkeep.conversation.entry import Summary
from threadkeep.conversation.message import Message
from threadkeep.store.values import Statistics

T = TypeVar("T")


class ReadingRules(Machine):
    """Read what was written, through either handle."""

    # What both say

    @precondition(lambda self: self.model)
    @rule(which=side, at=pick, head=pick, limit=st.integers(1, 7))
    def read_a_branch(self, which: int, at: int, head: int, limit: int) -> None:
        here = self.conversation(at)
        store, place = self.handle(which), self.place(here, head)
        path = here.path(place)
        if not place:
            return
        name = (here.scope, here.id)
        self.check(self.stage.run(store.newest(*name, limit=limit, head=place)), path[-limit:])
        self.check(self.stage.run(store.newest(*name, before=place, limit=limit)), path[:-1][-limit:])
        middle = path[head % len(path)]
        after = [entry for entry in path if entry.seq > middle.seq]
        self.check(self.stage.run(store.after(*name, middle.seq, limit=limit, head=place)), after[:limit])
        said = sum(isinstance(entry.body, Message) for entry in path)
        assert self.stage.run(store.count(*name, head=place)) == said
        assert self.stage.run(store.state(*name, at=place)).values == here.state(place)
        on_path = {entry.seq for entry in path}
        summaries = [e for e in here.entries if isinstance(e.body, Summary) and e.parent in on_path]
        assert self.stage.run(store.summary(*name, head=place)) == (summaries[-1] if summaries else None)

    @rule(which=side, user=side, looked_for=word)
    def search(self, which: int, user: int, looked_for: str) -> None:
        scope = self.scopes[user]
        plain = looked_for.replace("\x00", "")
        found = self.stage.run(self.handle(which).search(scope, plain + " ", limit=1000)).items
        expected = [
            (here.id, entry.seq)
            for here in self.model
            if here.scope == scope
            for entry in here.entries
            if isinstance(entry.body, Message) and looked_for in entry.body.content
        ]
        titled = [here.id for here in self.model if here.scope == scope and looked_for in (here.title or "")]
        assert sorted(hit.conversation for hit in found if hit.kind == "title") == sorted(titled)
        messages = [(hit.conversation, hit.seq or 0, hit.branch or 0) for hit in found if hit.kind == "message"]
        if len(expected) < 200:
            assert sorted((conversation, seq) for conversation, seq, _ in messages) == sorted(expected)
        by_id = {here.id: here for here in self.model}
        for conversation, seq, branch in messages:
            here = by_id[conversation]
            assert branch in here.heads()
            assert here.entries[seq - 1] in here.path(branch)

    @rule(which=side, user=side)
    def list_and_count(self, which: int, user: int) -> None:
        scope, store = self.scopes[user], self.handle(which)
        mine = [here for here in self.model if here.scope == scope]
        listed = self.stage.run(store.list(scope, limit=1000)).items
        assert [here.updated_at for here in listed] == sorted((here.updated_at for here in mine), reverse=True)
        assert {here.id: (here.version, here.entries, here.title) for here in listed} == {
            here.id: (here.version, len(here.entries), here.title) for here in mine
        }
        everybodys = self.stage.run(store.list(scope.tenant, limit=1000)).items
        assert [(here.scope, here.id) for here in everybodys] == [
            (here.scope, here.id) for here in sorted(self.model, key=lambda here: here.updated_at, reverse=True)
        ]
        users = sorted({here.scope.user for here in self.model})
        assert self.stage.run(store.operations.users(scope.tenant)) == tuple(users)
        expected = Statistics(
            conversations=len(mine),
            entries=sum(len(here.entries) for here in mine),
            bytes=sum(here.size() for here in mine),
        )
        assert self.stage.run(store.operations.statistics(scope.tenant, user=scope.user)) == expected
