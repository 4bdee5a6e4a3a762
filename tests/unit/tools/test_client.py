"""Definitions of tools that a client runs: what is refused before a turn begins."""

from typing import Any

import pytest

from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidValue
from threadkeep.tools.base import ToolContext
from threadkeep.tools.client import LARGEST_DEFINITIONS, MOST_CLIENT_TOOLS, AwaitedTool, client_tools
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry


@tool()
def look() -> str:
    """Look."""
    return "seen"


def test_a_definition_needs_a_name_alone() -> None:
    (made,) = client_tools([{"name": "place-order"}], Registry())
    assert made.parameters == {"type": "object", "properties": {}}
    assert AwaitedTool(made).spec.name == "place-order"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([{"name": "a b"}], "name"),
        ([{"name": "x" * 65}], "name"),
        ([{}], "name"),
        ([{"name": "a", "strict": True}], "strict"),
        ([{"name": "a", "parameters": []}], "parameters"),
        ([{"name": "a", "description": "x" * 8193}], "description"),
        ([{"name": "a"}, {"name": "a"}], "Two tools are named a"),
        ([{"name": "look"}], "The server has a tool named look"),
        ([{"name": f"a{number}"} for number in range(MOST_CLIENT_TOOLS + 1)], "at most"),
        ([{"name": "a", "parameters": {"x": "y" * LARGEST_DEFINITIONS}}], "characters"),
    ],
)
def test_what_a_model_could_not_be_told_is_refused(given: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        client_tools(given, Registry([look]))


async def test_a_call_that_nobody_ran_has_failed() -> None:
    (made,) = client_tools([{"name": "a"}], Registry())
    outcome = await AwaitedTool(made).run({}, ToolContext(scope=LOCAL, conversation="c", turn=1, call_id="1"))
    assert outcome.error
