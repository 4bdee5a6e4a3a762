"""What is there and who is asking: assistants, models, me."""

from fastapi import APIRouter
from pydantic import Field

from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import LOCAL_IDENTITY, Who
from threadkeep.server.responses import Shown
from threadkeep.tools.mcp import Connected


class ShownContext(Shown):
    """Which part of a conversation the model sees: `newest` messages, a `budget` of tokens, or everything (null)."""

    window: str | None
    size: int


class ShownAssistant(Shown):
    """An assistant that a conversation can be created with; `states` are those that a guided one goes through."""

    name: str
    description: str
    examples: list[str]
    model: str | None
    tools: list[str]
    states: list[str]
    context: ShownContext


class ShownToolServer(Shown):
    """An MCP server by the name that the tools of it begin with. Why one failed is in the log, not here."""

    name: str
    state: Connected
    tools: int


class AssistantList(Shown):
    """The assistants; the first answers where a conversation names none. Those that use MCP use all of its servers."""

    data: list[ShownAssistant]
    tool_servers: list[ShownToolServer]


class ShownModel(Shown):
    """The model that answers unless a conversation or an assistant names another, and why it was chosen."""

    name: str
    reason: str
    is_scripted: bool
    missing: str | None = Field(default=None, description="What to install for a model whose key is set.")


class ModelList(Shown):
    """The models to choose from; any `provider:model` name can be used as well."""

    default: ShownModel
    data: list[str]
    asking: bool = Field(default=False, description="Whether a provider is being asked for its models: ask again soon.")


class Me(Shown):
    """Who is asking; `signed_in` tells one who has shown who it is from whoever sits at this machine."""

    tenant: str
    user: str
    role: str
    signed_in: bool
    max_file_bytes: int | None = Field(description="How large an attached file may be; 0: any size, null: no files.")
    max_attached_bytes: int | None = Field(description="How large the files of one message may be together.")


def about_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["about"])

    @router.get("/assistants", summary="The assistants")
    async def assistants(who: Who) -> AssistantList:
        return AssistantList(
            data=[
                ShownAssistant(
                    name=assistant.name,
                    description=assistant.description,
                    examples=list(assistant.examples),
                    model=assistant.model,
                    tools=[tool.spec.name for tool in conversations.tools_of(assistant)],
                    states=list(assistant.machine.states) if assistant.machine else [],
                    context=ShownContext(window=assistant.policy.window, size=assistant.policy.size),
                )
                for assistant in conversations.assistants.values()
            ],
            tool_servers=[
                ShownToolServer(name=state.server, state=state.state, tools=state.tools)
                for state in conversations.mcp.states()
            ],
        )

    @router.get("/models", summary="The models")
    async def models(who: Who) -> ModelList:
        choice = conversations.model_choice
        default = ShownModel(
            name=choice.name, reason=choice.reason, is_scripted=choice.name == "demo", missing=choice.missing
        )
        choice.offered.ask()
        return ModelList(default=default, data=list(choice.offered), asking=choice.offered.is_asking)

    @router.get("/me", summary="Who is asking")
    async def me(who: Who) -> Me:
        limits = None if (files := conversations.attachments) is None else files.limits
        return Me(
            tenant=who.scope.tenant,
            user=who.scope.user,
            role=who.role,
            signed_in=who != LOCAL_IDENTITY,
            max_file_bytes=limits and limits.file,
            max_attached_bytes=limits and limits.message,
        )

    return router
