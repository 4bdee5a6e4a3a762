"""What is selected for an export, and in which order it comes."""

from threadkeep.runtime import open_store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, new, say, texts_of
from threadkeep.transfer.exporter import Selection, log_of, select

CHOICES = {
    Selection(): ["c", "a", "b", "d"],
    Selection(tenant="acme"): ["c", "a", "b"],
    Selection(tenant="acme", user="ada"): ["c", "a"],
    Selection(tenant="acme", user="ada", conversation="a"): ["a"],
    Selection(tenant="nobody"): [],
}


async def test_a_selection_is_one_conversation_one_user_one_tenant_or_everything(clock: FakeClock) -> None:
    store = await open_store("memory:", clock=clock)
    for scope, name in ((ADA, "a"), (BOB, "b"), (EVE, "d")):
        await new(store, scope, "hello", name=name)
    clock.advance(1)
    await new(store, ADA, "hello", name="c")
    for selection, names in CHOICES.items():
        assert [found.id async for found in select(store, selection)] == names, selection
    await store.close()


async def test_a_log_is_exported_as_it_was_when_the_conversation_was_read() -> None:
    store = await open_store("memory:")
    name = await new(store, ADA, "one", "two")
    read = await store.get(ADA, name)
    await say(store, name, "three")
    assert texts_of(tuple([entry async for entry in log_of(store, read)])) == ["one", "two"]
    await store.close()


async def test_a_header_says_whose_it_is_only_where_that_is_not_clear() -> None:
    store = await open_store("memory:")
    found = await store.get(ADA, await new(store))
    for selection, whose in (
        (Selection(), ("acme", "ada")),
        (Selection(tenant="acme"), (None, "ada")),
        (Selection(tenant="acme", user="ada"), (None, None)),
    ):
        header = selection.header(found)
        assert (header.tenant, header.user) == whose
    await store.close()


def test_the_audit_log_is_told_what_was_exported() -> None:
    selections = list(CHOICES)[1:4]
    assert [each.concerned for each in selections] == ["tenant:acme", "user:ada", "conversation:a"]
