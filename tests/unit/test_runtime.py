"""What is wired by name: the counter of tokens."""

import pytest

from threadkeep.context.tokens import count_tokens
from threadkeep.errors import InvalidValue
from threadkeep.runtime import load_counter


def test_without_a_setting_tokens_are_estimated() -> None:
    assert load_counter(None) is count_tokens


def test_a_counter_is_a_function_of_a_module() -> None:
    assert load_counter("threadkeep.context.tokens:count_tokens") is count_tokens


@pytest.mark.parametrize("name", ["nowhere:count", "json:nothing", "json", "", ":x", "threadkeep:__version__"])
def test_a_counter_that_is_none_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(InvalidValue, match="token counter"):
        load_counter(name)
