"""An agent of Google's Agent Development Kit whose sessions are conversations that outlive the process.

    pip install 'threadkeep[google-adk]'
    python examples/google_adk_chat.py "How is Oslo?"
    python examples/google_adk_chat.py "And what did I ask first?"
    threadkeep serve

With `GOOGLE_API_KEY` Gemini answers, without it a scripted model. The page of `threadkeep serve` shows the sessions of
the user `local`.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.genai import types

import threadkeep
from threadkeep_integrations.google_adk import AdkSessions

WHO: Any = {"app_name": "weather", "user_id": "local", "session_id": "weather"}


class Scripted(BaseLlm):  # type: ignore[misc] # the package has no types here
    """A model that counts the messages it was shown."""

    async def generate_content_async(self, request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        """Answer."""
        text = f"Cold. You have shown me {len(request.contents)} messages."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


async def main(question: str) -> None:
    """Ask the agent, and print what it says."""
    model: Any = "gemini-flash-latest" if "GOOGLE_API_KEY" in os.environ else Scripted(model="scripted")
    agent = LlmAgent(name="Weather", model=model, instruction="Answer briefly.")
    async with threadkeep.open(os.environ.get("THREADKEEP_STORE", "sqlite:///threadkeep.db")) as conversations:
        sessions = AdkSessions(conversations)
        if await sessions.get_session(**WHO) is None:
            await sessions.create_session(**WHO)
        runner = Runner(app_name="weather", agent=agent, session_service=sessions)
        asked = types.Content(role="user", parts=[types.Part(text=question)])
        async for event in runner.run_async(user_id="local", session_id="weather", new_message=asked):
            if event.is_final_response() and event.content:
                print("".join(part.text or "" for part in event.content.parts))
        await runner.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["How is Oslo?"]))
