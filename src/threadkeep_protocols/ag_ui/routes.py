"""The routes of AG-UI: `POST /ag-ui/{assistant}` is what `HttpAgent` asks for; the others are what it lacks."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import LOOKS_ITSELF, Who
from threadkeep.settings import Settings
from threadkeep_protocols.ag_ui.agents import Agents
from threadkeep_protocols.ag_ui.showing import Json
from threadkeep_protocols.ag_ui.taking import RunInput
from threadkeep_protocols.dialects.form import body_reader
from threadkeep_protocols.wire import stream_room

Sent = Annotated[RunInput, Depends(body_reader(RunInput))]
Named = Annotated[str, Path(min_length=1, max_length=200)]
_ROOM = [Depends(stream_room)]


def ag_ui_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """All of them."""
    router = APIRouter(include_in_schema=False)
    agents = Agents(conversations)

    @router.post("/ag-ui/{assistant}", dependencies=_ROOM)
    async def run(who: Who, assistant: Named, body: Sent) -> Response:
        return await agents.run(who.scope, assistant, body)

    @router.post("/ag-ui/{assistant}/connect", dependencies=_ROOM)
    async def connect(who: Who, assistant: Named, body: Sent) -> Response:
        return await agents.connect(who.scope, assistant, body)

    setattr(connect, LOOKS_ITSELF, True)  # it only reads

    @router.post("/ag-ui/{assistant}/stop/{thread:path}")
    async def stop(who: Who, assistant: Named, thread: str) -> Json:
        return await agents.stop(who.scope, thread)

    return router
