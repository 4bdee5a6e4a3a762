"""The contract of a store stays small enough for somebody to write a backend in a few days."""

from threadkeep.store.base import Operations, Store

MOST_MEMBERS = 32


def test_a_store_has_few_members() -> None:
    members = {name for name in (*vars(Store), *Store.__annotations__) if not name.startswith("_")}
    assert "append" in members
    assert len(members) <= MOST_MEMBERS


def test_what_concerns_the_store_as_a_whole_is_none_of_its_verbs() -> None:
    assert not [name for name in vars(Operations) if not name.startswith("_") and name in vars(Store)]
