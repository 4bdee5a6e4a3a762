"""Scopes: what belongs to another tenant or another user answers exactly like what is missing."""

from collections.abc import Awaitable, Callable

import pytest

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import ConversationNotFound
from threadkeep.store.base import Store
from threadkeep.store.paging import walk
from threadkeep.store.values import Append, Begin
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, BOB, EVE, MINUTE, asked, key, new, run, say

VERBS: tuple[Callable[[Store, Scope, str], Awaitable[object]], ...] = (
    lambda store, scope, name: store.get(scope, name),
    lambda store, scope, name: store.update(scope, name, Update(title="mine")),
    lambda store, scope, name: store.delete(scope, name),
    lambda store, scope, name: store.append(scope, name, Append(bodies=(asked("hi"),))),
    lambda store, scope, name: store.append(scope, name, Append(bodies=(asked("hi"),), key=key("a key"))),
    lambda store, scope, name: store.choose_head(scope, name, 1),
    lambda store, scope, name: store.snapshot(scope, name),
    lambda store, scope, name: store.entry(scope, name, 1),
    lambda store, scope, name: store.newest(scope, name),
    lambda store, scope, name: store.newest(scope, name, head=1),
    lambda store, scope, name: store.newest(scope, name, before=2),
    lambda store, scope, name: store.after(scope, name, 1),
    lambda store, scope, name: store.count(scope, name),
    lambda store, scope, name: anext(aiter(walk(store, scope, name))),
    lambda store, scope, name: store.log(scope, name, Cursor()),
    lambda store, scope, name: store.state(scope, name),
    lambda store, scope, name: store.summary(scope, name),
    lambda store, scope, name: store.begin(scope, name, Begin(message=asked("hi"), owner="one", lease_for=MINUTE)),
    lambda store, scope, name: store.start(scope, name, "one", MINUTE),
    lambda store, scope, name: store.turns(scope, name),
    lambda store, scope, name: store.search(scope, "secret", conversation=name),
)


@pytest.mark.asyncio
class TestScopes:
    async def test_a_conversation_of_somebody_else_is_as_missing_as_one_that_never_was(self, store: Store) -> None:
        for scope in (BOB, EVE):
            await new(store, scope, "something of their own")
        name = await new(store, ADA, "secret question", "secret answer")
        for call in VERBS:
            for scope, asked_for in ((BOB, name), (EVE, name), (ADA, "never-was"), (BOB, "never-was")):
                async with refused(store, ConversationNotFound) as caught:
                    await call(store, scope, asked_for)
                assert asked_for not in str(caught.value)

    async def test_the_same_verb_works_for_its_owner(self, store: Store) -> None:
        for call in VERBS:
            await call(store, ADA, await new(store, ADA, "secret question", "secret answer"))

    async def test_two_tenants_have_the_same_ids_side_by_side(self, store: Store) -> None:
        for scope in (ADA, EVE):
            await new(store, scope, f"of {scope.tenant}", name="same")
        await say(store, "same", "more", scope=EVE)
        assert [entry.seq for entry in await store.newest(ADA, "same")] == [1]
        assert [entry.seq for entry in await store.newest(EVE, "same")] == [1, 2]
        await store.delete(EVE, "same")
        assert (await store.get(ADA, "same")).entries == 1

    async def test_lists_are_of_one_user(self, store: Store) -> None:
        ids = {scope: await new(store, scope) for scope in (ADA, BOB, EVE, LOCAL)}
        for scope, name in ids.items():
            assert [conversation.id for conversation in (await store.list(scope)).items] == [name]

    async def test_a_search_finds_only_what_is_the_users_own(self, store: Store) -> None:
        ids = {scope: await new(store, scope, "the same secret") for scope in (ADA, BOB, EVE, LOCAL)}
        for scope, name in ids.items():
            assert [hit.conversation for hit in (await store.search(scope, "secret")).items] == [name]

    async def test_the_local_user_is_a_user_like_any_other(self, store: Store) -> None:
        name = await new(store, LOCAL, "question", "answer", name="mine")
        await run(store, name, scope=LOCAL)
        assert (await store.get(LOCAL, name)).entries == 4
        for scope in (ADA, Scope(tenant="local", user="ada"), Scope(tenant="acme", user="local")):
            with pytest.raises(ConversationNotFound):
                await store.get(scope, name)
