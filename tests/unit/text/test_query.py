"""Searches as people write them: words, phrases, exclusions, filters, and what is wrong with some."""

from datetime import UTC, datetime

import pytest

from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Role
from threadkeep.errors import InvalidSearch, InvalidText
from threadkeep.text.query import Query, Subject
from threadkeep.text.words import MAX_QUERY_WORDS

JUNE = datetime(2026, 6, 1, tzinfo=UTC)
TRIP = Subject("c1", "A trip to the sea", "chat", Status.ACTIVE, JUNE)


@pytest.mark.parametrize("text", ["", " ", '"', '""', '" "', "*", "-", "()", "&|!", "\x00", "🙂", "_"])
def test_a_search_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(InvalidSearch):
        Query(text)


def test_a_search_with_too_many_words_is_refused() -> None:
    most = " ".join(f"w{number}" for number in range(MAX_QUERY_WORDS)) + " "
    assert len(Query(most).required) == MAX_QUERY_WORDS
    with pytest.raises(InvalidSearch):
        Query(most + "more ")


def test_a_search_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidText):
        Query("\ud800")


def test_the_last_word_is_a_beginning_while_it_may_still_be_typed() -> None:
    assert (Query("red app").required, Query("red app").prefix) == (["red"], "app")
    assert (Query("red app ").required, Query("red app ").prefix) == (["app", "red"], None)
    assert (Query('"red app"').required, Query('"red app"').prefix) == (["app", "red"], None)


def test_operators_of_databases_are_words_or_nothing() -> None:
    assert Query("a AND b* {c}:d e <-> f ").required == ["a", "and", "b", "c", "d", "e", "f"]


def test_words_with_a_minus_are_excluded_singly_or_together() -> None:
    query = Query('otter -zoo -"sea shore" -don\'t e-mail - 5-3 ')
    assert query.required == ["3", "5", "e", "mail", "otter"]
    assert query.excluded == {"zoo"}
    assert query.unwanted == [["sea", "shore"], ["don", "t"]]
    assert not query.fits({"otter", "e", "mail", "5", "3", "zoo"})
    assert query.stands_in("otter at the shore of the sea")
    assert not query.stands_in("otter at the sea shore")


def test_a_filter_has_a_name_and_a_value_in_any_case_and_order() -> None:
    query = Query(
        'Role:USER otter status:completed assistant:chat title:"the sea" title:trip after:2026 before:2026-07'
    )
    assert (query.required, query.prefix) == (["otter"], None)
    assert (query.role, query.status, query.assistant) == (Role.USER, Status.COMPLETED, "chat")
    assert (query.title.required, query.title.phrases) == (["sea", "the", "trip"], [["the", "sea"]])
    assert (query.since, query.until) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-06-01", JUNE),
        ("2026-06-01T12:30", datetime(2026, 6, 1, 12, 30, tzinfo=UTC)),
        ("2026-06-01T12:30:00+02:00", datetime(2026, 6, 1, 10, 30, tzinfo=UTC)),
    ],
)
def test_a_moment_is_a_date_or_a_time_and_utc_where_nothing_else_is_said(text: str, moment: datetime) -> None:
    assert Query(f"before:{text}").until == moment


@pytest.mark.parametrize(
    "text", ["std::vector ", "http://otter.example ", "at 12:30 ", "localhost:8080 ", "e-mail: ada ", "role: "]
)
def test_a_colon_that_makes_no_filter_is_text(text: str) -> None:
    query = Query(text)
    assert query.required
    assert not query.is_filtered


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("otter colour:red", "no filter colour: but assistant, before, after, role, status, title"),
        ('colour:"dark red"', "no filter colour:"),
        ("otter before:yesterday", "before: takes a date such as 2026-01-31, and not yesterday"),
        ("after:2026-13-01", "after: takes a date"),
        ("after:0001-01-01T00:00+14:00", "after: takes a date"),
        ("otter role:boss", "no role boss, but system, user, assistant, tool"),
        ("status:lost", "no status lost, but active, completed, abandoned"),
        ("otter role:user role:tool", "role: is there twice"),
        ("otter -role:tool", "role: cannot be excluded"),
        ("-otter", "need a word to look for"),
        ("role:user", "need a word to look for"),
        ("role:user status:active", "role: needs a word to look for"),
        ("otter after:2026-02 before:2026-01", "after: comes before that of before:"),
    ],
)
def test_what_is_wrong_with_a_search_is_said(text: str, said: str) -> None:
    with pytest.raises(InvalidSearch, match=said):
        Query(text)


def test_filters_let_through_what_they_name() -> None:
    for text, is_accepted in {
        "otter ": True,
        "otter role:user": True,
        "otter role:tool": False,
        "otter assistant:chat status:active title:trip": True,
        "otter assistant:shop": False,
        "otter status:completed": False,
        'otter title:"trip sea"': False,
        'otter title:"to the sea"': True,
        "otter after:2026-06-01": True,
        "otter before:2026-06-01": False,
        "otter after:2026-06-02": False,
    }.items():
        assert Query(text).accepts(Role.USER, JUNE, lambda: TRIP) == is_accepted, text


def test_a_conversation_is_looked_for_by_its_title_or_by_filters_alone() -> None:
    for text, is_accepted in {
        "trip se": True,
        "trip -sea": False,
        "trip role:user": False,
        "assistant:chat": True,
        "assistant:shop": False,
        "title:tri": True,
        "title:otter": False,
        "after:2026-05 before:2026-07": True,
        "before:2026-06": False,
    }.items():
        assert Query(text).accepts_title(TRIP) == is_accepted, text
