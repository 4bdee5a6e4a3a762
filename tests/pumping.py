"""Long input of many kinds, and every regular expression of the source: for tests that time grows linearly with length.

A pattern is pumped with general kinds of text and with texts made from its own parts: what stands before a repetition,
then what is repeated, many times, then something that does not fit.
"""

import ast
import gc
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from re import _constants, _parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

from threadkeep.errors import PackageMissing

METHODS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})
TAILS = ("!", "y", "!y")
KINDS = {
    "digits": "1",
    "spaces": " ",
    "newlines": "\n",
    "tabs and spaces": "\t ",
    "empty lines": "\n \n",
    "quotes": "'",
    "double quotes": '"',
    "open brackets": "(",
    "closed brackets": "([{}])",
    "links": "[a](b ",
    "commas": "1,",
    "dots": "1.1.",
    "dashes": "- ",
    "minus signs": "-1-",
    "letters": "a",
    "words": "Ab cd ",
    "word and sign": "a-b'c.",
    "pipes": "| a |",
    "backticks": "`",
    "stars": "**a*",
    "hashes": "# ",
    "sums": "1 + (2 * ",
    "money": "$1,000 ",
    "addresses": "https://a.b/",
    "chinese": "你好，",
    "emoji": "👩‍👧",
    "names": "I'm A ",
    "places": "in a ",
    "questions": "what is the first one of the 3? and ",
}


@dataclass(frozen=True)
class Found:
    """A pattern of the source, where it stands and how it is called."""

    where: str
    pattern: re.Pattern[str]
    methods: tuple[str, ...]


def modules(package: str) -> list[str]:
    """Return the names of all modules in a package, and its own, but for those that need a framework: these have
    environments of their own."""
    walked = walk_packages(import_module(package).__path__, f"{package}.", onerror=lambda name: None)
    found = [package, *(found.name for found in walked)]
    return [name for name in found if _is_here(name)]


def _is_here(name: str) -> bool:
    try:
        import_module(name)
    except PackageMissing:
        return False
    return True


def patterns(package: str) -> Iterator[Found]:
    """Yield every pattern that is compiled when a package is imported, and every literal in its calls of `re`."""
    for name in modules(package):
        module = import_module(name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        tree = ast.parse(source)
        used = _used(tree)
        for at, pattern in _inside(vars(module)):
            yield Found(f"{name}:{at}", pattern, tuple(sorted(used.get(at.partition(".")[0], {"search"}))))
        for line, method, text, flags in _literals(tree):
            yield Found(f"{name}:{line}", re.compile(text, flags), (method,))


def computed(package: str) -> set[str]:
    """Return the functions that hand something else than a literal to `re`: what they match with is not found here."""
    found = set()
    for name in modules(package):
        tree = ast.parse(Path(str(import_module(name).__file__)).read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                calls: list[Any] = [node for node in ast.walk(function) if _is_of_re(node)]
                if any(not isinstance(call.args[0], ast.Constant) for call in calls):
                    found.add(f"{name}:{function.name}")
    return found


def _inside(names: dict[str, Any]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the patterns of a module's variables, also those inside of tables and of small objects."""
    seen: set[int] = set()

    def walk(name: str, value: Any, depth: int) -> Iterator[tuple[str, re.Pattern[str]]]:
        if isinstance(value, re.Pattern):
            if isinstance(value.pattern, str):
                yield name, value
        elif depth and id(value) not in seen:
            seen.add(id(value))
            for key, child in _children(value):
                yield from walk(f"{name}.{key}", child, depth - 1)

    for name, value in list(names.items()):
        yield from walk(name, value, 5)


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from list(value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from enumerate(value)
    elif callable(value) and getattr(value, "__closure__", None):
        yield from ((index, cell.cell_contents) for index, cell in enumerate(value.__closure__) if _is_full(cell))
    elif hasattr(type(value), "__dataclass_fields__"):
        yield from ((name, getattr(value, name, None)) for name in type(value).__dataclass_fields__)


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _used(tree: ast.AST) -> dict[str, set[str]]:
    """Return by which methods each variable of a module is called."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            for name in (inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)):
                used.setdefault(name, set()).add(node.attr)
    return used


def _is_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in METHODS | {"compile"}
    )


def _literals(tree: ast.AST) -> Iterator[tuple[int, str, str, int]]:
    for node in ast.walk(tree):
        if _is_of_re(node) and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
            call: Any = node
            if call.func.attr in METHODS:
                named = {inner.attr for inner in ast.walk(call) if isinstance(inner, ast.Attribute)}
                flags = sum(
                    int(getattr(re, name)) for name in named if isinstance(getattr(re, name, None), re.RegexFlag)
                )
                yield call.lineno, call.func.attr, call.args[0].value, flags


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield beginnings and what to repeat behind them: general kinds, and those of the pattern's own repetitions."""
    yield from (("", kind) for kind in KINDS.values())
    for before, body in _repetitions(_parser.parse(pattern.pattern, pattern.flags), ""):
        if body:
            yield from {(before, body), ("", before + body), ("", f"{before}{body} "), ("", body)}


_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


def _repetitions(parts: Any, before: str) -> Iterator[tuple[str, str]]:
    for operator, about in parts:
        for inside in _inner(operator, about):
            yield from _repetitions(inside, before)
        if operator in _REPEATS and about[1] > 8:
            for variant in (0, 1):
                yield before, _sample([about[2]], variant)
        before += _sample([[(operator, about)]], 0)


def _inner(operator: Any, about: Any) -> Sequence[Any]:
    if operator in _REPEATS:
        return [about[2]]
    if operator is _constants.BRANCH:
        return list(about[1])
    if operator is _constants.SUBPATTERN:
        return [about[3]]
    if operator is _constants.ATOMIC_GROUP:
        return [about]
    if operator in (_constants.ASSERT, _constants.ASSERT_NOT):
        return [about[1]]
    return []


def _sample(trees: Sequence[Any], variant: int) -> str:
    """Return a text that the parts match, roughly: `variant` chooses among alternatives."""
    text = ""
    for operator, about in (part for tree in trees for part in tree):
        match operator:
            case _constants.LITERAL:
                text += chr(about)
            case _constants.NOT_LITERAL | _constants.ANY:
                text += "a" if about != ord("a") else "b"
            case _constants.IN:
                text += _sign(about, variant)
            case _ if operator in _REPEATS:
                text += _sample([about[2]], variant) * max(1, about[0])
            case _constants.BRANCH:
                text += _sample([about[1][min(variant, len(about[1]) - 1)]], variant)
            case _ if operator in (_constants.SUBPATTERN, _constants.ATOMIC_GROUP):
                text += _sample(_inner(operator, about), variant)
            case _:
                pass
    return text


_CATEGORIES = {
    _constants.CATEGORY_DIGIT: "1",
    _constants.CATEGORY_SPACE: " ",
    _constants.CATEGORY_WORD: "a",
    _constants.CATEGORY_NOT_DIGIT: "a",
    _constants.CATEGORY_NOT_SPACE: "a",
    _constants.CATEGORY_NOT_WORD: " ",
}


def _sign(choices: Any, variant: int) -> str:
    if choices[0][0] is _constants.NEGATE:
        excluded = _fitting(choices[1:])
        return next((sign for sign in ("a b1.-"[variant:] + "x") if sign not in excluded), "x")
    signs = _fitting(choices)
    return signs[min(variant, len(signs) - 1)]


def _fitting(choices: Any) -> str:
    signs = ""
    for kind, about in choices:
        match kind:
            case _constants.LITERAL:
                signs += chr(about)
            case _constants.RANGE:
                signs += chr(about[0]) + chr(about[1])
            case _constants.CATEGORY:
                signs += _CATEGORIES.get(about, "a")
            case _:
                pass
    return signs or "a"


class TooSlow(BaseException):
    """The limit was reached. No `except Exception` may swallow it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Interrupt what takes more processor time: matching, too, looks for signals.

    No garbage is collected meanwhile: that time is of the whole process, and the interrupt would end in its callbacks.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    gc.disable()
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


def seconds_for(work: Callable[[], object], limit: float = 0.2) -> float:
    """Return how much processor time it takes; infinite if it is more than the limit."""
    started = time.thread_time()
    try:
        with limited(limit):
            work()
    except TooSlow:
        return float("inf")
    return time.thread_time() - started
