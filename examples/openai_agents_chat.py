"""An agent of the OpenAI Agents SDK whose runs are turns of a conversation that outlives the process.

    pip install 'threadkeep[openai-agents]'
    python examples/openai_agents_chat.py "How is Oslo?"
    python examples/openai_agents_chat.py "And what did I ask first?"
    threadkeep serve

With `OPENAI_API_KEY` a model of OpenAI answers, without it a scripted one. The page of `threadkeep serve` shows the
conversation, streams what is being written and has the button that stops it.
"""

import asyncio
import os
import sys
from typing import Any

from agents import Agent, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

import threadkeep
from threadkeep_integrations.openai_agents import run_turn


@function_tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"4 degrees and rain in {city}"


def model() -> Any:
    """Return the model: OpenAI's default one, or a script that calls the tool once."""
    if "OPENAI_API_KEY" in os.environ:
        return None
    calls = [function_call("weather", {"city": "Oslo"}, call_id=f"call-{os.urandom(4).hex()}")]
    return ScriptedModel([calls, [assistant_message("Take a coat: 4 degrees and rain.")]])


async def main(question: str) -> None:
    """Ask the agent, and print all that was said so far."""
    agent = Agent(name="Weather", instructions="Answer briefly.", model=model(), tools=[weather])
    async with threadkeep.open(os.environ.get("THREADKEEP_STORE", "sqlite:///threadkeep.db")) as conversations:
        conversation = await conversations.get_or_create("weather", title="Weather")
        await run_turn(conversation, agent, question)
        for message in await conversation.messages(None):
            print(f"{message.role}: {message.content or [call.name for call in message.tool_calls]}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["How is Oslo?"]))
