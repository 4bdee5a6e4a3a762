"""Whose data: the names in a scope, and the ids that it makes of names."""

from typing import Any

import pytest

from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import InvalidId


@pytest.mark.parametrize("bad", ["", "a/b", "..", "x" * 10_000, 7, None])
def test_the_names_in_a_scope_are_ids(bad: Any) -> None:
    for fields in ({"tenant": bad, "user": "u"}, {"tenant": "t", "user": bad}):
        with pytest.raises(InvalidId):
            Scope(**fields)


def test_a_chosen_name_is_another_conversation_for_each_user_and_tenant() -> None:
    people = [Scope(tenant=tenant, user=user) for tenant in ("acme", "globex") for user in ("ada", "bob")]
    ids = [person.id_named("notes") for person in people]
    assert len(set(ids)) == 4
    assert ids == [person.id_named("notes") for person in people]
    assert people[0].id_named(ids[0]) == ids[0]


def test_an_id_that_we_made_names_itself_and_the_local_user_has_the_names_that_were_chosen() -> None:
    made = new_id()
    assert Scope(tenant="acme", user="ada").id_named(made) == made
    assert LOCAL.id_named("notes") == "notes"
    assert LOCAL.own_id("notes") != "notes"
