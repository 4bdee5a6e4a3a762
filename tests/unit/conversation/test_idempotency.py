"""Idempotency keys: which requests are the same, and which names they are kept under."""

import pytest
from pydantic import ValidationError

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidText

ADA, BOB = Scope(tenant="t", user="ada"), Scope(tenant="t", user="bob")


def test_the_order_of_the_keys_of_a_body_does_not_matter() -> None:
    one = IdempotencyKey.of("POST /x", "k", {"a": 1, "b": {"c": [1, 2], "d": None}})
    two = IdempotencyKey.of("POST /x", "k", {"b": {"d": None, "c": [1, 2]}, "a": 1})
    assert one == two


@pytest.mark.parametrize("other", [{"a": 2}, {"a": "1"}, {"a": 1, "b": None}, {}, None, [1], {"a": [1]}, {"A": 1}])
def test_another_body_has_another_digest(other: object) -> None:
    assert IdempotencyKey.of("POST /x", "k", {"a": 1}).digest != IdempotencyKey.of("POST /x", "k", other).digest


def test_the_name_tells_users_routes_and_keys_apart_however_they_are_cut() -> None:
    names = {
        IdempotencyKey.of(route, key, None).name(scope)
        for scope in (ADA, BOB)
        for route, key in (("POST /a", "b"), ("POST /a b", "x"), ("POST /", "ab"), ("POST /a", "b,"))
    }
    assert len(names) == 8
    assert {len(name) for name in names} == {16}


def test_the_name_does_not_depend_on_the_body() -> None:
    assert IdempotencyKey.of("r", "k", 1).name(ADA) == IdempotencyKey.of("r", "k", 2).name(ADA)


@pytest.mark.parametrize(("route", "key"), [("", "k"), ("r", ""), ("r", "k" * 256), ("r" * 1001, "k")])
def test_a_route_or_key_of_no_or_too_great_length_is_refused(route: str, key: str) -> None:
    with pytest.raises(ValidationError):
        IdempotencyKey.of(route, key, None)


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidText):
        IdempotencyKey.of("r", "\ud800", None)
