"""The audit log: acts in a chain for each tenant, what is in force folded from them, pruned without breaking it."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from threadkeep.conversation.api_key import ApiKey, Login, digest_of
from threadkeep.conversation.caller import CALLER, Caller
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.state import State
from threadkeep.errors import AlreadyExists, ConversationNotFound, InvalidId, InvalidParent, KeyNotFound, StaleVersion
from threadkeep.store.audit import PRUNED, START, Act, AuditRow, Head, Recorded, Wanted, act_now
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Import
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, key, new
from threadkeep.testing.stores import OpenAnother

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)


def _act(action: str = "key.created", what: str = "key:one", day: int = 0, **fields: Any) -> Act:
    return Act(**{"at": NOW + timedelta(days=day), "action": action, "object": what, **fields})


async def _actions(store: Store, tenant: str = "acme", **wanted: Any) -> list[str]:
    return [record.act.action for record in await store.audit.read(tenant, Wanted(**wanted))]


@pytest.mark.asyncio
class TestAudit:
    async def test_an_act_is_read_as_it_was_recorded(self, store: Store, open_another: OpenAnother) -> None:
        said = {"count": 3, "reason": "a \u0000 “letter”", "ids": ["a", "b"]}
        act = _act(actor="operator", details=said, address="192.0.2.7", request="r-1")
        await store.audit.append("acme", act)
        other = await open_another()
        try:
            (record,) = await other.audit.read("acme")
            assert (record.seq, record.act) == (1, act)
            assert await store.audit.head("acme") == Head(seq=1, hash=record.hash)
        finally:
            if other is not store:
                await other.close()

    async def test_a_person_is_named_by_a_pseudonym_of_the_tenant(self, store: Store) -> None:
        for tenant in ("acme", "other"):
            await store.audit.append(tenant, _act(actor="user:zoe", object="user:rob"))
        (here,), (there,) = await store.audit.read("acme"), await store.audit.read("other")
        names = {here.act.actor, here.act.object, there.act.actor, there.act.object}
        assert len(names) == 4
        assert not any("zoe" in name or "rob" in name for name in names)
        assert await store.audit.read("acme", Wanted(actor="user:zoe")) == (here,)
        assert await store.audit.read("acme", Wanted(actor="user:rob")) == ()
        assert await store.audit.read("acme", Wanted(object=here.act.object)) == (here,)

    async def test_a_tenant_reads_its_own_acts_alone(self, store: Store) -> None:
        await store.audit.append("acme", _act("key.created"))
        await store.audit.append("other", _act("key.revoked"))
        assert await _actions(store) == ["key.created"]
        assert await _actions(store, "other") == ["key.revoked"]
        assert await store.audit.read("nobody") == ()
        assert await store.audit.head("nobody") == START
        assert {"acme", "other"} <= set(await store.operations.tenants())
        with pytest.raises(InvalidId):
            await store.audit.append("../acme", _act())

    async def test_records_are_read_by_what_is_asked_and_in_pages(self, store: Store) -> None:
        for day, action in enumerate("abcde"):
            await store.audit.append("acme", _act(action, f"key:{day % 2}", day))
        assert await _actions(store, object="key:1") == ["b", "d"]
        assert await _actions(store, actions=("a", "e"), newest_first=True) == ["e", "a"]
        assert await _actions(store, since=NOW + timedelta(days=1), until=NOW + timedelta(days=3)) == ["b", "c"]
        first = await store.audit.read("acme", limit=2)
        assert [record.seq for record in first] == [1, 2]
        assert await _actions(store, after=2) == ["c", "d", "e"]
        assert await _actions(store, after=3, newest_first=True) == ["b", "a"]

    async def test_acts_of_many_at_once_are_one_chain(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        try:
            await asyncio.gather(*(each.audit.append("acme", _act()) for each in (store, other) * 20))
            looks = await asyncio.gather(store.audit.head("acme"), other.audit.head("acme"))
            assert [head.seq for head in looks] == [40, 40]
            verified = await store.audit.verify("acme")
            assert (verified.records, verified.breaks) == (40, ())
        finally:
            if other is not store:
                await other.close()

    async def test_what_is_in_force_is_a_fold_over_the_acts(self, store: Store) -> None:
        await store.audit.append("acme", _act("hold.added", "conversation:a", details={"reason": "court"}))
        await store.audit.append("acme", _act("hold.added", "user:ada"))
        await store.audit.append("acme", _act("key.created"))
        await store.audit.append("acme", _act("retention.set", "tenant:acme", details={"completed_days": 90}))
        await store.audit.append("acme", _act("retention.set", "tenant:acme", details={"completed_days": 30}))
        await store.audit.append("acme", _act("hold.removed", "conversation:a"))
        facts = await store.audit.facts("acme")
        ada = store.audit.alias("acme", "user:ada")
        assert set(facts) == {("hold", ada), ("retention", "tenant:acme")}
        assert facts["retention", "tenant:acme"].details == {"completed_days": 30}
        assert await store.audit.facts("other") == {}

    @pytest.mark.parametrize("moment", range(1, 5))
    async def test_what_comes_while_older_records_are_pruned_stays(
        self, store: Store, moment: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.audit.append("acme", _act("hold.added", "conversation:a", 1))
        read, reads = store.audit._rows, 0

        async def comes_meanwhile(tenant: str, wanted: Wanted, limit: int) -> list[AuditRow]:
            nonlocal reads
            rows, reads = await read(tenant, wanted, limit), reads + 1
            if reads == moment:
                await store.audit.append("acme", _act("key.created", "key:one", 9))
            return rows

        monkeypatch.setattr(store.audit, "_rows", comes_meanwhile)
        assert await store.audit.prune("acme", NOW + timedelta(days=3), NOW + timedelta(days=10)) == 1
        assert await _actions(store) == ["key.created", PRUNED]
        assert (await store.audit.verify("acme")).breaks == ()

    async def test_pruning_leaves_a_chain_and_what_is_in_force(self, store: Store) -> None:
        await store.audit.append("acme", _act("hold.added", "conversation:a", 1))
        await store.audit.append("acme", _act("hold.added", "conversation:b", 2))
        await store.audit.append("acme", _act("hold.removed", "conversation:b", 3))
        await store.audit.append("acme", _act("key.created", "key:one", 4))
        facts, kept = await store.audit.facts("acme"), await store.audit.head("acme")
        assert await store.audit.prune("acme", NOW + timedelta(days=1), NOW) == 0
        assert await store.audit.prune("acme", NOW + timedelta(days=3), NOW + timedelta(days=10)) == 2
        assert await _actions(store) == ["hold.removed", "key.created", PRUNED]
        assert await store.audit.facts("acme") == facts
        assert await store.audit.prune("acme", NOW + timedelta(days=9), NOW + timedelta(days=11)) == 2
        assert await _actions(store) == [PRUNED, PRUNED]
        assert await store.audit.facts("acme") == facts
        await store.audit.append("acme", _act("hold.removed", "conversation:a", 12))
        assert await store.audit.facts("acme") == {}
        assert (await store.audit.verify("acme", kept)).breaks == ()
        assert (await store.audit.head("acme")).seq == 7
        assert await store.audit.prune("acme", NOW + timedelta(days=20), NOW + timedelta(days=21)) == 3
        assert await _actions(store) == [PRUNED]
        assert (await store.audit.verify("acme")).breaks == ()
        assert (await store.audit.head("acme")).seq == 8

    async def test_a_log_that_was_cut_or_replaced_is_told_by_a_kept_head(self, store: Store) -> None:
        await store.audit.append("acme", _act())
        head = await store.audit.head("acme")
        assert (await store.audit.verify("acme", head)).breaks == ()
        for kept, place in ((Head(seq=2, hash="0" * 64), "record 2"), (Head(seq=1, hash="0" * 64), "record 1")):
            (said,) = (await store.audit.verify("acme", kept)).breaks
            assert said.startswith(place)


async def _recorded(store: Store) -> list[tuple[str, str, dict[str, Any]]]:
    return [(each.act.action, each.act.object, each.act.details) for each in await store.audit.read(ADA.tenant)]


@pytest.mark.asyncio
class TestRecordedKeys:
    """An act that comes with a change of a key or a login is on record if, and only if, that is done."""

    async def test_keys_and_logins(self, store: Store) -> None:
        def recorded(action: str) -> Recorded:
            return store.audit.recorded(ADA.tenant, _act(action))

        api_key = ApiKey(id="k", digest=digest_of("k"), hint="tk_", scope=ADA, created_at=NOW)
        times = {"created_at": NOW, "idle_until": NOW + timedelta(days=1), "ends_at": NOW + timedelta(days=1)}
        login = Login(id="l", digest=digest_of("l"), key=api_key, device="", **times)
        await store.keyring.add(api_key, recorded("key.created"))
        with pytest.raises(AlreadyExists):
            await store.keyring.add(api_key, recorded("no"))
        await store.keyring.add_login(login, recorded("login.began"))
        await store.keyring.end_login("l", recorded("login.ended"))
        with pytest.raises(KeyNotFound):
            await store.keyring.end_login("l", recorded("no"))
        assert (await store.keyring.revoke("k", NOW, recorded("key.revoked"))).revoked_at == NOW
        with pytest.raises(KeyNotFound):
            await store.keyring.revoke("other", NOW, recorded("no"))
        assert await _actions(store) == ["key.created", "login.began", "login.ended", "key.revoked"]
        assert (await store.audit.verify(ADA.tenant)).breaks == ()


@pytest.mark.asyncio
class TestRecordedActs:
    """What changes a conversation as a whole is on record when it is done, and not when it is refused."""

    async def test_deleting_and_restoring(self, store: Store) -> None:
        await new(store, ADA, "hello", name="c")
        before = CALLER.set(Caller("user:ada", "192.0.2.7", "r-1"))
        await store.delete(ADA, "c")
        await store.restore(ADA, "c")
        CALLER.reset(before)
        for verb in (store.delete(BOB, "c"), store.restore(ADA, "c"), store.restore(ADA, "d")):
            with pytest.raises(ConversationNotFound):
                await verb
        deleted, restored = await store.audit.read(ADA.tenant)
        assert (deleted.act.action, restored.act.action) == ("conversation.deleted", "conversation.restored")
        for record in (deleted, restored):
            assert record.act.object == "conversation:c"
            assert record.act.actor == store.audit.alias(ADA.tenant, "user:ada")
            assert (record.act.address, record.act.request) == ("192.0.2.7", "r-1")

    async def test_a_new_status_and_no_other_change(self, store: Store) -> None:
        await new(store, ADA, "hello", name="c")
        await store.update(ADA, "c", Update(title="secret plan", metadata={"word": "secret"}))
        await store.update(ADA, "c", Update(status=Status.COMPLETED))
        with pytest.raises(StaleVersion):
            await store.update(ADA, "c", Update(status=Status.ACTIVE), expected_version=1)
        assert await _recorded(store) == [("conversation.status", "conversation:c", {"status": "completed"})]

    async def test_an_act_that_comes_with_an_append_is_recorded_once(self, store: Store, clock: FakeClock) -> None:
        await new(store, ADA, "hello", name="c")
        act = act_now(clock, "state.changed", "conversation:c", before="a", after="b")
        append = Append(bodies=(State().change({"state": "b"}),), key=key("k"), act=act)
        for _ in range(2):
            await store.append(ADA, "c", append)
        with pytest.raises(InvalidParent):
            await store.append(ADA, "c", replace(append, key=None, parent=99))
        assert await _recorded(store) == [("state.changed", "conversation:c", {"before": "a", "after": "b"})]

    async def test_an_import_is_recorded_with_its_end(self, store: Store) -> None:
        await new(store, ADA, "hello", "there", name="c")
        whole = (await store.log(ADA, "c", Cursor())).entries
        begun = Import(new=NewConversation(id="d"), created_at=NOW)
        copied = [entry.model_copy(update={"conversation": "d"}) for entry in whole]
        await store.import_entries(ADA, replace(begun, entries=tuple(copied[:1])))
        assert await _recorded(store) == []
        for _ in range(2):
            await store.import_entries(ADA, replace(begun, entries=tuple(copied), version=1))
        assert await _recorded(store) == [("conversation.imported", "conversation:d", {"entries": len(copied)})]
