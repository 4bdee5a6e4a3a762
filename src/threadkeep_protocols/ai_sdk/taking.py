"""What clients of the AI SDK send: UI messages, of which only what is needed is read."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.requests import SentText
from threadkeep.tools.client import MOST_CLIENT_TOOLS
from threadkeep_protocols.files import kept_file
from threadkeep_protocols.said import Said, text_in

MOST_MESSAGES = 10_000
MOST_PARTS = 1000


class UiMessage(Said):
    """A message as a front end has it. A text in place of its parts is taken as well."""

    role: Literal["user", "assistant", "system"] = "user"
    parts: list[dict[str, Any]] = Field(default=[], max_length=MOST_PARTS)
    content: SentText = ""

    @property
    def text(self) -> str:
        """All that it says."""
        return text_in(self.parts) or self.content

    def tools(self) -> list[dict[str, Any]]:
        """Its parts that are tool calls."""
        return [part for part in self.parts if isinstance(part.get("toolCallId"), str)]

    def stored(self) -> Message | None:
        """Return what it says as a message of a history; none if it says nothing."""
        return Message(role=Role(self.role), content=self.text) if self.text else None


class BrowserTool(BaseModel):
    """A tool that the browser runs, with the JSON schema of its input by either of its names."""

    model_config = ConfigDict(frozen=True)
    description: SentText = ""
    parameters: dict[str, Any] | None = None
    inputSchema: dict[str, Any] | None = None  # noqa: N815 - its name on the wire

    def definition(self, name: str) -> dict[str, Any]:
        """Return it as a turn takes it."""
        schema = self.parameters or self.inputSchema
        return {"name": name, "description": self.description, **({"parameters": schema} if schema else {})}


class ChatBody(BaseModel):
    """What `useChat` sends: all messages, or the last one alone. Unknown fields are those of the app."""

    model_config = ConfigDict(frozen=True)
    id: SentText = Field(min_length=1, max_length=2000)
    messages: list[UiMessage] = Field(default=[], max_length=MOST_MESSAGES)
    message: UiMessage | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messageId: SentText | None = None  # noqa: N815 - its name on the wire
    assistant: SentText | None = None
    tools: dict[SentText, BrowserTool] = Field(default={}, max_length=MOST_CLIENT_TOOLS)

    @property
    def all(self) -> list[UiMessage]:
        """The messages, the last of which is what this is about."""
        found = self.messages if self.message is None else [self.message]
        if not found:
            raise InvalidValue("A request has `messages`, or a `message`.")
        return found

    def definitions(self) -> list[dict[str, Any]]:
        """Return the tools that the browser runs as a turn takes them."""
        return [tool.definition(name) for name, tool in self.tools.items()]

    def beginning(self, chat: Conversation) -> int | None:
        """Return what a message continues before which the client has none: nothing if it sends all that it has, and
        the head, for which none stands, if it sends the last message alone."""
        return 0 if self.message is None and chat.head is not None else None


async def content_of(message: UiMessage, conversations: Conversations, scope: Scope) -> list[Any]:
    """Return what a person says as parts to send; its files are kept."""
    parts: list[Any] = []
    for part in message.parts or [{"type": "text", "text": message.content}]:
        kind = part.get("type")
        if kind == "text" and part.get("text"):
            parts.append({"type": "text", "text": part["text"]})
        elif kind == "file":
            parts.append(await kept_file(conversations, scope, part.get("url"), part.get("filename")))
        elif isinstance(kind, str) and kind.startswith("data-"):
            parts.append({"type": "data", "data": {"name": kind.removeprefix("data-"), "data": part.get("data")}})
    if not parts:
        raise InvalidValue("A message needs text, files or data.")
    return parts
