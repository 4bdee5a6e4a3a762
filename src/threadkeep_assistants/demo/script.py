"""Scripts for the demo model: ordered rules, each of which looks at a scene and gives a reply or passes.

An assistant that works without a language model has such a script. Rules are made with `asked`, `calls` and `after`, or
are plain functions; the first reply whose tools are offered is used. What the demo model says without a script is in
`general_script`, how it streams is in `demo`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.llm.base import Request
from threadkeep.text.notes import said_earlier, split_notes

MAX_LENGTH = 4_000
"""Characters of a message that rules look at."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a reply wants to have run."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the demo model does next: speak, call tools, or both.

    A plain reply is read by a program (a rewritten query, say), so nothing is added to it. `ending` is the provider's
    word for why it ends early, if it does.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    is_plain: bool = False
    ending: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a tool gave back, and for which arguments."""

    tool: str
    args: dict[str, Any]
    content: str
    error: str | None

    @cached_property
    def value(self) -> Any:
        """The result as JSON, or as it is where it is no JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return self.content


@dataclass(frozen=True)
class Scene:
    """A request as a rule sees it: what people and tools said, without the notes that Threadkeep added."""

    request: Request

    @cached_property
    def question(self) -> str:
        """What the user said last; only the beginning of a very long text, because rules search it by patterns."""
        return _without_notes(self.request.messages[self._last].content)[:MAX_LENGTH] if self._last >= 0 else ""

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What Threadkeep added to the question: passages that were found, recalled messages."""
        text = self.request.messages[self._last].content if self._last >= 0 else ""
        return tuple(split_notes(text)[1])

    @cached_property
    def said(self) -> tuple[str, ...]:
        """What the user said before the question and is in the context or was recalled, oldest first."""
        shown = [_without_notes(message.content) for message in self._before if message.role is Role.USER]
        return tuple(text[:MAX_LENGTH] for text in [*said_earlier(self.notes, Role.USER), *shown] if text)

    @cached_property
    def is_first(self) -> bool:
        """Whether nothing was answered before the question."""
        return not any(message.role is Role.ASSISTANT and message.content for message in self._before)

    @cached_property
    def tools(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.request.tools)

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """What the newest calls since the question gave back; empty before the first call."""
        newest: list[Result] = []
        for message in reversed(self.request.messages[self._last + 1 :]):
            if message.tool_result is not None:
                newest.append(self._result(message))
            elif message.role is Role.ASSISTANT:
                break
        return tuple(reversed(newest))

    def found(self, tool: str) -> Any:
        """Return what a tool gave back most recently, in this turn or an earlier one; None if it never did."""
        for message in reversed(self.request.messages):
            if message.tool_result is not None and not message.tool_result.error:
                result = self._result(message)
                if result.tool == tool:
                    return result.value
        return None

    @cached_property
    def _last(self) -> int:
        messages = enumerate(self.request.messages)
        return max(
            (i for i, message in messages if message.role is Role.USER and _without_notes(message.content)), default=-1
        )

    @property
    def _before(self) -> tuple[Message, ...]:
        return self.request.messages[: max(self._last, 0)]

    @cached_property
    def _calls(self) -> dict[str, ToolCall]:
        return {call.id: call for message in self.request.messages for call in message.tool_calls}

    def _result(self, message: Message) -> Result:
        assert message.tool_result is not None  # noqa: S101 - for the type checker
        call = self._calls.get(message.tool_result.tool_call_id)
        return Result(
            tool=call.name if call else "",
            args=call.args if call else {},
            content=_without_notes(message.content),
            error=message.tool_result.error,
        )


def _without_notes(text: str) -> str:
    return split_notes(text)[0].strip()


Rule = Callable[[Scene], Reply | None]
Spoken = Reply | str | None
"""What the functions of a script return: a reply, the text of one, or None to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Rules in order of preference, and examples of what they answer, shown when a question fits none of them."""

    rules: tuple[Rule, ...]
    examples: tuple[str, ...] = ()

    def reply(self, scene: Scene) -> Reply | None:
        """Return the first reply that calls only offered tools."""
        for rule in self.rules:
            reply = rule(scene)
            if reply is not None and all(call.name in scene.tools for call in reply.calls):
                return reply
        return None


def asked(pattern: str, answer: str | Callable[[re.Match[str], Scene], Spoken]) -> Rule:
    """Answer a question that matches. A text may use the pattern's named groups: "Hello {name}."."""
    compiled = re.compile(pattern, re.IGNORECASE)

    def rule(scene: Scene) -> Reply | None:
        match = None if scene.results else compiled.search(scene.question)
        if match is None:
            return None
        return spoken(answer.format_map(match.groupdict()) if isinstance(answer, str) else answer(match, scene))

    return rule


def calls(pattern: str, tool: str, args: Callable[[re.Match[str]], dict[str, Any]] | None = None) -> Rule:
    """Call a tool for a question that matches; the named groups that took part are its arguments."""

    def named(match: re.Match[str]) -> dict[str, Any]:
        return {name: text for name, text in match.groupdict().items() if text is not None}

    return asked(pattern, lambda match, _: Reply(calls=(Call(tool, (args or named)(match)),)))


def after(tool: str, answer: Callable[[Any, Scene], Spoken]) -> Rule:
    """Go on after a tool gave back something; `answer` gets it as JSON. A call that failed is not for this rule."""

    def rule(scene: Scene) -> Reply | None:
        values = [result.value for result in scene.results if result.tool == tool and not result.error]
        return spoken(answer(values[-1], scene)) if values else None

    return rule


def spoken(answer: Spoken) -> Reply | None:
    """Return what a script's function returned as a reply."""
    return Reply(text=answer) if isinstance(answer, str) else answer
