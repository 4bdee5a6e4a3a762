"""The plan for a question: which tools to call, given what the question says and what was shown before it.

There are several ways to understand a question; the first one that leads to a call is taken.
"""

from typing import Any

from threadkeep.llm.script import Call
from threadkeep_assistants.market.companies import Company
from threadkeep_assistants.market.question import Question, Wanted
from threadkeep_assistants.market.reference import (
    chooses,
    companies_meant,
    has_place,
    list_in,
    means_list,
    means_owner,
    means_several,
    refers,
)
from threadkeep_assistants.market.shown import Kind, Past, Shown

_MORE = 10
_AT_ONCE = 5
"""Companies that one answer looks at."""


def calls_for(question: Question, past: Past) -> list[Call]:
    """Return the calls that answer a question: the first way to understand it that leads anywhere."""
    if question.wants_catalogue and not question.theme:
        return [Call("find_companies", {"text": question.sector.key if question.sector else ""})]
    for way in (_sectors, _comparison, _ranking, _list_again, _sector, _companies, _search):
        if calls := way(question, past):
            return calls
    return []


def _sectors(question: Question, past: Past) -> list[Call]:
    """Two sectors beside each other: the best of each."""
    if len(question.sectors) < 2 or question.is_without_sector:
        return []
    theme = question.theme or _ranking_before(past).get("theme", "margins")
    return [
        Call("rank_stocks", {"theme": theme, "sector": sector.key, "limit": 3} | _amount(question))
        for sector in sorted(question.sectors[:2], key=lambda sector: question.place_of(sector))
    ]


def _comparison(question: Question, past: Past) -> list[Call]:
    if question.wanted is not Wanted.COMPARISON:
        return []
    places = [(each.at, each.company) for each in question.companies]
    places += [(each.at, each.company) for each in companies_meant(question.text, past)]
    found = list(dict.fromkeys(company for _, company in sorted(places, key=lambda place: place[0])))
    if len(found) == 1 and past.subject:
        found = [past.subject, *found] if past.subject not in found else found
    if len(found) < 2 and not question.companies and not question.stranger and past.last:
        found = list((past.pair or past.last).companies[:2])
    if len(found) == 1 and question.stranger:
        return [Call("compare_companies", {"left": found[0].ticker, "right": question.stranger})]
    most = _AT_ONCE if len(question.companies) > 2 else 2
    return [_compare(found[0], other) for other in found[1:most]]


def _ranking(question: Question, past: Past) -> list[Call]:
    """A question about many companies, or about a theme when no company is meant."""
    is_place = has_place(question.text) and (past.lists or not question.limit)
    if question.theme is None or question.companies or question.stranger or is_place:
        return []
    args: dict[str, Any] = {"theme": question.theme} | _amount(question)
    if question.sector:
        return [Call("rank_stocks", args | _in_sector(question) | _among(question, past))]
    if question.theme in ("rate_cuts", "rate_hikes") and not means_several(question.text):
        return [Call("rank_stocks", args | (_sector_before(past) if question.goes_on else {}))]
    if group := _group(question, past):
        return [Call("rank_stocks", args | {"tickers": [company.ticker for company in group.companies]})]
    if means_several(question.text) or _is_about_one(question):
        return []
    is_about_many = question.is_about_many or (question.bounds and not refers(question.text))
    return [Call("rank_stocks", args)] if is_about_many or not past.last else []


def _group(question: Question, past: Past) -> Shown | None:
    """Return the companies that are to be ranked among themselves; none where all of them are, or only one is meant."""
    last, text = past.last, question.text
    if last is None or _is_about_one(question) or (means_several(text) and question.asks_for_facts):
        return None
    if chooses(text) and past.pair and not means_list(text):
        return past.pair
    is_among = means_several(text) or means_list(text) or (chooses(text) and last.kind is not Kind.COMPANY)
    if is_among or (last.kind is Kind.LIST and not question.is_about_many and not refers(text)):
        return last if last.kind is Kind.PAIR else list_in(text, past)
    return None


def _list_again(question: Question, past: Past) -> list[Call]:
    """The first list, the previous one, or more of the newest."""
    if question.wants_more and past.ranking:
        return [Call("rank_stocks", past.ranking.args | {"limit": question.limit or _MORE})]
    if question.wants_worst and past.ranking:
        return [Call("rank_stocks", past.ranking.args | {"reverse": not past.ranking.args.get("reverse", False)})]
    if question.companies or has_place(question.text) or question.sector:
        return []
    if question.bounds and past.ranking and not question.theme:
        return [Call("rank_stocks", past.ranking.args | _amount(question))]
    if means_list(question.text):
        shown = list_in(question.text, past)
        if shown and shown.call:
            return [shown.call]
        tickers = [company.ticker for company in shown.companies] if shown else []
        return [Call("find_companies", {"text": ", ".join(tickers)})] if tickers else []
    return []


def _sector(question: Question, past: Past) -> list[Call]:
    """The same question for a sector, or the companies of the sector."""
    if question.sector is None or has_place(question.text):
        return []
    if question.goes_on or question.wanted is None:
        if question.is_without_sector and past.ranking:
            bounds = past.ranking.args.get("bounds", {}) | _bounds(question)
            return [Call("rank_stocks", past.ranking.args | {"bounds": bounds})]
        before = _ranking_before(past)
        kept = {name: value for name, value in before.items() if name not in ("tickers", "sector", "bounds")}
        if kept:
            return [Call("rank_stocks", kept | _in_sector(question) | _amount(question) | _among(question, past))]
    if refers(question.text) and past.subject:
        return []
    return [Call("find_companies", {"text": question.sector.key})]


def _ranking_before(past: Past) -> dict[str, Any]:
    """Return the ranking that was asked for last; what was asked about one company can be asked about many."""
    call = past.last.call if past.last else None
    if call and call.name == Wanted.SUPPLY_CHAIN:
        return {"theme": "supply_chain_risk"}
    if call and call.name == Wanted.FIGURES:
        return {"theme": "growth" if call.args.get("metrics") == ["revenue"] else "margins"}
    return past.ranking.args if past.ranking else {}


def _sector_before(past: Past) -> dict[str, Any]:
    return {name: value for name, value in (past.ranking.args if past.ranking else {}).items() if name == "sector"}


def _companies(question: Question, past: Past) -> list[Call]:
    """What is wanted of the companies that are named or meant."""
    found = [each.company for each in question.companies]
    found = found or [each.company for each in companies_meant(question.text, past) if _fits(each.company, question)]
    if not found and means_several(question.text) and past.last:
        found = list(past.last.companies)
    if not found and (question.wanted or question.wants_peers) and past.subject and not _asks_for_another(question):
        found = [past.subject]
    if not found:
        return [Call("describe_company", {"ticker": question.stranger})] if question.stranger else []
    if question.wants_peers:
        return [Call("find_companies", {"text": found[0].sector.key})]
    return [_look_at(company, question, past) for company in dict.fromkeys(found[:_AT_ONCE])]


def _asks_for_another(question: Question) -> bool:
    """Whether it names something that is not known, points at a place, or asks for many."""
    is_described = question.wanted is Wanted.DESCRIPTION
    is_elsewhere = question.is_about_many or question.unknown_name or question.sector or has_place(question.text)
    return question.stranger is not None or (is_described and bool(is_elsewhere))


def _fits(company: Company, question: Question) -> bool:
    """Whether a company may be meant: "the second bank" is a bank."""
    return question.sector in (None, company.sector)


def _look_at(company: Company, question: Question, past: Past) -> Call:
    """Return the call for one company: what the question wants or, where it does not say, what was wanted before."""
    args: dict[str, Any] = {"ticker": company.ticker}
    last = past.last
    before = last.call if last and last.kind is not Kind.LIST and question.wanted is None else None
    if before and before.name == Wanted.COMPARISON and last and question.companies and company not in last.companies:
        return _compare(last.companies[0], company)
    if before and before.name in (Wanted.SUPPLY_CHAIN, Wanted.FIGURES):
        return Call(before.name, before.args | args)
    if question.wanted is Wanted.FIGURES:
        return Call(Wanted.FIGURES, args | {"metrics": list(question.metrics)})
    return Call(Wanted.SUPPLY_CHAIN if question.wanted is Wanted.SUPPLY_CHAIN else Wanted.DESCRIPTION, args)


def _search(question: Question, past: Past) -> list[Call]:
    """A company or a sector that is asked for by words that are no name in the data."""
    match = question.unknown_name
    return [Call("find_companies", {"text": match})] if match and not refers(question.text) else []


def _in_sector(question: Question) -> dict[str, Any]:
    return {"sector": question.sector.key} if question.sector and not question.is_without_sector else {}


def _among(question: Question, past: Past) -> dict[str, Any]:
    """Return those that a choice is limited to: "which of those are banks?"."""
    shown = list_in(question.text, past) if means_several(question.text) else None
    return {"tickers": [company.ticker for company in shown.companies]} if shown else {}


def _is_about_one(question: Question) -> bool:
    """Whether it asks for something of one company and not which of them has it."""
    return means_owner(question.text) and not chooses(question.text)


def _amount(question: Question) -> dict[str, Any]:
    limit = {"limit": question.limit} if question.limit else {}
    bounds = {"bounds": _bounds(question)} if _bounds(question) else {}
    return limit | bounds | ({"reverse": True} if question.is_reverse else {})


def _bounds(question: Question) -> dict[str, float | str]:
    refused = {"without": question.sector.key} if question.sector and question.is_without_sector else {}
    return question.bounds | refused


def _compare(left: Company, right: Company) -> Call:
    return Call("compare_companies", {"left": left.ticker, "right": right.ticker})
