"""A loop of one's own is killed at moments of its turn: nothing that was shown is lost, and nothing is made up."""

from tests.acceptance.torture_loops import main


def test_a_loop_that_is_killed_loses_nothing_and_is_never_answered_for() -> None:
    assert main(step=4) > 10
