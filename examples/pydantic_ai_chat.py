"""An agent of Pydantic AI whose runs are turns of a conversation that outlives the process.

    pip install 'threadkeep[pydantic-ai]'
    python examples/pydantic_ai_chat.py "How is Oslo?"
    python examples/pydantic_ai_chat.py "And what did I ask first?"
    threadkeep serve

With `PYDANTIC_AI_MODEL` (`openai:gpt-5`, its package installed and its key set) that model answers, without it a
scripted one. The page of `threadkeep serve` shows the conversation, streams what is being written and stops it.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

import threadkeep
from threadkeep_integrations.pydantic_ai import run_turn


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"4 degrees and rain in {city}"


async def scripted(messages: list[Any], info: Any) -> AsyncIterator[Any]:
    """Call the tool once, then answer."""
    if messages[-1].parts[-1].part_kind == "user-prompt":
        call = f"call-{os.urandom(4).hex()}"
        yield {0: DeltaToolCall(name="weather", json_args='{"city": "Oslo"}', tool_call_id=call)}
    else:
        yield "Take a coat: "
        yield "4 degrees and rain."


async def main(question: str) -> None:
    """Ask the agent, and print all that was said so far."""
    model: Any = os.environ.get("PYDANTIC_AI_MODEL") or FunctionModel(stream_function=scripted)
    agent = Agent(model, instructions="Answer briefly.", tools=[weather])
    async with threadkeep.open(os.environ.get("THREADKEEP_STORE", "sqlite:///threadkeep.db")) as conversations:
        conversation = await conversations.get_or_create("weather", title="Weather")
        await run_turn(conversation, agent, question)
        for message in await conversation.messages(None):
            print(f"{message.role}: {message.content or [call.name for call in message.tool_calls]}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["How is Oslo?"]))
