"""Filters as people type them."""

import pytest

from threadkeep.cli.where import parse_filter
from threadkeep.errors import InvalidValue
from threadkeep.retrieval.base import Filter


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("price<500", Filter("price", "<", 500)),
        ("price <= 499.5", Filter("price", "<=", 499.5)),
        ("price>=-3", Filter("price", ">=", -3)),
        ("brand=Samsung", Filter("brand", "=", "Samsung")),
        ("brand != Fairphone 5", Filter("brand", "!=", "Fairphone 5")),
        ("in stock=true", Filter("in stock", "=", True)),
        ('model="500"', Filter("model", "=", "500")),
        ("formula=a=b", Filter("formula", "=", "a=b")),
        ("note=", Filter("note", "=", "")),
        ("tags=[1]", Filter("tags", "=", "[1]")),
    ],
)
def test_a_filter_means_what_it_looks_like(text: str, meant: Filter) -> None:
    assert parse_filter(text) == meant


@pytest.mark.parametrize("text", ["", "price", "<500", "=", "! = 5"])
def test_what_is_no_filter_is_explained(text: str) -> None:
    with pytest.raises(InvalidValue, match="is no filter: write a field"):
        parse_filter(text)
