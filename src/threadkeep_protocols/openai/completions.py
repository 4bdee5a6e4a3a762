"""Chat Completions: the history comes along, and nothing is stored."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import BETWEEN_TEXTS
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Failure
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.identity.guards import Who
from threadkeep.server.middleware.tracking import unless_gone
from threadkeep.server.problems import problem_of_turn
from threadkeep.settings import Settings
from threadkeep_protocols.dialects.form import body_reader
from threadkeep_protocols.openai.aside import Aside
from threadkeep_protocols.openai.bodies import CompletionBody
from threadkeep_protocols.openai.items import Json
from threadkeep_protocols.openai.shapes import error_body
from threadkeep_protocols.openai.taking import InputReader
from threadkeep_protocols.wire import Told, data_stream, stream_room

_ENDS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def add_completions(router: APIRouter, conversations: Conversations, settings: Settings) -> None:
    """Add the route of chat completions."""
    aside = Aside(conversations, settings)

    @router.post("/chat/completions", dependencies=[Depends(stream_room)])
    async def complete(
        http: HttpRequest, who: Who, body: Annotated[CompletionBody, Depends(body_reader(CompletionBody))]
    ) -> Response:
        body.check()
        messages = await said_in(body.messages, conversations, who.scope)
        stretch, source = await aside.answer(who.scope, body, messages, body.options())
        chunks = Completion(body, stretch.events(source))
        if body.stream:
            return data_stream(chunks.streamed(), lambda error: [error_body(500, error.code, str(error))])
        return await unless_gone(http.receive, chunks.whole())


async def said_in(given: list[dict[str, Any]], conversations: Conversations, scope: Scope) -> list[Message]:
    """Return the messages of a request, which are input items by other names."""
    items: list[dict[str, Any]] = []
    for message in given:
        if message.get("role") == "tool":
            result = {"call_id": message.get("tool_call_id"), "output": message.get("content")}
            items.append({"type": "function_call_output", **result})
            continue
        if message.get("content"):
            items.append({"type": "message", "role": message.get("role"), "content": message["content"]})
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            about = call.get("function") if isinstance(call, dict) else None
            fields = about if isinstance(about, dict) else {}
            named = {"name": fields.get("name"), "arguments": fields.get("arguments")}
            items.append({"type": "function_call", "call_id": call.get("id") if fields else None, **named})
    taken = await InputReader(conversations, scope).read(items)
    if taken.decisions:
        raise InvalidValue("A message of the role tool answers a call of a message before it.")
    return taken.messages


class Completion:
    """Writes a response as a chat completion."""

    def __init__(self, body: CompletionBody, events: AsyncGenerator[Json, None]) -> None:
        self._body = body
        self._events = events
        self._head: Json = {"id": f"chatcmpl-{new_id()}", "created": int(time.time()), "model": body.model or ""}
        self._has_text = False
        self._calls: list[Json] = []
        self._last: Json = {}

    async def streamed(self) -> AsyncIterator[Told]:
        """Yield it piece by piece."""
        yield self._chunk({"role": "assistant", "content": ""})
        async for delta in self._deltas():
            yield self._chunk(delta)
        if (error := self._last.get("error")) is not None:
            yield error_body(502, error["code"], error["message"])
        else:
            yield self._chunk({}, self._reason())
            if (self._body.stream_options or {}).get("include_usage"):
                yield {**self._chunk({}), "choices": [], "usage": self._usage()}
        yield "[DONE]"

    async def whole(self) -> Response:
        """Wait for its end and answer with all of it."""
        texts: dict[str, str] = {}
        async for delta in self._deltas():
            for name, text in delta.items():
                if isinstance(text, str):
                    texts[name] = texts.get(name, "") + text
        if (error := self._last.get("error")) is not None:
            failure = Failure(code=error["code"], detail=error["message"])
            status = problem_of_turn(failure).status_code
            return JSONResponse(error_body(status, failure.code, failure.detail), status)
        message: Json = {"role": "assistant", "content": None, "refusal": None, **texts}
        if self._calls:
            message["tool_calls"] = [{name: call[name] for name in call if name != "index"} for call in self._calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason()}
        answer = {**self._head, "object": "chat.completion", "choices": [choice], "usage": self._usage()}
        return JSONResponse(answer)

    async def _deltas(self) -> AsyncIterator[Json]:
        async with aclosing(self._events) as events:
            async for event in events:
                self._last = event.get("response", self._last)
                match event["type"]:
                    case "response.content_part.added" if self._has_text:
                        yield {"content": BETWEEN_TEXTS}
                    case "response.output_text.delta":
                        self._has_text = True
                        yield {"content": event["delta"]}
                    case "response.reasoning_summary_text.delta":
                        yield {"reasoning_content": event["delta"]}
                    case "response.output_item.done" if event["item"]["type"] == "function_call":
                        yield {"tool_calls": [self._call(event["item"])]}

    def _call(self, item: Json) -> Json:
        function = {"name": item["name"], "arguments": item["arguments"]}
        call = {"index": len(self._calls), "id": item["call_id"], "type": "function", "function": function}
        self._calls.append(call)
        return call

    def _chunk(self, delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}

    def _reason(self) -> str:
        if self._calls:
            return "tool_calls"
        return _ENDS.get((self._last.get("incomplete_details") or {}).get("reason", ""), "stop")

    def _usage(self) -> Json:
        usage = self._last.get("usage") or {}
        return {
            "prompt_tokens": usage.get("input_tokens", 0),
            "completion_tokens": usage.get("output_tokens", 0),
            "total_tokens": usage.get("total_tokens", 0),
            "prompt_tokens_details": usage.get("input_tokens_details", {"cached_tokens": 0}),
        }
