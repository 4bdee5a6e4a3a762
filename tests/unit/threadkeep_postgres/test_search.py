"""Searches in PostgreSQL's words."""

import pytest

from threadkeep.text.query import Query
from threadkeep_postgres.search import to_tsquery


@pytest.mark.parametrize(
    ("text", "tsquery"),
    [
        ("one two ", "'one' & 'two'"),
        ("one tw", "'one' & 'tw':*"),
        ('"a b" c ', "'a' & 'b' & 'c'"),
        ("o'neil ", "'neil' & 'o'"),
        ("one -two -three role:user", "'one' & !'three' & !'two'"),
    ],
)
def test_a_search_becomes_quoted_words(text: str, tsquery: str) -> None:
    assert to_tsquery(Query(text)) == tsquery
