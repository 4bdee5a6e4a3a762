"""Turns: which states are final, and how a failure is kept."""

from threadkeep.conversation.turn import Failure, TurnState
from threadkeep.errors import ModelUnavailable


def test_a_turn_can_change_until_it_has_ended() -> None:
    assert {state.value for state in TurnState if state.is_open} == {"queued", "running", "waiting"}


def test_a_failure_keeps_the_code_and_the_sentence_of_its_error() -> None:
    failure = Failure.of(ModelUnavailable("The model is down."))
    assert (failure.code, failure.detail) == ("model_unavailable", "The model is down.")
    assert str(failure) == "model_unavailable: The model is down."


def test_what_no_store_keeps_is_escaped_in_a_failure() -> None:
    assert Failure.of(ModelUnavailable("half a sign: \ud83d")).detail == "half a sign: \\ud83d"
