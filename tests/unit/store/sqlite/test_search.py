"""Which entries hold the words that something is recalled by."""

import pytest

import threadkeep.text.search as ranking
from threadkeep.runtime import open_store
from threadkeep.store.sqlite import search
from threadkeep.testing.samples import ADA, new


async def test_a_word_that_very_many_hold_is_looked_for_where_the_rare_one_was_said_only_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (search, ranking):
        monkeypatch.setattr(module, "RELATED", 4)
    store = await open_store("memory:")
    name = await new(store, ADA, *[f"weather {number}" for number in range(6)], "Bergen", "weather")
    words = [["bergen"], ["weather"]]
    early = await store.related(ADA, name, words, head=6)
    late = await store.related(ADA, name, words, head=8)
    await store.close()
    assert {each.entry.seq for each in early} == set(range(1, 7))
    assert late[0].entry.seq == 7
