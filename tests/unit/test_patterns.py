"""Every regular expression of the source takes time that grows linearly with the text, whatever the text is.

`re` tries every way to match, so that a few signs can freeze a server for good. No linter finds that: this test is the
guard. What it finds is mended by possessive quantifiers, by a look behind that lets a run begin in one place
only, by a scanner, or by a bound on the text, which is then listed here.
"""

import re
from collections.abc import Callable, Sequence
from math import isinf
from typing import Any

import pytest

from tests.pumping import KINDS, TAILS, Found, attacks, computed, patterns, seconds_for
from threadkeep.context.tokens import tokens_in
from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request, ToolSpec
from threadkeep.text.excerpt import split
from threadkeep.text.query import Query
from threadkeep.text.search import rank
from threadkeep.text.title import title_from_words
from threadkeep.text.words import content_forms, content_words, query_forms, words
from threadkeep_assistants.demo.fitting_tool import fitting_call
from threadkeep_assistants.demo.general_script import GENERAL, facts_in
from threadkeep_assistants.demo.script import Scene
from threadkeep_providers.vendor_errors import length_refusal
from threadkeep_retrieval.model_rewriter import cleaned, flaw
from threadkeep_retrieval.ordinals import meant, places
from threadkeep_retrieval.routing.follow_up import follow_up

PACKAGES = (
    "threadkeep",
    "threadkeep_assistants",
    "threadkeep_client",
    "threadkeep_importers",
    "threadkeep_integrations",
    "threadkeep_protocols",
    "threadkeep_providers",
    "threadkeep_retrieval",
)
SIZE = 1_000
TIMES = 4
QUICK = 0.004
"""Seconds for the longer text that need no second look: what grows with the square takes more."""
MOST_GROWTH = 3 * TIMES
BOUNDED = {
    "threadkeep_providers.vendor_errors:_SECRET": 600,
}
"""Patterns that see no more than so many characters."""
COMPUTED = {
    "threadkeep.store.filesystem:set_aside_files",
    "threadkeep_assistants.demo.script:asked",
    "threadkeep.text.search:_pattern",
    "threadkeep.text.secrets:hiding",
    "threadkeep.transfer.files:with_images",
}
"""Functions that make a pattern: of a file's name, of a rule when it is declared, which is found where it is, of the
words of a search, which is pumped below, of secrets and of marks in an export, which are plain words."""
CALCULATOR = ToolSpec(
    name="calculate", description="Works out.", parameters={"properties": {"expression": {"type": "string"}}}
)
WEATHER = ToolSpec(
    name="weather",
    description="The weather.",
    parameters={"properties": {"city": {"type": "string"}}, "required": ["city"]},
)
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "tokens": tokens_in,
    "words": words,
    "query": lambda text: query_forms([[text]]),
    "search": lambda text: rank(Query("a 1 ab"), [text]),
    "content words": content_words,
    "content forms": content_forms,
    "follow-up": lambda text: follow_up(text, said(text)),
    "places": places,
    "lists": lambda text: meant("the second one", said(text)),
    "splitting": split,
    "rewrite": lambda text: flaw(cleaned(text), text[:300], [text]),
    "title": title_from_words,
    "facts": lambda text: facts_in([text]),
    "tool": lambda text: fitting_call(f"What is the weather {text}", [CALCULATOR, WEATHER]),
    "script": lambda text: GENERAL.reply(Scene(Request(messages=(asked(text), asked(text)), tools=(WEATHER,)))),
    "error": length_refusal,
}


def asked(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def said(text: str) -> Sequence[Message]:
    return [asked("Phones?"), Message(role=Role.ASSISTANT, content=text)]


def call(found: Found, method: str, text: str) -> Callable[[], object]:
    run: Any = getattr(found.pattern, method)
    return {"sub": lambda: run("", text), "subn": lambda: run("", text), "finditer": lambda: list(run(text))}.get(
        method, lambda: run(text)
    )


def is_slow(long: Callable[[], object], short: Callable[[], object] | None) -> bool:
    """Whether it takes long, whenever it is tried, and much longer than the short text if there is one."""
    slow = seconds_for(long)
    for _ in range(3):
        if slow <= QUICK:
            return False
        slow = min(slow, seconds_for(long))
    return short is None or isinf(slow) or slow > MOST_GROWTH * max(seconds_for(short) for _ in range(3))


def weakness(found: Found) -> str | None:
    """Return by what input a pattern becomes slow; None if by none."""
    bound = BOUNDED.get(found.where)
    for before, body in attacks(found.pattern):
        for tail in TAILS:
            short, long = (before + body * (size // len(body)) + tail for size in (SIZE, SIZE * TIMES))
            for method in found.methods:
                second = None if bound else call(found, method, short)
                if is_slow(call(found, method, long[-bound:] if bound else long), second):
                    return f"{found.where} {method}: {before[:40]!r} + {body[:40]!r} * n + {tail!r}"
    return None


@pytest.mark.parametrize("package", PACKAGES)
def test_no_pattern_takes_more_than_linear_time(package: str) -> None:
    known: dict[tuple[str, int, tuple[str, ...]], Found] = {}
    for found in patterns(package):
        known.setdefault((found.pattern.pattern, found.pattern.flags, found.methods), found)
    weak = [weak for found in known.values() if (weak := weakness(found))]
    assert not weak, "\n".join(weak)


def test_every_pattern_is_found() -> None:
    assert sum(len(list(patterns(package))) for package in PACKAGES) > 200
    assert set().union(*map(computed, PACKAGES)) == COMPUTED


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_reading_of_a_text_takes_more_than_linear_time(name: str) -> None:
    work = FUNCTIONS[name]
    for kind, body in KINDS.items():
        for tail in TAILS:
            short, long = (body * (size // len(body)) + tail for size in (4 * SIZE, 4 * SIZE * TIMES))
            assert not is_slow(lambda text=long: work(text), lambda text=short: work(text)), kind  # type: ignore[misc]


@pytest.mark.parametrize("pattern", [r"(?:\d+)+y", r"\s+$", r"(?:a|a)*x", r"[^.]+\.$", r"(\w+\s?)*!"])
def test_the_harness_finds_what_is_not_linear(pattern: str) -> None:
    assert weakness(Found("here", re.compile(pattern), ("search",)))
