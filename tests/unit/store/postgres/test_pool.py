"""The part of a URL that is ours, and searches in PostgreSQL's words."""

import pytest

from threadkeep.errors import InvalidStoreUrl
from threadkeep.store.postgres.pool import POOL_SIZE, split_url
from threadkeep.store.postgres.searching import to_tsquery
from threadkeep.store.words import Query


@pytest.mark.parametrize(
    ("url", "rest", "size"),
    [
        ("postgresql://u@h/d", "postgresql://u@h/d", POOL_SIZE),
        ("postgresql:///d?host=/tmp/x", "postgresql:///d?host=/tmp/x", POOL_SIZE),
        ("postgresql:///d?pool_size=5", "postgresql:///d", 5),
        ("postgresql:///d?pool_size=5&host=/tmp/x", "postgresql:///d?host=/tmp/x", 5),
        ("postgresql:///d?host=/tmp/x&pool_size=1000", "postgresql:///d?host=/tmp/x", 1000),
    ],
)
def test_the_size_of_the_pool_is_taken_out_of_the_url(url: str, rest: str, size: int) -> None:
    assert split_url(url) == (rest, size)


@pytest.mark.parametrize("size", ["", "0", "1001", "-1", "many", "٣"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    with pytest.raises(InvalidStoreUrl):
        split_url(f"postgresql:///d?pool_size={size}")


@pytest.mark.parametrize(
    ("text", "tsquery"),
    [
        ("one two ", "'one' & 'two'"),
        ("one tw", "'one' & 'tw':*"),
        ('"a b" c ', "'a' & 'b' & 'c'"),
        ("o'neil ", "'neil' & 'o'"),
    ],
)
def test_a_search_becomes_quoted_words(text: str, tsquery: str) -> None:
    assert to_tsquery(Query(text)) == tsquery
