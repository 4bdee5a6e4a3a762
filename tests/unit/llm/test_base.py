"""The options of a model are bounded, and refused in words that name them."""

from typing import Any

import pytest

import threadkeep
from threadkeep.assistants import found_assistants
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import DEFAULTS, ModelOptions
from threadkeep.settings import Settings
from threadkeep.testing.scripted_model import ScriptedModel, says


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"temperature": -0.1}, "options.temperature"),
        ({"temperature": 2.1}, "options.temperature"),
        ({"temperature": float("nan")}, "options.temperature"),
        ({"top_p": 0}, "options.top_p"),
        ({"max_tokens": 0}, "options.max_tokens"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "options.stop"),
        ({"stop": [""]}, "options.stop.0"),
        ({"seed": -1}, "options.seed"),
        ({"reasoning_effort": "enormous"}, "options.reasoning_effort"),
        ({"warmth": 1}, "options.warmth"),
        ([], "options"),
    ],
)
def test_what_no_provider_takes_is_refused_by_name(given: Any, named: str) -> None:
    with pytest.raises(InvalidValue, match=rf"^{named}: .*The options are: temperature, "):
        ModelOptions.read(given)


def test_one_text_to_stop_at_may_stand_alone() -> None:
    assert ModelOptions.read({"stop": "END"}).stop == ("END",)


def test_what_is_given_lies_over_what_was_there() -> None:
    base = ModelOptions(temperature=1, seed=7)
    assert ModelOptions(temperature=0).over(base) == ModelOptions(temperature=0, seed=7)
    assert ModelOptions(temperature=0).given == {"temperature": 0}
    assert DEFAULTS.given == {}


def test_the_settings_name_the_assistant_whose_option_is_wrong() -> None:
    wrong = {"assistants": {"clerk": {"instructions": "Be exact.", "options": {"temperature": 3}}}}
    with pytest.raises(ValueError, match=r"assistants.clerk.options.temperature\n.*less than or equal to 2"):
        Settings.model_validate(wrong)


def test_the_options_of_the_settings_lie_below_those_of_each_assistant() -> None:
    own = {"clerk": {"instructions": "Be exact.", "options": {"temperature": 0}}}
    given = {"assistants": own, "options": {"temperature": 1, "seed": 7}}
    found = found_assistants(Settings.model_validate(given))
    assert found["clerk"].options == ModelOptions(temperature=0, seed=7)
    assert found["chat"].options == ModelOptions(temperature=1, seed=7)


async def test_an_assistant_of_the_settings_asks_its_model_with_its_options() -> None:
    own = {"clerk": {"instructions": "Be exact.", "options": {"temperature": 0, "stop": "END"}}}
    clerk = found_assistants(Settings.model_validate({"assistants": own}))["clerk"]
    model = ScriptedModel(says("Yes."))
    async with threadkeep.open("memory:", [clerk], model=model) as conversations:
        turn = await (await conversations.create(title="Kept")).send("Sure?")
        await turn.answer()
    assert model.requests[0].options == ModelOptions(temperature=0, stop=("END",))
