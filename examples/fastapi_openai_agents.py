"""Your FastAPI app with an agent of the OpenAI Agents SDK: each question is a turn that outlives the request.

    pip install 'threadkeep[openai-agents]'
    uvicorn --app-dir examples fastapi_openai_agents:app
    curl -X POST 'http://127.0.0.1:8000/chats/oslo?question=How+is+Oslo'
    curl -N 'http://127.0.0.1:8000/keep/v1/conversations/oslo/events?after=0'

The page is at /keep/. With `OPENAI_API_KEY` a model of OpenAI answers, without it a scripted one."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from fastapi import FastAPI, Request

import threadkeep
from threadkeep_integrations.openai_agents import run_turn

SETTINGS = threadkeep.Settings(store=os.environ.get("THREADKEEP_STORE", "sqlite:///threadkeep.db"))


@function_tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"4 degrees and rain in {city}"


def agent() -> Agent[Any]:
    call = function_call("weather", {"city": "Oslo"}, call_id=f"call-{os.urandom(4).hex()}")
    script = ScriptedModel([[call], [assistant_message("Take a coat: 4 degrees and rain.")]])
    return Agent(name="Weather", model=None if "OPENAI_API_KEY" in os.environ else script, tools=[weather])


running: set[asyncio.Task[Any]] = set()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    async with threadkeep.open(SETTINGS.store) as conversations:
        app.mount("/keep", threadkeep.create_app(conversations, SETTINGS))
        yield {"conversations": conversations}
        await asyncio.gather(*(task for task in running if task.cancel()), return_exceptions=True)


app = FastAPI(lifespan=lifespan)


@app.post("/chats/{chat}", status_code=202)
async def ask(chat: str, question: str, request: Request) -> str:
    """Begin to answer, and tell where to follow, now or later."""
    conversation = await request.state.conversations.get_or_create(chat, title=question)
    run = run_turn(conversation, agent(), question, key=request.headers.get("Idempotency-Key"))
    running.add(task := asyncio.create_task(run))
    task.add_done_callback(running.discard)
    return f"/keep/v1/conversations/{conversation.id}/events?after=0"
