"""What clients of AG-UI send: a run with the whole transcript, of which only what is needed is read."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Raw
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.requests import SentText
from threadkeep_protocols.files import OUR_FILES, kept_file
from threadkeep_protocols.said import Said, text_in

MOST_MESSAGES = 10_000
MOST_PARTS = 1000
RUN = "ag-ui"
"""What the part is `of` that keeps, beside a question, the id of the run that brought it."""
CONTEXT = "context"
"""The name of the data that tell a model what the app said of the run."""
_MEDIA = ("image", "audio", "video", "document")


class AgMessage(Said):
    """A message as a client has it."""

    role: Literal["developer", "system", "assistant", "user", "tool", "activity", "reasoning"]
    content: SentText | list[dict[str, Any]] | dict[str, Any] | None = None
    toolCallId: SentText | None = None  # noqa: N815 - its name on the wire
    error: SentText | None = None

    @property
    def text(self) -> str:
        """All that it says."""
        return text_in(self.parts())

    def parts(self) -> list[dict[str, Any]]:
        """What it says, piece by piece."""
        if isinstance(self.content, list):
            return self.content[:MOST_PARTS]
        return [{"type": "text", "text": self.content}] if self.content else []

    def stored(self) -> Message | None:
        """Return what it says as a message of a history; none if it is of another kind, or says nothing."""
        if self.role not in ("user", "assistant") or not self.text:
            return None
        message = Message(role=Role(self.role), content=self.text)
        return message if self.own_id is None else message.model_copy(update={"id": self.own_id})


class ToolOfClient(BaseModel):
    """A tool that the client runs."""

    model_config = ConfigDict(frozen=True)
    name: SentText
    description: SentText = ""
    parameters: dict[str, Any] | None = None

    def definition(self) -> dict[str, Any]:
        """Return it as a turn takes it."""
        told: dict[str, Any] = {"name": self.name, "description": self.description}
        return told if self.parameters is None else {**told, "parameters": self.parameters}


class Resumed(BaseModel):
    """What a person answered to an interrupt."""

    model_config = ConfigDict(frozen=True)
    interruptId: SentText = Field(max_length=2000)  # noqa: N815 - its name on the wire
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class AppContext(BaseModel):
    """Something that the app says of a run beside the conversation."""

    model_config = ConfigDict(frozen=True)
    description: SentText = ""
    value: SentText = ""


class RunInput(BaseModel):
    """What a client sends to begin a run. Unknown fields are left alone."""

    model_config = ConfigDict(frozen=True)
    threadId: SentText = Field(min_length=1, max_length=2000)  # noqa: N815 - names on the wire
    runId: SentText = Field(min_length=1, max_length=2000)  # noqa: N815
    protocolVersion: SentText | None = None  # noqa: N815
    messages: list[AgMessage] = Field(default=[], max_length=MOST_MESSAGES)
    tools: list[ToolOfClient] = []
    context: list[AppContext] = Field(default=[], max_length=MOST_PARTS)
    resume: list[Resumed] = Field(default=[], max_length=MOST_PARTS)

    @property
    def is_old(self) -> bool:
        """Whether the client is older than 1.0: it fails on outcomes that it does not know."""
        return self.protocolVersion is None

    @property
    def said(self) -> list[AgMessage]:
        """The messages of the transcript that stand in the log: the others tell of those or are the client's own."""
        return [message for message in self.messages if message.role in ("user", "assistant")]

    @property
    def question(self) -> AgMessage | None:
        """The message of a person with which the transcript ends."""
        last = next((message for message in reversed(self.messages) if message.role != "activity"), None)
        return last if last is not None and last.role == "user" else None


async def content_of(message: AgMessage, conversations: Conversations, scope: Scope) -> list[Any]:
    """Return what a person says as parts to send; its files are kept."""
    parts: list[Any] = []
    for part in message.parts():
        kind = part.get("type")
        if kind == "text" and part.get("text"):
            parts.append({"type": "text", "text": part["text"]})
        elif kind in _MEDIA or kind == "binary":
            parts.append(await kept_file(conversations, scope, _address(part), _name(part)))
    if not parts:
        raise InvalidValue("A message needs text or files.")
    return parts


def _address(part: dict[str, Any]) -> object:
    """Return the address of a file; `binary` is how older clients write it."""
    source = part.get("source", part)
    if not isinstance(source, dict):
        return None
    data = source.get("value") if source.get("type") == "data" else source.get("data")
    if isinstance(data, str):
        return f"data:{source.get('mimeType') or 'application/octet-stream'};base64,{data}"
    if source.get("type") == "file":
        return f"{OUR_FILES}{source.get('value')}"
    return source.get("value") or source.get("url")


def _name(part: dict[str, Any]) -> object:
    metadata = part.get("metadata")
    return part.get("filename") or (metadata.get("filename") if isinstance(metadata, dict) else None)


def run_part(run: str) -> Raw:
    """Return what is kept beside a question, to know its run again."""
    return Raw(of=RUN, items=[run])


def run_of(message: Message) -> str | None:
    """Return the id of the run that brought a question."""
    found = next((part for part in message.parts if isinstance(part, Raw) and part.of == RUN and part.items), None)
    return None if found is None else str(found.items[0])
