"""The contract of turns of loops of one's own: what its errors tell."""

from threadkeep.conversation.turn import TurnState
from threadkeep.errors import DraftMismatch, LeaseLost
from threadkeep.loop_turn import TurnOver
from threadkeep.server.problems import problem_of
from threadkeep_loops.turn import DraftBehind


def test_what_is_over_says_how() -> None:
    over = TurnOver(TurnState.CANCELLED)
    assert isinstance(over, LeaseLost)
    assert (over.state, over.code, str(over)) == (
        "cancelled",
        "turn_over",
        "This turn is no longer yours: it is cancelled.",
    )
    assert str(TurnOver(None)).endswith("gone.")


def test_text_at_another_place_is_told_where_to_go_on() -> None:
    behind = DraftBehind(7)
    assert isinstance(behind, DraftMismatch)
    assert behind.code == "draft_mismatch"
    answer = problem_of(behind)
    assert (answer.status_code, b'"offset":7' in answer.body) == (409, True)
