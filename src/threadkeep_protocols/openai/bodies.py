"""Request bodies of OpenAI's API. Fields that change nothing here are not looked at; those that would change an answer,
and cannot, are refused."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from threadkeep.conversation.value import check_json, check_text
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import ModelOptions
from threadkeep.tools.client import MOST_CLIENT_TOOLS
from threadkeep_protocols.openai.items import SERVER
from threadkeep_protocols.openai.taking import MOST_ITEMS

MOST_ADDED = 20
"""Items that are added to a conversation at a time."""


def _text(given: object) -> object:
    return check_text(given) if isinstance(given, str) else given


Sent = Annotated[str, BeforeValidator(_text)]
Short = Annotated[str, Field(max_length=512), BeforeValidator(_text)]
Metadata = Annotated[
    dict[Annotated[str, Field(max_length=64), BeforeValidator(_text)], Short] | None, Field(max_length=16)
]
Given = Annotated[Any, BeforeValidator(check_json)]


class OpenAiBody(BaseModel):
    """What all have in common."""

    model_config = ConfigDict(frozen=True)


class Reference(OpenAiBody):
    """A conversation by its id."""

    id: Short


class ToolUse(OpenAiBody):
    """The tools that a client runs, and how an answer is to be."""

    model: Short | None = None
    stream: bool | None = None
    tools: Annotated[list[dict[str, Any]] | None, Field(max_length=MOST_CLIENT_TOOLS), BeforeValidator(check_json)] = (
        None
    )
    tool_choice: Given = None
    temperature: float | None = None
    top_p: float | None = None

    def client_tools(self) -> list[dict[str, Any]]:
        """Return the definitions of the tools that the client runs."""
        if self.tool_choice not in (None, "auto", "none"):
            raise InvalidValue("A model chooses among tools by itself here: `tool_choice` is `auto` or `none`.")
        found = [_definition(tool) for tool in self.tools or () if not _is_ours(tool)]
        return [] if self.tool_choice == "none" else found

    def read_options(self, **more: Any) -> dict[str, Any]:
        """Return the options of the model that are given."""
        given = {"temperature": self.temperature, "top_p": self.top_p, **more}
        return ModelOptions.read({name: value for name, value in given.items() if value is not None}).given


class ResponseBody(ToolUse):
    """A request for a response."""

    input: Given = None
    instructions: Sent | None = None
    previous_response_id: Short | None = None
    conversation: Short | Reference | None = None
    background: bool | None = None
    store: bool | None = None
    metadata: Metadata = None
    max_output_tokens: int | None = None
    reasoning: dict[str, Any] | None = None
    text: Given = None
    prompt: Given = None

    @property
    def conversation_id(self) -> str | None:
        """The conversation that is named."""
        return self.conversation.id if isinstance(self.conversation, Reference) else self.conversation

    def options(self) -> dict[str, Any]:
        """Return the options of the model that are given."""
        return self.read_options(
            max_tokens=self.max_output_tokens, reasoning_effort=(self.reasoning or {}).get("effort")
        )

    def check(self) -> None:
        """Raise InvalidValue for what cannot be done."""
        if self.previous_response_id is not None and self.conversation_id is not None:
            raise InvalidValue("A response continues either a `conversation` or a `previous_response_id`.")
        if self.store is False and (self.background or self.previous_response_id or self.conversation_id):
            raise InvalidValue("What is not stored is answered at once, and continues nothing.")
        if self.prompt is not None:
            raise InvalidValue("There are no prompts here: an assistant has instructions.")
        _check_format(self.text.get("format") if isinstance(self.text, dict) else None)


class CompletionBody(ToolUse):
    """A request for a chat completion."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_ITEMS), BeforeValidator(check_json)]
    n: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    reasoning_effort: str | None = None
    seed: int | None = None
    stop: Given = None
    stream_options: dict[str, Any] | None = None
    response_format: Given = None

    def options(self) -> dict[str, Any]:
        """Return the options of the model that are given."""
        most = self.max_completion_tokens or self.max_tokens
        return self.read_options(
            max_tokens=most, reasoning_effort=self.reasoning_effort, seed=self.seed, stop=self.stop
        )

    def check(self) -> None:
        """Raise InvalidValue for what cannot be done."""
        if self.n not in (None, 1):
            raise InvalidValue("There is one answer to a question: `n` is 1.")
        _check_format(self.response_format)


class NewConversationBody(OpenAiBody):
    """A new conversation; everything is optional."""

    items: Annotated[list[dict[str, Any]] | None, Field(max_length=MOST_ADDED), BeforeValidator(check_json)] = None
    metadata: Metadata = None


class ChangedConversationBody(OpenAiBody):
    """What a conversation's metadata are to be."""

    metadata: Metadata = None


class AddedItemsBody(OpenAiBody):
    """Items to add to a conversation."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MOST_ADDED), BeforeValidator(check_json)]


def _check_format(wanted: object) -> None:
    kind = wanted.get("type") if isinstance(wanted, dict) else wanted
    if kind not in (None, "text"):
        raise InvalidValue("Answers are text here; no other format can be asked for.")


def _is_ours(tool: dict[str, Any]) -> bool:
    """Whether a client names the tools that run here, which are there anyway."""
    return tool.get("type") == "mcp" and tool.get("server_label") == SERVER


def _definition(tool: dict[str, Any]) -> dict[str, Any]:
    if tool.get("type") != "function":
        raise InvalidValue(f"Tools of the type {str(tool.get('type'))[:64]} are not known here; `function` is.")
    named = tool["function"] if isinstance(tool.get("function"), dict) else tool
    fields = {name: named.get(name) for name in ("name", "description", "parameters")}
    return {name: value for name, value in fields.items() if value is not None}


def only_strings(metadata: dict[str, Any], hidden: Sequence[str]) -> dict[str, str]:
    """Return the metadata of a conversation that this protocol can show."""
    return {name: value for name, value in metadata.items() if isinstance(value, str) and name not in hidden}
