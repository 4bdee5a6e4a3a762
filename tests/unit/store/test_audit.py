"""The audit log: what is in force, what is wanted, how people are named, and that a chain shows every change."""

from datetime import UTC, datetime

import pytest

from threadkeep.errors import StoreCorrupt
from threadkeep.runtime import open_store
from threadkeep.store.audit import START, Act, AuditRow, Head, at_text, chained, fold

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROW = AuditRow(0, at_text(AT), "operator", "hold.added", "user:~1", '{"n":1}', "", "")


def act(action: str, concerned: str = "user:ada", **details: object) -> Act:
    return Act(at=AT, action=action, object=concerned, details=details)


def test_the_newest_act_of_a_topic_is_in_force_until_it_is_removed() -> None:
    acts = [act("hold.added", n=1), act("hold.added", "user:bob"), act("retention.set"), act("hold.added", n=2)]
    assert fold(acts)["hold", "user:ada"].details == {"n": 2}
    assert set(fold([*acts, act("hold.removed")])) == {("hold", "user:bob"), ("retention", "user:ada")}


def test_a_row_is_chained_to_all_before_it_and_to_its_tenant() -> None:
    first = chained("acme", START, ROW)
    second = chained("acme", Head(seq=first.seq, hash=first.hash), ROW)
    assert (first.seq, second.seq) == (1, 2)
    others = (
        chained("globex", START, ROW),
        chained("acme", START, ROW._replace(actor="system")),
        chained("acme", Head(seq=0, hash="another"), ROW),
    )
    assert len({row.hash for row in (first, second, *others)}) == 5


def test_a_row_gives_its_act_back_or_says_that_it_is_damaged() -> None:
    assert ROW.act == Act(at=AT, actor="operator", action="hold.added", object="user:~1", details={"n": 1})
    for damaged in (ROW._replace(details="{"), ROW._replace(at="then"), ROW._replace(action="\x00")):
        with pytest.raises(StoreCorrupt, match="Record 0 of the audit log is damaged"):
            damaged.act  # noqa: B018 - reading it is the test


async def test_a_person_has_one_pseudonym_in_a_tenant_and_another_elsewhere() -> None:
    log = (await open_store("memory:")).audit
    alias = log.alias("acme", "user:ada")
    assert alias == log.alias("acme", alias)
    assert len({alias, log.alias("acme", "user:bob"), log.alias("globex", "user:ada"), "user:ada"}) == 4
    assert log.alias("acme", "operator") == "operator"
    assert "user:ada" not in "".join(log.row("acme", act("key.made", user="user:ada")).columns)
