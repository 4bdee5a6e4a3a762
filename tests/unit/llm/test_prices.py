"""What answers cost: by the prices that are set, exactly, as of then; and nothing is said where there are none."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from tests.integration.serving import serving
from threadkeep.conversation.message import Cost, Usage
from threadkeep.llm.prices import Price, priced
from threadkeep.testing.scripted_model import ScriptedModel, says

GPT = Price.model_validate({"input": 1.25, "cached": 0.125, "output": 10})
PRICES = {"openai:gpt-5": GPT, "openai:*": Price(input=Decimal(1), output=Decimal(2), currency="EUR")}


def _cost(model: str, **tokens: Any) -> Cost | None:
    usage = priced(PRICES, model, Usage(**tokens))
    assert usage is not None
    return usage.cost


def test_tokens_from_the_cache_are_among_those_that_were_read() -> None:
    cost = _cost("openai:gpt-5", input_tokens=1_000_000, cached_tokens=400_000, output_tokens=3)
    assert cost == Cost(amount=Decimal("0.6") * Decimal("1.25") + Decimal("0.05") + Decimal("0.00003"), currency="USD")
    assert _cost("openai:gpt-5", input_tokens=1, cached_tokens=9) == Cost(amount=Decimal("1.25E-7"), currency="USD")


def test_the_first_pattern_that_fits_counts_and_no_pattern_is_no_cost() -> None:
    assert _cost("openai:other", input_tokens=7, cached_tokens=7) == Cost(amount=Decimal("0.000007"), currency="EUR")
    assert _cost("demo", input_tokens=7) is None
    assert priced(PRICES, "openai:gpt-5", None) is None


def test_amounts_are_written_as_people_write_them() -> None:
    usage = priced(PRICES, "openai:gpt-5", Usage(input_tokens=1))
    assert usage is not None
    assert usage.model_dump(mode="json")["cost"] == {"amount": "0.00000125", "currency": "USD"}
    assert Usage.model_validate_json(usage.model_dump_json()) == usage
    assert "cost" not in Usage().model_dump_json()


def test_a_sum_has_a_cost_if_all_have_one_in_one_currency() -> None:
    dollars, euros = (priced(PRICES, model, Usage(output_tokens=1)) for model in ("openai:gpt-5", "openai:x"))
    assert dollars is not None
    assert euros is not None
    assert Usage.total([dollars, dollars]).cost == Cost(amount=Decimal("0.00002"), currency="USD")
    assert Usage.total([dollars, euros]).cost is None
    assert Usage.total([dollars, Usage()]).cost is None


@pytest.mark.parametrize("wrong", [{"input": -1}, {"input": "nan"}, {"currency": "dollars"}, {"outputs": 1}])
def test_prices_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Price.model_validate({"input": 1, "output": 1} | wrong)


@pytest.mark.parametrize("prices", [{}, {"scr*": {"input": 1, "output": 2, "currency": "EUR"}}])
async def test_answers_and_turns_tell_their_cost_where_there_are_prices(prices: dict[str, dict[str, object]]) -> None:
    async with serving(model=ScriptedModel(says("Hello")), prices=prices) as server:
        said = await server.say(await server.conversation(), "Hi!")
        usage = said.json()["message"]["usage"]
        assert usage.pop("cost", None) == ({"amount": "0.000012", "currency": "EUR"} if prices else None)
        assert usage == {"input_tokens": 10, "output_tokens": 1, "cached_tokens": 0}
