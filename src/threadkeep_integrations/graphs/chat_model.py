"""A model of Threadkeep's as a chat model of LangChain's, for the nodes of a graph. Also the demo works there."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import copy_context
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict

from threadkeep.conversation.message import Usage
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import (
    DEFAULTS,
    CallPart,
    Delta,
    Model,
    ModelOptions,
    Reasoned,
    Request,
    Stopped,
    Text,
    ToolSpec,
    Used,
)
from threadkeep_integrations.langchain.messages import from_langchain

BROKE_OFF = "The model broke off."


class KeptChatModel(BaseChatModel):
    """A chat model whose answers come from a model of Threadkeep's."""

    model: Model
    options: ModelOptions = DEFAULTS
    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    def _llm_type(self) -> str:
        return "threadkeep"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **options: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools, in any form that LangChain knows. `tool_choice` is ignored."""
        return self.bind(tools=[_tool_spec(convert_to_openai_tool(tool)["function"]) for tool in tools], **options)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        """Answer a synchronous node, from an event loop of its own in a thread."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, agenerate_from_stream(self._astream(messages, stop, **options))).result()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        tools: Sequence[ToolSpec] = (),
        **options: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        own = {name: value for name, value in options.items() if name in ModelOptions.model_fields}
        asked = ModelOptions.read({**own, "stop": stop or ()}).over(self.options)
        request, ended = Request(messages=from_langchain(messages), tools=tuple(tools), options=asked), False
        async with aclosing(_outside_of_run(self.model.stream(request))) as deltas:
            async for delta in deltas:
                ended = ended or isinstance(delta, Stopped)
                yield ChatGenerationChunk(message=_chunk_of_delta(delta))
        if not ended:
            raise ModelUnavailable(BROKE_OFF)


async def _outside_of_run(deltas: AsyncIterator[Delta]) -> AsyncGenerator[Delta, None]:
    """Yield deltas that are made outside of the graph's run.

    A model of ours may use one of LangChain's: LangGraph would listen to both, and everything would be said twice.
    """
    context = copy_context()
    context.run(var_child_runnable_config.set, None)

    async def following() -> Delta | None:
        return await anext(deltas, None)

    async with aclosing(deltas):  # type: ignore[type-var]
        while (delta := await asyncio.create_task(following(), context=context)) is not None:
            yield delta


def _tool_spec(function: dict[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=function["name"],
        description=function.get("description", ""),
        parameters=function.get("parameters") or {"type": "object", "properties": {}},
    )


def _chunk_of_delta(delta: Delta) -> AIMessageChunk:
    match delta:
        case Text():
            return AIMessageChunk(content=delta.text)
        case Reasoned():
            return AIMessageChunk(content="", additional_kwargs={"reasoning_content": delta.text})
        case CallPart():
            part = tool_call_chunk(name=delta.name, args=delta.args, id=delta.id, index=delta.index)
            return AIMessageChunk(content="", tool_call_chunks=[part])
        case Used():
            return AIMessageChunk(content="", usage_metadata=_usage_metadata(delta.usage))
        case Stopped():
            return AIMessageChunk(content="", response_metadata={"finish_reason": delta.reason})


def _usage_metadata(usage: Usage) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.input_tokens + usage.output_tokens,
    )


def call_message(name: str, args: dict[str, Any], id: str) -> AIMessage:
    """Return the message that a node returns to have a tool run. The graph should then end; it is run again with the
    result in its `messages`."""
    return AIMessage(content="", tool_calls=[{"name": name, "args": json.loads(json.dumps(args)), "id": id}])
