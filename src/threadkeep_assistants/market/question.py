"""A question as the scripted model understands it, and the calls that answer it, given what was shown before.

There are several ways to understand a question; the first one that leads to a call is taken, and where none does the
script says so. A real model needs none of this.
"""

from typing import Any

from threadkeep_assistants.demo.script import Call
from threadkeep_assistants.market import companies
from threadkeep_assistants.market.companies import Company
from threadkeep_assistants.market.past import Past
from threadkeep_assistants.market.ranking import Theme
from threadkeep_assistants.vocabulary.references import list_named, references
from threadkeep_assistants.vocabulary.words import Text

_AT_ONCE = 5
"""Companies that one answer looks at."""
_LONGEST = 3
"""Words of a name that is not known."""
_SEVERAL = frozenset({"two", "them", "others"})
_RATE_THEMES = ("rate_cuts", "rate_hikes")
_RATES = "rate|rates|fed|central bank|central banks"
_DOWN = "cut|cuts|cutting|lower*|low|fall*|drop*|declin*|down|reduc*|ease|eases|easing"
_UP = "hike|hikes|hiking|higher|high|rise|rises|rising|rais*|increas*|up|climb*"
_NEAR = 5
"""How many words at most lie between a rate and where it goes."""
_HARMED = "hurt*|harm*|suffer*|lose|loses|loser|losers"
_CHAIN = "suppl*|sourc*|risk*|safe*"
_SAFE = "safe*|lowest|the least|low"
_THEMES: tuple[tuple[Theme, str], ...] = (
    ("margins", "margin*|profitab*"),
    ("value", "cheap*|undervalued|p e|pe|valuation*|expensive|pric*"),
    ("growth", "grow*"),
    ("dividends", "dividend*|yield*"),
    ("size", "bigger|biggest|larger|largest|smaller|smallest|revenue*|sales"),
)
_WORST = "lowest|smaller|smallest|worst|slowest|weakest|the least|most expensive|more expensive"
_COMPARES = "compar*|versus|vs|difference*|differ*|stack up|against|better than|next to|beside|alongside|side by side"
_CHOOSES = "which one|which of|which is|which are|which has|which have|which grows|which pays|who is|who has|who grows"
_MANY = (
    "stocks|companies|names|firms|shares|who|whose|rank*|which|best|highest|lowest|cheapest|fastest|slowest|riskiest"
    "|safest|biggest|most|top"
)
_TELLS = "tell me more|tell me about|more about|describe|detail*|explain|what is|who is|why|go on|should i|chart|earn*"
_ASKS_ABOUT = "tell me about|what about|how about|describe|what is|who is|do you know|find"
_BEYOND = "q1|q2|q3|q4|which sector|what sector|competitor*|rival*|peer*|alternative*|depend*"
_TALK = "thanks|thank you|thx|great|nice|cool|perfect|bye|goodbye|hello|hi|hey|remember"


class Question:
    """What the words of a question say, without what was shown before."""

    def __init__(self, question: str) -> None:
        text = self.text = Text(question)
        self.companies = companies.companies_in(text)
        sectors = [] if self.companies else companies.sectors_in(text)
        refused = text.excluded([(at, at + 1) for at, _ in sectors])
        self.sectors = [sector for (_, sector), no in zip(sectors, refused, strict=True) if not no]
        self.without = next((sector for (_, sector), no in zip(sectors, refused, strict=True) if no), None)
        self.kinds = {reference.kind for reference in references(text)}
        if self.kinds == {"it"} and text.has("stocks|companies|firms|shares"):
            self.kinds = set()
        self.theme = _theme(text)
        self.is_comparison = text.has(_COMPARES) or self._is_choice_of_two()
        self.chooses = text.has(_CHOOSES)
        self.is_about_many = text.has(_MANY) or text.count is not None
        self.names_list = list_named(text) is not None
        self.points = bool(self.kinds & {"place", "span", "next", "other"}) or ("it" in self.kinds and not self.chooses)
        self.names_one = bool(self.companies or self.points)

    def _is_choice_of_two(self) -> bool:
        is_measured = any(self.text.at(at - 1).endswith("er") for at in self.text.places("than"))
        return (len(self.companies) == 2 and self.text.has("or")) or (bool(self.companies) and is_measured)

    @property
    def is_talk(self) -> bool:
        """Whether it is not about stocks: "thanks, that helps", "what is my name?"."""
        is_talk = self.text.begins(_TALK) or self.text.has("my name|who am i|who are you|about me")
        return is_talk and not self.companies and not self.theme and not self.sectors

    @property
    def is_beyond_data(self) -> bool:
        """Whether it asks for what no tool looks up: one year, a price ("stocks under $50"), competitors; or names an
        amount that cannot be read ("half a percent")."""
        is_dated = any(1900 <= number.value < 2100 for number in self.text.numbers)
        is_priced = any(limit.number.is_money for limit in self.text.limits)
        return is_dated or is_priced or bool(self.text.unread) or self.text.has(_BEYOND)

    @property
    def refers(self) -> bool:
        """Whether it needs something that was shown."""
        return bool(self.kinds) or self.names_list

    @property
    def amount(self) -> dict[str, Any]:
        """How many are wanted, within which limits, and whether the worst are."""
        names = {"<": "below", "<=": "at_most", ">": "above", ">=": "at_least"}
        bounds: dict[str, Any] = {names[limit.operator]: limit.number.value for limit in self.text.limits}
        bounds |= {"without": self.without.key} if self.without else {}
        count = {"limit": max(1, min(20, self.text.count))} if self.text.count is not None else {}
        is_worst = self.theme in ("margins", "growth", "value", "dividends", "size") and self.text.has(_WORST)
        return count | ({"bounds": bounds} if bounds else {}) | ({"reverse": True} if is_worst else {})


def calls_for(asked: Question, past: Past) -> list[Call]:
    """Return the calls that answer a question: the first way to understand it that leads anywhere."""
    ways = (_catalogue, _comparison, _ranking, _ranking_again, _list_again, _of_companies, _search)
    return next((calls for way in ways if (calls := way(asked, past))), [])


def _catalogue(asked: Question, past: Past) -> list[Call]:
    text = asked.text
    is_wide = text.has("what|which") and text.has("do you know|do you have|do you cover|are there")
    if asked.companies or asked.theme or not is_wide:
        return []
    return [Call("find_companies", {"text": asked.sectors[0].key if asked.sectors else ""})]


def _comparison(asked: Question, past: Past) -> list[Call]:
    """Two companies that are named, meant, or were shown last, side by side."""
    if not asked.is_comparison:
        return []
    found, newest = _distinct([*asked.companies, *past.shown.meant(asked.text)]), past.shown.newest
    if len(found) == 1 and newest and newest[0] not in found:
        found = [newest[0], *found]
    if not asked.sectors and not found:
        found = list((past.shown.two or newest)[:2])
    others = [other.ticker for other in found[1 : _AT_ONCE if len(asked.companies) > 2 else 2]]
    return [Call("compare_companies", {"left": found[0].ticker, "right": other}) for other in others]


def _ranking(asked: Question, past: Past) -> list[Call]:
    """A theme, for all companies, for sectors, or for those that were shown."""
    if asked.theme is None or asked.names_one:
        return []
    args: dict[str, Any] = {"theme": asked.theme} | asked.amount
    if asked.sectors:
        return _in_sector(asked, past, args)
    if group := _group(asked, past):
        return [Call("rank_stocks", args | {"tickers": [company.ticker for company in group]})]
    if asked.text.begins("same|and|now") and "sector" in past.ranking_before:
        args |= {"sector": past.ranking_before["sector"]}
    is_wide = asked.is_about_many or asked.theme in _RATE_THEMES or "bounds" in args or not past.groups
    return [Call("rank_stocks", args)] if is_wide and not asked.refers else []


def _in_sector(asked: Question, past: Past, ranking: dict[str, Any]) -> list[Call]:
    """The ranking of a sector, or of each of two, also among those that were shown: "which of those are banks?"."""
    meant = _distinct(past.shown.meant(asked.text)) if asked.kinds & _SEVERAL else []
    among = {"tickers": [company.ticker for company in meant]} if meant else {}
    return [Call("rank_stocks", ranking | among | {"sector": each.key}) for each in asked.sectors[:2]]


def _group(asked: Question, past: Past) -> tuple[Company, ...]:
    """Return the companies that are to be ranked among themselves; none where all of them are."""
    if asked.kinds & _SEVERAL:
        return tuple(_distinct(past.shown.meant(asked.text)))
    if asked.names_list:
        return past.shown.list_at(list_named(asked.text))
    if asked.theme in _RATE_THEMES:
        return ()
    if asked.chooses:
        return past.shown.two or past.shown.several
    is_next = len(past.shown.newest) > 1 and not asked.is_about_many and not asked.kinds
    return past.shown.newest if is_next else ()


def _ranking_again(asked: Question, past: Past) -> list[Call]:
    """The ranking before for a sector, with other limits, or longer."""
    before, amount = past.ranking_before, asked.amount
    if asked.theme or asked.names_one or asked.names_list:
        return []
    if asked.sectors and before:
        kept = {name: value for name, value in before.items() if name not in ("tickers", "sector", "bounds")}
        return _in_sector(asked, past, kept | amount)
    if asked.sectors or not before:
        return [Call("find_companies", {"text": each.key}) for each in asked.sectors]
    is_longer = asked.text.begins("more|show more|show me more") or ("limit" in amount and len(asked.text.words) <= 5)
    if is_longer or "bounds" in amount:
        return [Call("rank_stocks", before | ({"limit": 10} if is_longer else {}) | amount)]
    return []


def _list_again(asked: Question, past: Past) -> list[Call]:
    """The first list, the previous one, or the newest once more."""
    if not asked.names_list or asked.points:
        return []
    shown = past.shown.list_at(list_named(asked.text))
    call = next((call for group, call in reversed(past.groups) if group == shown), None)
    tickers = ", ".join(company.ticker for company in shown)
    return [call] if call else [Call("find_companies", {"text": tickers})] if tickers else []


def _of_companies(asked: Question, past: Past) -> list[Call]:
    """What is wanted of the companies that are named, meant, or were looked at last."""
    if asked.is_comparison and not asked.sectors:
        return []
    found = _distinct(asked.companies or (past.shown.meant(asked.text) if asked.kinds else []))
    wants = _wanted(asked)
    if asked.companies and asked.points and not wants:
        return []  # what is wanted of the two, nobody can tell
    is_elsewhere = asked.points or asked.sectors or asked.names_list or _unknown_name(asked)
    if not found and wants and past.shown.newest and not is_elsewhere and not asked.chooses:
        found = [past.shown.newest[0]]
    return [_look_at(company, asked, past, wants) for company in found[:_AT_ONCE]]


def _wanted(asked: Question) -> str | None:
    """Return the tool that tells what is wanted of a company; None if only the conversation tells."""
    if asked.theme in ("supply_chain_risk", "supply_chain_safety"):
        return "supply_chain"
    return "describe_company" if asked.theme or asked.text.has(_TELLS) else None


def _look_at(company: Company, asked: Question, past: Past, wants: str | None) -> Call:
    """Return the call for one company: what the question wants or, where it does not say, what was wanted before."""
    args, last = {"ticker": company.ticker}, past.last_call
    if wants is None and last and last.name == "compare_companies" and asked.companies:
        if company not in past.shown.newest:
            return Call("compare_companies", {"left": past.shown.newest[0].ticker, "right": company.ticker})
    elif wants is None and last and last.name == "supply_chain":
        return Call(last.name, args)
    return Call(wants or "describe_company", args)


def _search(asked: Question, past: Past) -> list[Call]:
    """A company that is asked for by words that are no name in the data."""
    name = _unknown_name(asked)
    return [Call("find_companies", {"text": name})] if name else []


def _unknown_name(asked: Question) -> str | None:
    if asked.companies or asked.sectors or asked.theme or asked.refers or not asked.text.begins(_ASKS_ABOUT):
        return None
    line = asked.text.line
    begin = max((each for each in _ASKS_ABOUT.split("|") if line.startswith(f" {each} ")), key=len)
    name = line.removeprefix(f" {begin} ").strip()
    return name if 0 < len(name.split()) <= _LONGEST and "stock" not in name else None


def _theme(text: Text) -> Theme | None:
    """Return what stocks could be ranked by."""
    rates = text.places(_RATES)
    is_down = text.has("cuts") or _is_near(rates, text.places(_DOWN))
    is_up = text.has("hikes") or _is_near(rates, text.places(_UP))
    if is_down or is_up:
        return "rate_cuts" if is_down != text.has(_HARMED) else "rate_hikes"
    if text.has(_CHAIN):
        return "supply_chain_safety" if text.has(_SAFE) else "supply_chain_risk"
    return next((theme for theme, words in _THEMES if text.has(words)), None)


def _is_near(some: list[int], others: list[int]) -> bool:
    return any(abs(one - other) <= _NEAR for one in some for other in others)


def _distinct(found: list[tuple[int, Company]]) -> list[Company]:
    return list(dict.fromkeys(company for _, company in sorted(found, key=lambda pair: pair[0])))
