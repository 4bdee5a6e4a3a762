"""What a context is built from: how much a policy shows, and where the last cut was made."""

import pytest

from tests.unit.context.logs import assistant, entries, user
from threadkeep.context.base import DEFAULT_TOKENS, Cut, Policy, Window, cut_in, newest_cut

TOLD = {"kind": "context", "first": 3, "masked": 5}


@pytest.mark.parametrize(
    ("policy", "tokens"),
    [
        (Policy(), 9000),
        (Policy(window=Window.NEWEST, size=4), 9000),
        (Policy(window=Window.BUDGET), DEFAULT_TOKENS),
        (Policy(window=Window.BUDGET, size=500), 500),
        (Policy(window=Window.BUDGET, size=50_000), 9000),
    ],
)
def test_only_a_budget_leaves_room_of_the_model_unused(policy: Policy, tokens: int) -> None:
    assert policy.tokens(9000) == tokens


def test_everything_is_in_full_view_behind_both_ends_of_a_cut() -> None:
    assert (Cut(first=3, masked=5).seen_from, Cut(first=7, masked=5).seen_from, Cut().seen_from) == (5, 7, 0)


@pytest.mark.parametrize("trace", [[], [{"kind": "recall"}], [{"kind": "context"}], [{**TOLD, "first": "3"}]])
def test_a_trace_that_tells_no_whole_cut_has_none(trace: list[dict[str, object]]) -> None:
    assert cut_in(trace) is None
    assert cut_in([*trace, TOLD]) == Cut(first=3, masked=5)


def test_the_cut_of_the_newest_answer_counts() -> None:
    older = assistant("old", tool_trace=({**TOLD, "first": 1},))
    log = entries(user(), older, user(), assistant("new", tool_trace=(TOLD,)), user(), assistant("without"))
    assert newest_cut(log) == Cut(first=3, masked=5)
    assert newest_cut(log[:2]) == Cut(first=1, masked=5)
    assert newest_cut(log[:1]) is None
