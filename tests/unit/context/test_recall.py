"""What is recalled: what is clearly asked for and not in view, and files around the words of the question."""

import pytest

from tests.unit.context.logs import built, entries, material, user
from threadkeep.context.base import Cut
from threadkeep.context.recall import MOST_UNCLEAR, worth_adding
from threadkeep.conversation.parts import Attachment

LOG = entries(*(user(text) for text in ("Ada: a boat", *["so"] * 9, "Bob: a boat", *["so"] * 9, "a boat")))
BOATS = LOG[0], LOG[10], LOG[20]
END = len(LOG) + 1


@pytest.mark.parametrize(
    ("scores", "room", "added"),
    [
        ((1.4, 0.9, 0.8), 1_000, [1, 11]),
        ((0.5, 0.4, 0.3), 1_000, [1, 11]),
        ((0.5, 0.4, 0.3), 2_300, [1, 11, 21]),
        ((1.4, 0.2, 0.1), 1_800, [1, 11]),
        ((0.3, 0.2, 0.1), 100_000, [1, 11, 21]),
    ],
)
def test_where_the_last_request_goes_on_what_is_clearly_asked_for_is_added_and_little_else(
    scores: tuple[float, ...], room: int, added: list[int]
) -> None:
    best = list(zip(BOATS, scores, strict=True))
    assert [entry.seq for entry in worth_adding(best, END, room, lambda message: 30)] == added


def test_what_stands_beside_the_best_is_added_with_it() -> None:
    best = [(LOG[10], 1.2), (LOG[0], 0.3), (LOG[11], 0.2), (LOG[13], 0.2)]
    assert [entry.seq for entry in worth_adding(best, END, 1_000, lambda message: 70)] == [11, 12]
    assert worth_adding(best[1:], END, 1_000, lambda message: 70) == ()
    assert worth_adding([], END, 1_000, lambda message: 7) == ()


def test_least_is_added_where_the_best_is_in_view_and_nothing_that_is() -> None:
    best = [(LOG[20], 0.5), (LOG[0], 0.4), (LOG[10], 0.3), (LOG[5], 0.2)]
    assert [entry.seq for entry in worth_adding(best, END, 10_000, lambda message: 30)] == [21, 1, 11, 6]
    assert [entry.seq for entry in worth_adding(best, 21, 10_000, lambda message: 30)] == [1, 11]
    assert worth_adding(best, 1, 10_000, lambda message: 30) == ()


def test_what_is_not_clearly_asked_for_never_costs_much() -> None:
    best = [(entry, 0.5) for entry in LOG]
    assert len(worth_adding(best, END, 1_000_000, lambda message: 100)) == MOST_UNCLEAR // 100


def test_what_is_written_in_a_file_is_recalled_around_the_words_of_the_question() -> None:
    extract = "So it begins. " * 200 + "The zephyr constant is 42. " + "So it ends. " * 200
    file = Attachment(type="file", file="f", name="paper.md", media_type="text/markdown", size=9, extract=extract)
    log = entries(user("Read this.", parts=(file,)), *[user("so")] * 20, user("What is the zephyr constant?"))
    given = material(entries=log[-1:], turn=22, recalled=log[:1], cut=Cut(first=22, masked=22), budget=4000)
    (*_, question) = built(given).messages
    assert "The zephyr constant is 42." in question.content
    assert len(question.content) < 2000
