"""A turn that is too large by itself: what is shortened first, what goes, and that the question stays."""

from tests.unit.context.logs import assistant, entries, four_characters_each, tool, user
from threadkeep.context.base import Audience
from threadkeep.context.lines import Turn, lines_of
from threadkeep.context.pairing import size_of
from threadkeep.context.squeezing import squeeze
from threadkeep.conversation.message import Message

LIMIT = 100_000


def turn_of(*messages: Message) -> Turn:
    return lines_of(entries(*messages), Audience(count=four_characters_each))


def steps(count: int, length: int = 4000) -> Turn:
    """Return a question and so many calls, each with a long result."""
    names = [str(number) for number in range(count)]
    results = (message for name in names for message in (assistant("", name), tool(name, name * length)))
    return turn_of(user("Which one?"), *results)


def test_a_turn_that_fits_stays_as_it_is() -> None:
    turn = steps(2)
    assert squeeze(turn, size_of(turn), LIMIT) == (turn, 0)


def test_older_steps_are_shortened_before_the_newest() -> None:
    turn = steps(4)
    squeezed, boundary = squeeze(turn, size_of(turn) - 100, LIMIT)
    assert size_of(squeezed) <= size_of(turn) - 100
    assert boundary > 1
    assert squeezed[-1].message == turn[-1].message
    assert len(squeezed[2].message.content) < len(turn[2].message.content)


def test_results_of_the_newest_step_share_the_room() -> None:
    calls = turn_of(user("Which?"), assistant("", "a", "b"), tool("a", "A" * 9000), tool("b", "B" * 9000))
    squeezed, _ = squeeze(calls, 2000, LIMIT)
    one, other = (len(line.message.content) for line in squeezed[-2:])
    assert size_of(squeezed) <= 2000
    assert abs(one - other) < 100
    assert one > 2000


def test_at_last_the_oldest_steps_go_each_with_its_result() -> None:
    squeezed, _ = squeeze(steps(40), 300, LIMIT)
    assert squeezed[0].message.content == "Which one?"
    assert squeezed[1].message.tool_calls[0].id == squeezed[2].message.tool_result.tool_call_id  # type: ignore[union-attr]
    assert squeezed[-2].message.tool_calls[0].id == "39"
    assert len(squeezed) < 81


def test_a_question_is_shortened_only_where_it_is_over_the_limit_alone() -> None:
    turn = turn_of(user("Why? " * 2000))
    kept, _ = squeeze(turn, 100, LIMIT)
    cut, _ = squeeze(turn, 100, 500)
    assert kept[0].message == turn[0].message
    assert size_of(cut) <= 500
