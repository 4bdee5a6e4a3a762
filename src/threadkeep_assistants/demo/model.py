"""The demo model: scripted, deterministic, without weights or a network. It is what runs when nothing is configured.

It says that it is scripted, streams at a readable pace, and plays tool calls. It answers from the script of the
assistant, or else from `general_script`.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from threadkeep.background import in_thread
from threadkeep.conversation.message import ToolCall, Usage
from threadkeep.errors import ModelError
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text, Used
from threadkeep.llm.title import is_title_request, title_of
from threadkeep_assistants.demo.general_script import GENERAL, NOTICE, off_script
from threadkeep_assistants.demo.script import Call, Reply, Scene, Script

PACE = 0.03
"""Seconds for each word: quick, but visibly streamed."""
LIMIT = 60.0
"""Seconds that a script may take to find its answer, unless the settings say otherwise."""

_WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptTimeout(ModelError, code="script_timeout"):
    """The script of the demo model did not come to an answer in time."""


class DemoModel(Model):
    """Answers from a script. With a pace of 0 it never waits."""

    name = "demo"
    is_scripted = True

    def __init__(
        self,
        script: Script | None = None,
        pace: float = PACE,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        limit: float = LIMIT,
    ) -> None:
        self._script = script or Script(rules=())
        self._pace = pace
        self._sleep = sleep
        self._limit = limit

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        reply = await self._reply_in_time(request)
        for word in _WORD.findall(reply.text):
            yield Text(word)
            if self._pace:
                await self._sleep(self._pace)
        for part in _call_parts(reply, request):
            yield part
        yield Used(_estimated_usage(reply, request))
        yield Stopped(reply.ending or ("tool_calls" if reply.calls else "stop"))

    async def _reply_in_time(self, request: Request) -> Reply:
        """Find the reply in a thread: rules may search for long, and must not block other turns."""
        try:
            async with asyncio.timeout(self._limit):
                return await in_thread(lambda: self._reply(request))
        except TimeoutError:
            raise ScriptTimeout(f"The script found no answer within {self._limit:g} seconds.") from None

    def _reply(self, request: Request) -> Reply:
        """Find the reply. Rules are an assistant's code: any error in one becomes a ModelError."""
        if is_title_request(request):
            return Reply(text=title_of(request))
        scene = Scene(request)
        try:
            reply = self._script.reply(scene) or GENERAL.reply(scene)
        except ModelError:
            raise  # a rule that plays a failing provider
        except Exception as error:
            raise ModelError(f"A rule of the demo's script failed: {type(error).__name__}: {error}") from error
        if reply is None:
            return off_script(scene, (*self._script.examples, *GENERAL.examples))
        return _with_notice(reply) if scene.is_first and reply.text and not reply.is_plain else reply


def load(script: Script | None, pace: float | None, limit: float | None) -> DemoModel:
    """Return the model, as the entry point in `threadkeep.models` promises."""
    return DemoModel(script, PACE if pace is None else pace, limit=LIMIT if limit is None else limit)


def _with_notice(reply: Reply) -> Reply:
    """Return the first answer of a conversation with the notice that it is scripted, unless it says so itself."""
    text = reply.text if NOTICE in reply.text else f"{reply.text}\n\n{NOTICE}"
    return replace(reply, text=text)


def _call_parts(reply: Reply, request: Request) -> Iterator[CallPart]:
    """Yield the tool calls as a provider would: first the name, then the arguments."""
    for index, call in enumerate(reply.calls):
        yield CallPart(index=index, id=_call_id(request, index), name=call.name)
        yield CallPart(index=index, args=json.dumps(call.args, ensure_ascii=False))


def _call_id(request: Request, index: int) -> str:
    """Return an id that is the same for the same request, and different at any other place of a conversation."""
    place = hashlib.sha256(str(index).encode())
    for message in request.messages:
        place.update("\0".join([message.id, message.content, *(call.id for call in message.tool_calls)]).encode())
    return f"call_{place.hexdigest()[:16]}"


def _estimated_usage(reply: Reply, request: Request) -> Usage:
    """Count tokens by the estimate of four characters each."""
    read = sum(_characters(message.content, message.tool_calls) for message in request.messages)
    written = _characters(reply.text, reply.calls)
    return Usage(input_tokens=(read + 3) // 4, output_tokens=(written + 3) // 4)


def _characters(text: str, calls: Sequence[Call | ToolCall]) -> int:
    return len(text) + sum(len(call.name) + len(str(call.args)) for call in calls)
