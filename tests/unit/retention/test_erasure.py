"""Erasing a person: everything of it goes, nothing of others does, wherever it is cut off."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.backends import BACKENDS, opener
from threadkeep.conversation.api_key import ApiKey, digest_of
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound, LegalHold, StoreUnavailable
from threadkeep.retention.erasure import BEGUN, COMPLETED, Erasure
from threadkeep.retention.holds import Holds
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import Wanted, signature
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, asked, new, running
from threadkeep.testing.stores import everything

KEPT = timedelta(seconds=30)


@pytest_asyncio.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    opened = await opener(request.param, tmp_path, request)(clock)
    for scope in (ADA, BOB, EVE):
        prefix = f"{scope.tenant}-{scope.user}"
        key = ApiKey(id=prefix, digest=digest_of(prefix), hint="tk_", scope=scope, created_at=clock.now)
        await opened.keyring.add(key)
        for name in ("one", "two", "aside"):
            await new(opened, scope, "some words", "an answer", name=f"{prefix}-{name}")
        await opened.delete(scope, f"{prefix}-aside")
        file = await _files(opened, clock).save(scope, "a.txt", "", b"the same words of all")
        message = asked("Look.").model_copy(update={"parts": (file,)})
        await opened.append(scope, f"{prefix}-one", Append(bodies=(message,)))
        await _files(opened, clock).save(scope, "b.txt", "", prefix.encode())
    yield opened
    await opened.close()


async def _stop(scope: Scope, conversation: str) -> None:
    """Nothing runs."""


def _files(store: Store, clock: FakeClock) -> Attachments:
    assert store.files is not None
    return Attachments(store.files, clock)


def _erasure(store: Store, clock: FakeClock, saved: dict[Scope, int] | None = None) -> Erasure:
    """Return an erasure, also of so many things that an assistant saved for people."""
    skills = {} if saved is None else saved
    return Erasure(store, _files(store, clock), clock, _stop, [lambda scope: skills.pop(scope, 0)])


async def _acts(store: Store) -> list[str]:
    wanted = Wanted(object="user:ada", actions=(BEGUN, COMPLETED))
    return [record.act.action for record in await store.audit.read("acme", wanted)]


async def _is_erased(store: Store) -> None:
    """Check that nothing is left of Ada, and all of her neighbours."""
    assert (await store.list(ADA)).items == ()
    assert (await store.search(ADA, "words")).items == ()
    assert {key.scope for key in await store.keyring.all()} == {BOB, EVE}
    with pytest.raises(ConversationNotFound):
        await store.restore(ADA, "acme-ada-aside")
    assert store.files is not None
    assert await store.files.usage("acme", "ada") == (0, 0)
    for scope in (BOB, EVE):
        assert (await store.files.usage(scope.tenant, scope.user)).files == 2
        await store.restore(scope, f"{scope.tenant}-{scope.user}-aside")
        assert len((await store.search(scope, "words")).items) == 3


async def test_an_erased_person_is_gone_and_the_neighbours_are_not(store: Store, clock: FakeClock) -> None:
    await store.write(await running(store, "acme-ada-one"), "m1", 0, "half an ans")
    erasure = _erasure(store, clock)
    stored, files, keys = await erasure.preview(ADA)
    assert (stored.conversations, files, keys) == (2, 2, 1)
    receipt = await erasure.erase(ADA)
    assert (receipt.conversations, receipt.files, receipt.keys) == (3, 2, 1)
    assert receipt.person.startswith("user:~")
    said = receipt.model_dump(mode="json", exclude={"signature"})
    assert receipt.signature == signature(await store.keyring.secret(), said)
    await _is_erased(store)
    assert await _acts(store) == [BEGUN, COMPLETED]


async def test_erasing_twice_and_two_at_once_does_no_harm(store: Store, clock: FakeClock) -> None:
    erasure = _erasure(store, clock)
    receipts = await asyncio.gather(erasure.erase(ADA), erasure.erase(ADA))
    assert sum(receipt.keys for receipt in receipts) == 1
    again = await erasure.erase(ADA)
    assert (again.conversations, again.keys) == (0, 0)
    await _is_erased(store)


async def test_what_assistants_saved_elsewhere_goes_too_and_is_counted(store: Store, clock: FakeClock) -> None:
    saved = {ADA: 3, BOB: 1}
    receipt = await _erasure(store, clock, saved).erase(ADA)
    assert (receipt.saved, saved) == (3, {BOB: 1})


async def test_what_was_saved_goes_though_the_process_dies_when_no_conversation_tells_whose_it_was(
    store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = {ADA: 3, BOB: 1}
    await _files(store, clock).erase(ADA)

    async def cut_off(*args: Any) -> Any:
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(Attachments, "erase", cut_off)
        with pytest.raises(StoreUnavailable):
            await _erasure(store, clock, saved).erase(ADA)
    clock.advance(KEPT.total_seconds())
    assert await _erasure(store, clock, saved).resume()
    assert (await _acts(store))[-1] == COMPLETED
    assert saved == {BOB: 1}


async def test_nothing_of_a_person_goes_while_something_of_it_is_held(store: Store, clock: FakeClock) -> None:
    holds = Holds(store, clock, lambda: "h1")
    before = await everything(store, ADA)
    for held in ({"user": "ada"}, {"conversation": "acme-ada-two"}, {}):
        hold = await holds.add("acme", reason="case 1", **held)
        with pytest.raises(LegalHold):
            await _erasure(store, clock).erase(ADA)
        await holds.remove("acme", hold.id)
    assert await everything(store, ADA) == before
    assert await _acts(store) == []


async def test_an_erasure_that_runs_is_not_taken_for_one_that_was_cut_off(store: Store, clock: FakeClock) -> None:
    found, erasure = asyncio.Event(), _erasure(store, clock)
    clock.advance(1)

    async def stop(scope: Scope, conversation: str) -> None:
        found.set()
        await asyncio.sleep(0)
        assert await erasure.resume(KEPT)

    erasure._stop = stop
    await erasure.erase(ADA)
    assert found.is_set()
    assert await _acts(store) == [BEGUN, COMPLETED]


@pytest.mark.parametrize("step", ["forget", "list", "delete", "delete twice", "drop", "purge", "record"])
async def test_an_erasure_that_was_cut_off_is_finished_by_the_next_process(
    store: Store, clock: FakeClock, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb, _, twice = step.partition(" ")
    left = 1 if twice else 0
    saved = {ADA: 3, BOB: 1}
    where = {"forget": store.keyring, "record": store.audit, "drop": store.files}.get(verb, store)
    name = "append" if verb == "record" else verb
    real = getattr(where, name)

    async def cut_off(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        if left or (verb == "record" and args[1].action == BEGUN):
            left = 0
            return await real(*args, **kwargs)
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(where, name, cut_off)
        with pytest.raises(StoreUnavailable):
            await _erasure(store, clock, saved).erase(ADA)
    erasure = _erasure(store, clock, saved)
    if not await erasure.resume(KEPT):
        # Nobody is left whose pseudonym could be recognised: it ends when all that was deleted before is purged.
        assert await _acts(store) == [BEGUN]
        clock.advance(KEPT.total_seconds())
        for scope in (BOB, EVE):
            await store.restore(scope, f"{scope.tenant}-{scope.user}-aside")
            await store.delete(scope, f"{scope.tenant}-{scope.user}-aside")
        assert await erasure.resume(KEPT)
    assert (await _acts(store))[-1] == COMPLETED
    (*_, told) = await store.audit.read("acme", Wanted(object="user:ada", actions=(COMPLETED,)))
    assert (told.act.details["conversations"], told.act.details["files"]) in ((2, 2), (3, 2))
    assert (await store.operations.purge(timedelta(0), owner=ADA)) == 0
    await _is_erased(store)
    assert saved == {BOB: 1}
    await new(store, ADA, "I am back", name="back")
    await _erasure(store, clock).resume()
    assert (await store.get(ADA, "back")).entries == 1
