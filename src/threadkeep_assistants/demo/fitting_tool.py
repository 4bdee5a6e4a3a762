"""Which of the tools offered plainly fits a question: for the demo model, which cannot think about it.

A tool fits if the question names it ("call echo with {...}"), if it computes what is asked or tells the time, or if the
words of its name and its only required argument are in the question. In doubt none fits.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from threadkeep.llm.base import ToolSpec
from threadkeep_assistants.demo.script import Call

_NAMED = re.compile(
    r"\b(?:call|use|run)\s+(?:the tool\s+)?`?(?P<name>\w[\w.-]*)`?(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_SUM = re.compile(
    r"(?:(?<!\()(?=\()|(?<![\d.])(?=[-\d]))\(*+-?\d[\d.]*+"
    r"(?:\s*+(?:\*\*|[-+*/%^×÷])\s*+\(*+-?\d[\d.]*+\)*+)+"  # noqa: RUF001 - signs people type
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TIME = re.compile(
    r"\bwhat(?:'?s| is)? (?:the )?(?:time|date|day)\b(?! (?:is|was|are|of|for|does|did|do|will)\b(?! it\b))"
    r"|\btime is it\b|\b(?:today's|current) (?:date|time)\b"
)
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_OBJECT = re.compile(r"(?:\b(?:in|for|of|at|about|on|named)\s+|(?<!\w)[\"'“])(?P<value>.+)", re.IGNORECASE | re.DOTALL)
_CODE = re.compile(r"\b(?=\w*\d)[A-Za-z][\w-]*\b")
_OPERATIONS = {
    "+": ("add", "sum", "plus"),
    "-": ("subtract", "minus"),
    "*": ("multiply", "times", "product"),
    "/": ("divide",),
}
_VERB = re.compile("get|fetch|show|list|find|search|lookup|look|read|tell|give|compute|calculate|query|current")


_ASKS = re.compile(r"\?|\b(?:what|which|who|when|where|how|show|list|get|tell|give|find)\b", re.IGNORECASE)


def fitting_call(question: str, tools: Sequence[ToolSpec]) -> Call | None:
    """Return the call that answers the question, or None."""
    if not tools:
        return None
    return (
        _call_by_name(question, tools)
        or _call_calculator(question, tools)
        or _call_clock(question, tools)
        or _call_by_words(question, tools)
    )


def _call_by_name(question: str, tools: Sequence[ToolSpec]) -> Call | None:
    """Return a call that the question asks for by name, with the arguments written as JSON."""
    match = _NAMED.search(question)
    tool = next((tool for tool in tools if match and tool.name == match["name"]), None)
    if match is None or tool is None:
        return None
    start, end = match["rest"].find("{"), match["rest"].rfind("}")
    try:
        args = json.loads(match["rest"][start : end + 1]) if 0 <= start < end else {}
    except (ValueError, RecursionError):
        args = {}
    return Call(tool.name, args)


def _call_calculator(question: str, tools: Sequence[ToolSpec]) -> Call | None:
    """Return a call for arithmetic: of a calculator that takes an expression, or of one operation on two numbers."""
    match = _SUM.search(question)
    # Dates, ranges and telephone numbers have such signs, too: without other words a sum needs to be asked for.
    if match is None or (re.fullmatch(r"[\d\s./-]+", match[0]) and not _ASKS.search(question)):
        return None
    if _DATE.fullmatch(match[0]):
        return None
    expression = match[0].replace("×", "*").replace("÷", "/").replace("^", "**")  # noqa: RUF001 - as above
    numbers = [json.loads(number) for number in _NUMBER.findall(expression)]
    for tool in tools:
        kinds = {name: schema.get("type") for name, schema in _properties(tool).items()}
        if list(kinds.values()) == ["string"] and _has_word(tool, "calc", "math", "arith", "eval", "compute"):
            return Call(tool.name, {next(iter(kinds)): expression})
        words = next((words for sign, words in _OPERATIONS.items() if sign in expression[1:]), ())
        if len(numbers) == len(kinds) == 2 and set(kinds.values()) <= {"number", "integer"} and _has_word(tool, *words):
            return Call(tool.name, dict(zip(kinds, numbers, strict=True)))
    return None


def _call_clock(question: str, tools: Sequence[ToolSpec]) -> Call | None:
    """Return a call of a clock that needs no argument."""
    if not _TIME.search(question.lower()):
        return None
    clocks = (tool for tool in tools if _has_word(tool, "time", "clock", "date", "now") and not _required(tool))
    return next((Call(tool.name) for tool in clocks), None)


def _call_by_words(question: str, tools: Sequence[ToolSpec]) -> Call | None:
    """Return a call of a tool whose name's words are all in the question, if its arguments can be read from it."""
    asked = set(re.findall(r"[^\W_]+", question.lower())) if _ASKS.search(question) else set()
    for tool in tools:
        name = re.findall(r"[^\W_]+", tool.name.rpartition("__")[2].lower())
        words = {word for word in name if not _VERB.fullmatch(word)}
        # "A good time" does not ask for the clock: `_call_clock` knows what does.
        is_named = words <= asked and not words <= {"time", "date", "clock"}
        args = _arguments_from(question, tool) if is_named else None
        if args is not None:
            return Call(tool.name, args)
    return None


def _arguments_from(question: str, tool: ToolSpec) -> dict[str, Any] | None:
    """Return the arguments for a tool with at most one required text, None if they are not in the question."""
    match _required(tool):
        case []:
            return {}
        case [name] if _properties(tool).get(name, {}).get("type") == "string":
            code = _CODE.search(question)
            value = code[0] if code else _object_of_question(question)
            return {name: value.strip(" .")} if value else None
        case _:
            return None


def _object_of_question(question: str) -> str | None:
    """Return what the last sentence of a question is about: "Oslo" of "weather in Oslo?", or what it quotes."""
    text = question.rstrip("?!. \t\r\n")
    text = text[:-1] if text.endswith(('"', "'", "”")) else text
    match = _OBJECT.search(text, max(0, *(text.rfind(sign) for sign in '?!"”')))
    return match["value"] if match else None


def _has_word(tool: ToolSpec, *words: str) -> bool:
    return any(word in tool.name.lower() for word in words)


def _properties(tool: ToolSpec) -> dict[str, Any]:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(tool: ToolSpec) -> list[str]:
    required = tool.parameters.get("required")
    return required if isinstance(required, list) else []
