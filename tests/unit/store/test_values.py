"""Which conversations a filter shows, and what it asks of their documents."""

from datetime import UTC, datetime
from typing import Any

import pytest

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidSearch
from threadkeep.store.values import EVERY, ListFilter

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_filter_asks_for_what_stands_in_the_document_and_for_what_does_not() -> None:
    wanted = ListFilter(status=Status.ACTIVE, archived=True, title="otters").documents()
    assert (wanted.present, wanted.absent) == ({"archived": True}, ["status"])


def _conversation(**fields: Any) -> Conversation:
    return Conversation(scope=LOCAL, id="c", created_at=AT, updated_at=AT, **fields)


@pytest.mark.parametrize(
    ("value", "asked", "is_found"),
    [
        ("x", "x", True),
        (7, "7", True),
        (True, "true", True),
        (True, "1", False),
        (1.5, "1.5", False),
        ([1], "[1]", False),
    ],
)
def test_metadata_is_compared_as_text_where_that_is_clear(value: object, asked: str, is_found: bool) -> None:
    shown = ListFilter(metadata={"a": asked})
    assert shown.accepts(_conversation(metadata={"a": value})) is is_found
    assert not shown.accepts(_conversation(metadata={"b": value}))


def test_a_title_is_found_by_its_words_the_last_as_a_beginning() -> None:
    otters = _conversation(title="About otters")
    assert ListFilter(title="otters abo").accepts(otters)
    assert not ListFilter(title="abo otters").accepts(otters)
    with pytest.raises(InvalidSearch):
        ListFilter(title="--").accepts(otters)


def test_a_filter_without_anything_set_shows_every_conversation() -> None:
    assert EVERY.accepts(_conversation())
    assert EVERY.documents() == ({}, [])
    assert not ListFilter(shared=True).accepts(_conversation())
    assert not ListFilter(status=Status.COMPLETED).accepts(_conversation())
