"""The contract of a store stays small enough for somebody to write a backend in a few days."""

from threadkeep.store.base import Operations, Outages, Store

MOST_VERBS = 32


def test_a_store_has_few_verbs() -> None:
    verbs = [name for name, member in vars(Store).items() if not name.startswith("_") and hasattr(member, "__code__")]
    assert "append" in verbs
    assert len(verbs) <= MOST_VERBS


def test_a_verb_of_administrators_or_of_outages_is_none_of_the_store() -> None:
    for part in (Operations, Outages):
        assert not [name for name in vars(part) if not name.startswith("_") and name in vars(Store)]
