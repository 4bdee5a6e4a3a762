"""Legal holds: what is held is deleted by nobody; a hold on nobody is refused; holds outlive the process."""

import pytest
import pytest_asyncio

from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound, HoldNotFound, HoldOnNobody, InvalidId, InvalidValue, LegalHold
from threadkeep.retention.holds import Holds, check_not_held, delete_unless_held
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, new, say
from threadkeep.testing.stores import OpenAnother


@pytest.fixture
def holds(store: Store, clock: FakeClock) -> Holds:
    return Holds(store, clock, new_id)


@pytest_asyncio.fixture(autouse=True)
async def conversations(store: Store) -> None:
    """Two of Ada's, one of Bob's, and one of Eve's with the same id."""
    for scope, name in ((ADA, "c1"), (ADA, "c2"), (BOB, "bobs"), (EVE, "c1")):
        await new(store, scope, "hello", name=name)


async def test_a_held_conversation_cannot_be_deleted_and_the_others_can(store: Store, holds: Holds) -> None:
    hold = await holds.add("acme", conversation="c1", reason="case 7")
    with pytest.raises(LegalHold):
        await delete_unless_held(store, ADA, "c1")
    await delete_unless_held(store, ADA, "c2")
    await delete_unless_held(store, EVE, "c1")
    await say(store, "c1", "it can still be written to")
    await holds.remove("acme", hold.id)
    await delete_unless_held(store, ADA, "c1")


async def test_a_hold_on_a_user_or_a_tenant_holds_everything_there(store: Store, holds: Holds) -> None:
    hold = await holds.add("acme", user="ada", reason="case 7")
    for name in ("c1", "c2"):
        with pytest.raises(LegalHold):
            await delete_unless_held(store, ADA, name)
    await delete_unless_held(store, BOB, "bobs")
    await holds.remove("acme", hold.id)
    await holds.add("umbrella", reason="all of it")
    with pytest.raises(LegalHold):
        await delete_unless_held(store, EVE, "c1")
    await delete_unless_held(store, ADA, "c1")


async def test_what_two_hold_is_held_until_both_let_go(store: Store, holds: Holds) -> None:
    first = await holds.add("acme", conversation="c1", reason="case 7")
    second = await holds.add("acme", conversation="c1", reason="case 8")
    await holds.remove("acme", first.id)
    with pytest.raises(LegalHold):
        await delete_unless_held(store, ADA, "c1")
    await holds.remove("acme", second.id)
    await delete_unless_held(store, ADA, "c1")


async def test_a_person_of_whom_something_is_held_cannot_be_erased(store: Store, holds: Holds) -> None:
    await check_not_held(store, ADA)
    hold = await holds.add("acme", conversation="c2", reason="case 7")
    with pytest.raises(LegalHold):
        await check_not_held(store, ADA)
    await check_not_held(store, BOB)
    await check_not_held(store, EVE)
    await holds.remove("acme", hold.id)
    await holds.add("acme", user="ada", reason="case 7")
    with pytest.raises(LegalHold):
        await check_not_held(store, ADA)


async def test_holds_are_listed_with_names_and_outlive_the_handle(
    store: Store, holds: Holds, clock: FakeClock, open_another: OpenAnother
) -> None:
    made = [
        await holds.add("acme", conversation="c1", reason="case 7"),
        await holds.add("acme", user="ada", reason="case 8"),
        await holds.add("acme", reason="case 9"),
    ]
    other = await open_another()
    assert list(await Holds(other, clock, new_id).list("acme")) == made
    assert [(hold.conversation, hold.user, hold.by) for hold in made] == [
        ("c1", None, "system"),
        (None, "ada", "system"),
        (None, None, "system"),
    ]
    assert await holds.list("umbrella") == ()
    await other.close()


async def test_a_hold_on_nobody_is_refused_and_nothing_is_held(store: Store, holds: Holds) -> None:
    with pytest.raises(HoldOnNobody):
        await holds.add("acme", conversation="missing", reason="case 7")
    with pytest.raises(HoldOnNobody):
        await holds.add("umbrella", conversation="c2", reason="case 7")
    with pytest.raises(HoldOnNobody):
        await holds.add("acme", user="nobody", reason="case 7")
    with pytest.raises(HoldOnNobody):
        await holds.add("nobody", reason="case 7")
    with pytest.raises(InvalidId):
        await holds.add("acme", user="../etc", reason="case 7")
    for reason in ("", "x" * 501):
        with pytest.raises(InvalidValue):
            await holds.add("acme", user="ada", reason=reason)
    assert await holds.list("acme") == ()
    with pytest.raises(HoldNotFound):
        await holds.remove("acme", "missing")


async def test_a_hold_tells_nobody_what_others_have(store: Store, holds: Holds) -> None:
    await holds.add("acme", reason="all of it")
    for missing in ("nothing", "bobs"):
        with pytest.raises(ConversationNotFound):
            await delete_unless_held(store, ADA, missing)


async def test_a_hold_that_comes_while_a_conversation_is_deleted_brings_it_back(
    store: Store, holds: Holds, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete = store.delete

    async def held_meanwhile(*args: object, **kwargs: object) -> None:
        await holds.add("acme", conversation="c1", reason="just in time")
        await delete(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "delete", held_meanwhile)
    with pytest.raises(LegalHold):
        await delete_unless_held(store, ADA, "c1")
    assert (await store.get(ADA, "c1")).entries == 1
