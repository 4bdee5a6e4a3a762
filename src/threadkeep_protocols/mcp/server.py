"""The server of MCP: the tools and the conversations, as the official SDK serves them. Whoever asks is known from the
request that carries the message, and reaches what it may reach over HTTP, nothing else."""

from collections.abc import Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError
from starlette.requests import Request

from threadkeep import __version__
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidInput, NotAllowed, NotFound, ThreadkeepError
from threadkeep.server.identity.guards import IDENTITY, Identity
from threadkeep.server.list_cursors import ListCursors
from threadkeep_protocols.dialects.exchange import find
from threadkeep_protocols.mcp.pages import MOST_MESSAGES, read_page
from threadkeep_protocols.mcp.tools import TOOLS, Asked, McpTool, Told

URI = "threadkeep://conversation/"
MARKDOWN = "text/markdown"
LISTED = 50
INSTRUCTIONS = (
    "The conversations of one person with their assistants, kept for good. Search them for what was said before; read "
    "one by its id; keep what must not be forgotten as a note; ask an assistant by sending a message."
)
Context = ServerRequestContext[Any, Request]


class ConversationServer:
    """Answers the methods of the protocol."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._cursors = ListCursors(conversations.admin.keyring)

    def sdk(self) -> Server[Any]:
        """Return it as the SDK serves it."""
        return Server(
            "threadkeep",
            title="Threadkeep",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        """Return the tools that the caller may use."""
        return types.ListToolsResult(tools=[_described(tool) for tool in _allowed(context)])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a tool; what it refuses is told to the model, which can do better."""
        named = next((tool for tool in TOOLS if tool.name == params.name), None)
        if named is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool named {params.name[:64]}.")
        try:
            if named not in _allowed(context):
                raise NotAllowed("This is for reading only.")
            asked = Asked(scope=_identity(context).scope, tell=_telling(context))
            return _result(await named.model_validate(params.arguments or {}).run(self._conversations, asked))
        except ValidationError as error:
            return _result(Told(_wrong(error), {"code": "invalid_request"}, is_error=True))
        except ThreadkeepError as error:
            return _result(Told(f"{error.code}: {error}", {"code": error.code, "detail": str(error)}, is_error=True))

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return a page of the conversations, the newest first."""
        try:
            after = await self._cursors.read(params.cursor if params else None)
            page = await self._conversations.list(
                scope=_identity(context).scope, limit=LISTED, after=after, by_activity=True
            )
        except ThreadkeepError as error:
            raise _refusal(error) from None
        return types.ListResourcesResult(
            resources=[_resource(item) for item in page.items], next_cursor=await self._cursors.shown(page.next)
        )

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        """Say how a conversation is addressed."""
        template = types.ResourceTemplate(
            name="conversation",
            title="Conversation",
            uri_template=f"{URI}{{id}}",
            description="The newest messages of a conversation.",
            mime_type=MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the newest messages of a conversation."""
        try:
            if not params.uri.startswith(URI):
                raise NotFound("There is nothing at this address.")
            found = await find(self._conversations, _identity(context).scope, params.uri.removeprefix(URI))
            page = await read_page(found, MOST_MESSAGES)
        except ThreadkeepError as error:
            raise _refusal(error, uri=params.uri) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=page.text)
        return types.ReadResourceResult(contents=[contents])


def _identity(context: Context) -> Identity:
    if context.request is None:
        raise TypeError("a message comes with a request")
    found: Identity = context.request.scope[IDENTITY]
    return found


def _allowed(context: Context) -> Sequence[type[McpTool]]:
    writes = _identity(context).writes
    return [tool for tool in TOOLS if tool.reads or writes]


def _described(tool: type[McpTool]) -> types.Tool:
    schema = tool.model_json_schema()
    hints = types.ToolAnnotations(
        read_only_hint=tool.reads, destructive_hint=False, idempotent_hint=tool.reads, open_world_hint=False
    )
    described = " ".join(schema.pop("description").split())
    title = tool.name.replace("_", " ").capitalize()
    return types.Tool(name=tool.name, title=title, description=described, input_schema=schema, annotations=hints)


def _telling(context: Context) -> Any:
    async def tell(progress: float, words: str) -> None:
        await context.session.report_progress(progress, message=words)

    return tell


def _result(told: Told) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=told.text)], structured_content=told.data, is_error=told.is_error
    )


def _wrong(error: ValidationError) -> str:
    """Say which arguments are wrong, without repeating what was sent."""
    wrong = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong[:10])


def _refusal(error: ThreadkeepError, **about: str) -> MCPError:
    code = types.INVALID_PARAMS if isinstance(error, NotFound | InvalidInput) else types.INTERNAL_ERROR
    return MCPError(code, str(error), {"code": error.code, **about})


def _resource(item: Conversation) -> types.Resource:
    title = item.title or "Conversation"
    about = types.Annotations(last_modified=item.updated_at.isoformat())
    return types.Resource(name=item.id, title=title, uri=f"{URI}{item.id}", mime_type=MARKDOWN, annotations=about)
