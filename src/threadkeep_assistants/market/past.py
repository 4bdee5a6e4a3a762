"""What was shown so far, read from the context of a request and nothing else, so that it is the same after a restart.

Results of tools tell it best. Where they were cut off, the short text of blocks does ("Showed ranked list: A, B, C"),
or the words of an answer, which is all that a client without a memory here brings along.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from threadkeep.conversation.message import Role
from threadkeep_assistants.demo.script import Call, Scene
from threadkeep_assistants.market.companies import Company, companies_in, market
from threadkeep_assistants.vocabulary.references import Shown
from threadkeep_assistants.vocabulary.words import Text

_BEGINNING = 400
"""Characters of a result in which the tickers stand."""
Group = tuple[tuple[Company, ...], Call | None]
"""Companies that were shown together, and the call that did it where it is known."""


@dataclass(frozen=True, slots=True)
class Past:
    """Everything that was shown, oldest first."""

    groups: tuple[Group, ...] = ()

    @property
    def shown(self) -> Shown[Company]:
        """The companies alone."""
        return Shown(tuple(companies for companies, _ in self.groups))

    @property
    def last_call(self) -> Call | None:
        """The call that showed the newest."""
        return self.groups[-1][1] if self.groups else None

    @property
    def ranking_before(self) -> dict[str, Any]:
        """The ranking that was asked for last; what was asked about one company can be asked about many."""
        last = self.last_call
        if last and last.name == "supply_chain":
            return {"theme": "supply_chain_risk"}
        calls = (call for _, call in reversed(self.groups))
        return next((call.args for call in calls if call and call.name == "rank_stocks"), {})


def past_of(scene: Scene) -> Past:
    """Return what was shown before the question."""
    return Past(tuple(_visible(scene)))


def _visible(scene: Scene) -> Iterator[Group]:
    """Yield what the messages of the context tell, turn by turn: the words of an answer only where no result does."""
    messages, calls, has_results = scene.request.messages, dict[str, Call](), False
    asked = [i for i, each in enumerate(messages) if each.role is Role.USER and scene.question in each.content]
    for message in messages[: asked[-1]] if asked else ():
        calls |= {call.id: Call(call.name, call.args) for call in message.tool_calls}
        if message.role is Role.USER:
            has_results = False
        elif message.tool_result is not None and not message.tool_result.error:
            has_results = True
            yield from _in_result(message.content, calls.get(message.tool_result.tool_call_id))
        elif message.role is Role.ASSISTANT and not message.tool_calls and not has_results:
            yield from _in_words(message.content)


def _in_result(content: str, call: Call | None) -> Iterator[Group]:
    """Yield what a result showed. Its beginning suffices, because old results are shortened."""
    tickers = content[:_BEGINNING].partition('"shown":[')[2].partition("]")[0]
    if companies := _companies(tickers.replace('"', "").split(",")):
        yield companies, call


def _in_words(text: str) -> Iterator[Group]:
    """Yield what an answer without results tells: a list, two companies, or the one that it speaks of."""
    _, ranked, names = text.partition("Showed ranked list: ")
    if ranked:
        companies = _companies(names[:_BEGINNING].replace(".", ",").replace(" ", ",").split(","))
    else:
        companies = tuple(company for _, company in companies_in(Text(text)))
        is_list, is_pair = "1. " in text and "2. " in text, "Compared " in text and " vs " in text
        companies = companies if is_list else companies[: 2 if is_pair else 1]
    if companies:
        yield companies, None


def _companies(tickers: list[str]) -> tuple[Company, ...]:
    known = market().companies
    return tuple(known[ticker] for ticker in tickers if ticker in known)
