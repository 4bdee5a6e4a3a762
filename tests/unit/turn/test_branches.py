"""What is kept of branches from one turn to the next: within bounds, and only where the log is still the same."""

import pytest

from tests.unit.context.logs import assistant, entries, entry, user
from threadkeep.context.base import Audience
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.state import StateChange
from threadkeep.turn import branches as limits
from threadkeep.turn.branches import Branches, KeptBranch

AUDIENCE = Audience(count=count_tokens)
LOG = entries(user("1"), assistant("a"), StateChange(), user("2"), assistant("b"))
KEY = ("t", "c", AUDIENCE)


def branch(count: int = 5) -> KeptBranch:
    return KeptBranch(AUDIENCE).followed_by(LOG[:count])


def test_a_longer_branch_keeps_the_lines_that_it_had() -> None:
    before = branch(2)
    after = before.followed_by(LOG[2:])
    assert [line.seq for line in after.lines] == [1, 2, 4, 5]
    assert after.lines[:2] == before.lines
    assert after.followed_by([]) is after


def test_a_part_of_a_branch_has_the_entries_and_lines_between_two() -> None:
    part = branch().part(2, 4)
    assert ([entry.seq for entry in part.entries], [line.seq for line in part.lines]) == ([2, 3, 4], [2, 4])


def test_the_newest_that_a_page_shares_is_where_the_branches_part() -> None:
    edited = entry(user("other"), 6).model_copy(update={"parent": 3})
    assert branch().newest_shared((*LOG[1:3], edited)) == 3
    assert branch().newest_shared((edited,)) == 0


def test_nothing_is_shared_with_a_conversation_that_was_made_anew_under_the_same_id() -> None:
    anew = entries(user("1"), assistant("another answer"))
    assert branch().newest_shared(anew) == 0


def test_what_is_kept_is_found_by_the_same_audience_only_until_it_is_forgotten() -> None:
    kept = Branches()
    kept.keep(KEY, branch())
    assert kept.get(KEY).entries == LOG
    assert kept.get(("t", "c", Audience(model="other", count=count_tokens))).entries == ()
    assert kept.get(("other", "c", AUDIENCE)).entries == ()
    kept.forget("t", "c")
    assert kept.get(KEY).entries == ()


@pytest.mark.parametrize(("limit", "value"), [("MOST_ENTRIES", 12), ("MOST_TOKENS", 50)])
def test_the_branch_that_was_not_used_for_longest_goes_first(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(limits, limit, value)
    kept = Branches()
    for name in "abac":
        kept.keep(("t", name, AUDIENCE), branch())
    assert [bool(kept.get(("t", name, AUDIENCE)).entries) for name in "abc"] == [True, False, True]


def test_a_branch_that_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_ENTRIES", 4)
    kept = Branches()
    kept.keep(KEY, branch())
    assert kept.get(KEY).entries == ()
