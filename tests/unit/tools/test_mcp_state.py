"""Waiting longer and longer, and not for ever."""

from threadkeep.tools.mcp_state import Backoff


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(first=1, longest=5)
    waits = [backoff.after(0, None)]
    for _ in range(4):
        waits.append(backoff.after(0.1, waits[-1]))
    assert waits == [1, 2, 4, 5, 5]


def test_a_connection_that_held_for_long_begins_anew() -> None:
    assert Backoff(first=1, longest=5).after(5.1, 5) == 1
