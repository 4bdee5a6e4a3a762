"""What was shown so far, read from the context of a request and nothing else, so that it is the same after a restart.

Results of tools tell it best. Where they were cut off, the short text of blocks does ("Showed ranked list: A, B, C"),
or the words of an answer, which is all that a client without a memory here brings along.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.script import Call, Scene
from threadkeep_assistants.market.companies import Company, market
from threadkeep_assistants.market.names import companies_in

_SHOWN = re.compile(r'"shown":\[((?:"[A-Z]+",?)*)')
_TICKER = re.compile(r"\b[A-Z]+\b")
_RANKED = re.compile(r"Showed ranked list: (?P<names>[A-Z, ]+)")
_NUMBERED = re.compile(r"\b1\. .*\b2\. ", re.DOTALL)
_COMPARED = re.compile(r"\bCompared .+ vs ")
_RECALLED = re.compile(r"^\(\d{4}-\d\d-\d\d \d\d:\d\d, (?P<role>assistant|tool result)\) (?P<text>.*)$", re.MULTILINE)


class Kind(StrEnum):
    """How companies were shown."""

    LIST = "list"
    COMPANY = "company"
    PAIR = "pair"


_KINDS = {"rank_stocks": Kind.LIST, "find_companies": Kind.LIST, "compare_companies": Kind.PAIR}


@dataclass(frozen=True, slots=True)
class Shown:
    """Companies that were shown together, in order, and the call that did it where it is known."""

    kind: Kind
    companies: tuple[Company, ...]
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """Everything that was shown, oldest first. `is_whole` says that no list is missing."""

    shown: tuple[Shown, ...] = field(default=())
    is_whole: bool = False

    @property
    def last(self) -> Shown | None:
        """What was shown last."""
        return self.shown[-1] if self.shown else None

    @property
    def lists(self) -> tuple[Shown, ...]:
        """The lists among it, those that were shown again as often as they were."""
        return tuple(each for each in self.shown if each.kind is Kind.LIST)

    @property
    def subject(self) -> Company | None:
        """The company that "it" means: the one looked at last, the left one of two, the first of a list."""
        return self.last.companies[0] if self.last else None

    @property
    def pair(self) -> Shown | None:
        """The last two companies that were looked at one after the other."""
        last = self.shown[-2:]
        companies = tuple(dict.fromkeys(each.companies[0] for each in last if each.kind is Kind.COMPANY))
        return Shown(Kind.PAIR, companies) if len(companies) == 2 else None

    @property
    def ranking(self) -> Call | None:
        """The newest call that ranked stocks."""
        calls = (each.call for each in reversed(self.shown))
        return next((call for call in calls if call and call.name == "rank_stocks"), None)


def past_of(scene: Scene) -> Past:
    """Return what was shown before the question."""
    visible = list(_visible(scene))
    kept = [result.value for result in scene.results if result.tool == "earlier_lists"]
    if kept:
        return _completed(kept[-1] if isinstance(kept[-1], dict) else {}, visible)
    return Past((*_recalled(scene), *visible), is_whole=scene.is_first)


def _visible(scene: Scene) -> Iterator[Shown]:
    """Yield what the messages of the context tell, turn by turn: the words of an answer only where no result does."""
    calls: dict[str, Call] = {}
    has_results = False
    for message in _before_question(scene):
        calls |= {call.id: Call(call.name, call.args) for call in message.tool_calls}
        if message.role is Role.USER:
            has_results = False
        elif message.tool_result is not None and not message.tool_result.error:
            found = _in_result(message.content, calls.get(message.tool_result.tool_call_id))
            has_results = True
            yield from [found] if found else []
        elif message.role is Role.ASSISTANT and not message.tool_calls and not has_results:
            yield from _in_words(message.content)


def _before_question(scene: Scene) -> tuple[Message, ...]:
    messages = scene.request.messages
    asked = [i for i, each in enumerate(messages) if each.role is Role.USER and scene.question in each.content]
    return messages[: asked[-1]] if asked else ()


def _in_result(content: str, call: Call | None) -> Shown | None:
    """Return what a result showed. Its beginning suffices, because old results are shortened."""
    match = _SHOWN.search(content)
    companies = _companies(match[1]) if match else ()
    if not companies:
        return None
    by_number = {1: Kind.COMPANY, 2: Kind.PAIR}.get(len(companies), Kind.LIST)
    return Shown(_KINDS.get(call.name, Kind.COMPANY) if call else by_number, companies, call)


def _in_words(text: str) -> list[Shown]:
    """Return what an answer without results tells."""
    if ranked := _RANKED.search(text):
        return [Shown(Kind.LIST, _companies(ranked["names"]))] if _companies(ranked["names"]) else []
    companies = tuple(named.company for named in companies_in(text))
    if not companies:
        return []
    if len(companies) > 1 and _NUMBERED.search(text):
        return [Shown(Kind.LIST, companies)]
    return [Shown(Kind.PAIR if len(companies) > 1 and _COMPARED.search(text) else Kind.COMPANY, companies[:2])]


def _recalled(scene: Scene) -> Iterator[Shown]:
    """Yield what recalled messages tell; they are older than all that is in the context."""
    for note in scene.notes:
        for match in _RECALLED.finditer(note):
            found = _in_result(match["text"], None) if match["role"] == "tool result" else None
            yield from [found] if found else _in_words(match["text"]) if match["role"] == "assistant" else []


def _completed(kept: dict[str, Any], visible: list[Shown]) -> Past:
    """Return the visible past behind the lists that the conversation kept and that are out of sight."""
    lists = [
        Shown(Kind.LIST, companies, Call("rank_stocks", each["args"]) if "theme" in each["args"] else None)
        for each in kept.get("lists", ())
        if (companies := _companies(" ".join(each["shown"])))
    ]
    seen = sum(each.kind is Kind.LIST for each in visible)
    missing = lists[: max(0, len(lists) - seen)]
    subject = [] if visible else [Shown(Kind.COMPANY, _companies(str(kept.get("company") or "")))]
    return Past((*missing, *(each for each in subject if each.companies), *visible), is_whole=True)


def _companies(text: str) -> tuple[Company, ...]:
    known = market().companies
    return tuple(known[ticker] for ticker in _TICKER.findall(text) if ticker in known)
