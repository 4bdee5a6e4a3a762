"""A conversation: what it begins with, and what lists leave out of it."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidId

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_what_was_decided_at_the_beginning_is_known_of_it_but_for_the_id() -> None:
    facts = NewConversation(id="chosen", title="Otters", system="Be brief.", metadata={"a": [1]}).facts()
    assert (facts.title, facts.system, facts.metadata) == ("Otters", "Be brief.", {"a": [1]})
    assert "id" not in facts.model_dump()


def test_a_list_shows_it_without_what_may_be_large() -> None:
    whole = Conversation(
        scope=LOCAL,
        id="c",
        title="Otters",
        pinned=True,
        system="Be brief.",
        metadata={"a": 1},
        created_at=AT,
        updated_at=AT,
    )
    listed = whole.listed()
    assert (listed.title, listed.pinned) == ("Otters", True)
    assert (listed.system, listed.metadata, listed.shares) == (None, {}, ())


def test_a_name_that_could_harm_and_a_model_without_end_are_refused() -> None:
    with pytest.raises(InvalidId):
        NewConversation(id="../up")
    with pytest.raises(ValidationError):
        NewConversation(model="m" * 201)
