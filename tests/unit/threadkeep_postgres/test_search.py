"""Searches in PostgreSQL's words."""

import pytest

from threadkeep.text.query import Query
from threadkeep_postgres.search import to_tsquery


@pytest.mark.parametrize(
    ("text", "owner", "tsquery"),
    [
        ("one two ", 7, "':one' & ':two'"),
        ("one tw", 99, "':one' & ':tw':*"),
        ('"a b" c ', 100, "'1:a' & '1:b' & '1:c'"),
        ("o'neil ", 123456, "'1234:neil' & '1234:o'"),
        ("one -two -three role:user", 1, "':one' & !':three' & !':two'"),
    ],
)
def test_a_search_becomes_quoted_words_of_a_hundred_people(text: str, owner: int, tsquery: str) -> None:
    assert to_tsquery(Query(text), owner) == tsquery
