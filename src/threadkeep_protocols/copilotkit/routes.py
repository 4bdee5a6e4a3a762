"""The routes of CopilotKit's runtime below `/copilotkit`: one for each thing, and one for all (`useSingleEndpoint`)."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from threadkeep import __version__
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.identity.guards import LOOKS_ITSELF, Who
from threadkeep.server.requests import SentText
from threadkeep.settings import Settings
from threadkeep_protocols.ag_ui.agents import DEFAULT, Agents
from threadkeep_protocols.ag_ui.routes import Named, Sent
from threadkeep_protocols.ag_ui.showing import Json
from threadkeep_protocols.ag_ui.taking import RunInput
from threadkeep_protocols.copilotkit.threads import Listing, ThreadChange, Threads
from threadkeep_protocols.dialects.form import body_reader, read_body
from threadkeep_protocols.wire import stream_room

RUNTIME = "/copilotkit"
_ROOM = [Depends(stream_room)]
_THREADS = {"list": True, "inspect": False, "mutations": True, "realtimeMetadata": False}
_CAPABILITIES = {
    "transport": {"streaming": True, "resumable": True},
    "tools": {"supported": True, "clientProvided": True},
    "state": {"snapshots": True, "deltas": True, "persistentState": True},
    "reasoning": {"supported": True, "streaming": True},
    "humanInTheLoop": {"supported": True, "approvals": True, "interrupts": True},
}


class Envelope(BaseModel):
    """A request to the one route for all."""

    model_config = ConfigDict(frozen=True)
    method: Literal["info", "agent/run", "agent/connect", "agent/stop", "resource/request"]
    params: dict[str, SentText] = {}
    body: Any = None

    def param(self, name: str) -> str:
        """Return a parameter that the method needs."""
        if (found := self.params.get(name)) is None:
            raise InvalidValue(f"The method {self.method} needs the parameter {name}.")
        return found


Enveloped = Annotated[Envelope, Depends(body_reader(Envelope))]


def copilotkit_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """All of them."""
    router = APIRouter(include_in_schema=False)
    runtime = Runtime(conversations)
    _runs(router, runtime)
    _threads(router, runtime.threads)

    @router.get(f"{RUNTIME}/info")
    async def info(who: Who) -> Json:
        return runtime.info()

    @router.post(RUNTIME, dependencies=_ROOM)
    @router.post(f"{RUNTIME}/", dependencies=_ROOM)
    async def enveloped(who: Who, envelope: Enveloped) -> Response:
        return await runtime.answer(who.scope, envelope)

    return router


def _runs(router: APIRouter, runtime: "Runtime") -> None:
    @router.post(f"{RUNTIME}/agent/{{agent}}/run", dependencies=_ROOM)
    async def run(who: Who, agent: Named, body: Sent) -> Response:
        return await runtime.agents.run(who.scope, agent, body)

    @router.post(f"{RUNTIME}/agent/{{agent}}/connect", dependencies=_ROOM)
    async def connect(who: Who, agent: Named, body: Sent) -> Response:
        return await runtime.agents.connect(who.scope, agent, body)

    setattr(connect, LOOKS_ITSELF, True)  # it only reads

    @router.post(f"{RUNTIME}/agent/{{agent}}/stop/{{thread:path}}")
    async def stop(who: Who, agent: Named, thread: str) -> Json:
        return await runtime.agents.stop(who.scope, thread)


def _threads(router: APIRouter, threads: Threads) -> None:
    @router.get(f"{RUNTIME}/threads")
    async def listing(who: Who, asked: Annotated[Listing, Query()]) -> Json:
        return await threads.list(who.scope, asked)

    @router.patch(f"{RUNTIME}/threads/{{thread:path}}")
    async def change(
        who: Who, thread: str, change: Annotated[ThreadChange, Depends(body_reader(ThreadChange))]
    ) -> Json:
        return await threads.change(who.scope, thread, change)

    @router.post(f"{RUNTIME}/threads/{{thread:path}}/archive")
    async def archive(who: Who, thread: str) -> Json:
        return await threads.change(who.scope, thread, ThreadChange(archived=True))

    @router.delete(f"{RUNTIME}/threads/{{thread:path}}")
    async def delete(who: Who, thread: str) -> Json:
        return await threads.delete(who.scope, thread)


class Runtime:
    """What the front end takes for its runtime."""

    def __init__(self, conversations: Conversations) -> None:
        self.agents = Agents(conversations)
        self.threads = Threads(conversations)
        self._assistants = conversations.assistants

    def info(self) -> Json:
        """Return which agents there are, and what they can do."""
        described = {name: assistant.description for name, assistant in self._assistants.items()}
        return {
            "version": __version__,
            "mode": "sse",
            "agents": {name: _agent(name, text) for name, text in ({DEFAULT: ""} | described).items()},
            "audioFileTranscriptionEnabled": False,
            "telemetryDisabled": True,
            "threadEndpoints": _THREADS,
            "singleRoute": {"resourceOperations": True, "threadEndpoints": _THREADS},
        }

    async def answer(self, scope: Scope, asked: Envelope) -> Response:
        """Answer a request to the one route for all."""
        match asked.method:
            case "info":
                return JSONResponse(self.info())
            case "agent/run":
                return await self.agents.run(scope, asked.param("agentId"), read_body(RunInput, asked.body))
            case "agent/connect":
                return await self.agents.connect(scope, asked.param("agentId"), read_body(RunInput, asked.body))
            case "agent/stop":
                return JSONResponse(await self.agents.stop(scope, asked.param("threadId")))
            case "resource/request":
                method, path = asked.param("httpMethod"), asked.param("path")
                return JSONResponse(await self.threads.asked(scope, method, path, asked.body))


def _agent(name: str, description: str) -> Json:
    return {"name": name, "className": "Assistant", "description": description, "capabilities": _CAPABILITIES}
