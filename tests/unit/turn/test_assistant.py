"""What answers for an assistant: its model, its agent, or nothing while the agent is only named."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from threadkeep.errors import InvalidValue
from threadkeep.llm.base import Text
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.agent import Agent, Asked, Thought
from threadkeep.turn.assistant import Assistant, agent_of


class Silent(Agent):
    """Says next to nothing."""

    async def think(self, asked: Asked) -> AsyncIterator[Thought]:
        """Answer."""
        yield Text(".")


async def test_an_agent_answers_where_there_is_one() -> None:
    agent = Silent()
    assert await agent_of(Assistant(name="a", agent=agent)) is agent
    assert await agent_of(Assistant(name="a")) is None


def test_an_agent_brings_its_tools_along() -> None:
    @tool
    def own() -> str:
        """Do something."""
        return ""

    @tool
    def other() -> str:
        """Do something else."""
        return ""

    class Armed(Silent):
        tools = (own,)

    assistant = replace(Assistant(name="a", agent=Armed(), tools=Registry([other])), description="again")
    assert [each.spec.name for each in assistant.tools] == ["other", "own"]


async def test_an_agent_that_is_only_named_was_not_loaded() -> None:
    with pytest.raises(InvalidValue, match=r"The agent some\.module:AGENT of a was not loaded"):
        await agent_of(Assistant(name="a", agent="some.module:AGENT"))
