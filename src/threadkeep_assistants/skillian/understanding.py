"""What a person wants, given the words of a question and what was spoken of before it: a wish, or none of them."""

from typing import Literal

from threadkeep_assistants.skillian.blocks import TOP
from threadkeep_assistants.skillian.budget_questions import MONEY, all_budgets, owners, some_budgets
from threadkeep_assistants.skillian.focus import Focus
from threadkeep_assistants.skillian.reading import COMPARE, DIFFER, NEXT, PREVIOUS, SUM, Reading
from threadkeep_assistants.skillian.wish import Ask, Catalogue, Compare, Explain, How, Kind, Show, Wish

_WHY = (
    r"why|explain|reasons?|how come|causes?|postings?|documents?|details?|tell me (?:more )?about|what(?:'s| is) behind"
)
_TOP = r"top|bottom|biggest|largest|greatest|highest|smallest|lowest|worst|most(?: important)?"
_MORE = r"(?:show(?: me)?|some|any|\d+|few|a bit) more|more please"
_RANKED = rf"{_TOP}|first|next|rest|{_MORE}|remaining|others?"
_LISTED = rf"{_RANKED}|only|just|all|every\w*|list|show|lines|rows|which|negative|positive|sort\w*|rank\w*|order\w*"
_COUNT = r"how many|count|number of"
_ASIDE = r"my name|remember"
_ALL_OF_THEM = r"differences|they|them|causes|reasons|all|these|those"
_REAL = r"(?:real|true|actual|fictional|fake|made[ -]up|invented)(?: (?:data|figures|numbers|companies|company))?"
_CHART = r"chart|graph|plot|diagram|visuali[sz]e"
_THESE = r"them|their|these|those|they|it|up|that"


def understand(reading: Reading, focus: Focus) -> Wish | None:
    """Return what is wanted, or None if this is about something else."""
    if reading.has(_ASIDE):
        return None
    for understood in _IN_ORDER:
        wish = understood(reading, focus)
        if wish is not None:
            return wish
    return None


def _reality(reading: Reading, focus: Focus) -> Wish | None:
    asked = reading.has(rf"(?:is|are) (?:this|these|it|that|they|those|the|all)\b.*\b{_REAL}|fictional")
    return Ask("reality") if asked and not reading.has(DIFFER) else None


def _one_place(reading: Reading, focus: Focus) -> Wish | None:
    """Ask back where two companies or two months are to be compared: the ledger compares its sources."""
    if reading.cost_centres or not reading.has(f"{COMPARE}|{DIFFER}|different"):
        return None
    if len(reading.companies) > 1 or reading.has("which (?:company|companies)"):
        return Ask("one company")
    return Ask("one period") if reading.other_period else None


def _topic(reading: Reading, focus: Focus) -> Wish | None:
    """Ask back what is wanted of a place or an account that is named without anything else."""
    is_named = reading.companies or (reading.period and not focus.topic) or reading.sources
    return Ask("topic") if is_named or reading.has("company|account") else None


_KINDS: dict[str, Kind] = {
    r"cost\W?cent(?:re|er)s": "cost centres",
    r"companies": "companies",
    r"accounts": "accounts",
    r"periods|months": "periods",
    r"sources": "sources",
}


def _catalogue(reading: Reading, focus: Focus) -> Wish | None:
    if reading.sources or reading.has(DIFFER):
        return None
    company = next(iter(reading.companies), None)
    if company and reading.has(r"cost\W?cent(?:re|er)s (?:of|in|for|at)") and not reading.has(MONEY):
        return Catalogue("cost centres", company)
    if not reading.has(r"are there|exist|do you (?:have|know)|available|have|list|what|show|all") or reading.has(MONEY):
        return None
    return next((Catalogue(kind, company) for words, kind in _KINDS.items() if _asks_for(reading, words)), None)


def _asks_for(reading: Reading, words: str) -> bool:
    return reading.has(rf"(?:which|what|list|all|show|the) (?:all )?(?:the )?(?:{words})") and not reading.cost_centres


def _explain(reading: Reading, focus: Focus) -> Wish | None:
    place = _place(reading, focus)
    if reading.accounts and reading.has("budgets?"):
        return Ask("cost centre")
    if reading.accounts and not reading.has(COMPARE):
        return Explain(reading.accounts[0], place)
    is_on = focus.topic in ("differences", "account") or (focus.was_compared and reading.has(DIFFER))
    if not is_on or reading.cost_centres or reading.group:
        return None
    if reading.cause and reading.has(rf"{_WHY}|what(?:'s| is| does| are)"):
        return Show(how="causes", cause=reading.cause, place=focus.place)
    if reading.position is not None and not reading.has("only|just"):
        return _at_position(reading.position, focus, place)
    if reading.has(_WHY) and not reading.has(_COUNT):
        if reading.has(_ALL_OF_THEM) and reading.count is None:
            return Show(how="causes", group=focus.group, cause=focus.cause, of_shown=True, place=focus.place)
        return Explain(focus.account, place) if focus.account and _is_same(reading) else _at_position(0, focus, place)
    if focus.account and place != focus.place and reading.has("it|same account|this account|that account"):
        return Explain(focus.account, place)
    return _neighbour(focus, place) if focus.account and reading.has("next one|next account") else None


def _is_same(reading: Reading) -> bool:
    """Whether the account that was explained is still meant, and no other of the list."""
    return reading.count is None


def _at_position(position: int, focus: Focus, place: dict[str, str]) -> Wish:
    if not focus.shown:
        return Ask("position" if focus.was_compared else "comparison")
    if not -len(focus.shown) <= position < len(focus.shown):
        return Ask("position")
    return Explain(str(focus.shown[position]["account"]), place)


def _neighbour(focus: Focus, place: dict[str, str]) -> Wish:
    numbers = [row["account"] for row in focus.shown]
    at = numbers.index(focus.account) + 1 if focus.account in numbers else 0
    return _at_position(at, focus, place)


def _compare(reading: Reading, focus: Focus) -> Wish | None:
    place = _place(reading, focus)
    names_place = bool(reading.companies or reading.period or reading.sources)
    if reading.has(_RANKED) or reading.group or reading.cause or reading.over or reading.under:
        # Some of the differences of another place: they are listed, and all others need not be found.
        return _show(reading, focus) if focus.was_compared or names_place else None
    if focus.was_compared and reading.has(_CHART):
        return Compare(place)
    if len(reading.sources) == 2 or (reading.has(COMPARE) and reading.has("sources|it|them|two|again|" + DIFFER)):
        return Compare(place)
    if reading.has(f"{COMPARE}|{DIFFER}") and names_place:
        return Compare(place)
    if reading.has(COMPARE) and focus.topic != "budget":
        return Compare(place)
    if focus.was_compared and (names_place or reading.has("summary|overview|again")):
        return Compare(place, again=place == focus.place)
    if focus.topic == "budget" and reading.companies:
        return Catalogue("cost centres", reading.companies[0])
    return None


def _show(reading: Reading, focus: Focus) -> Wish | None:
    place = _place(reading, focus)
    narrowed = reading.group or reading.cause or reading.over or reading.under or reading.count
    asked = narrowed or reading.has(f"{_LISTED}|{SUM}|{_COUNT}|{DIFFER}")
    if not asked or not (focus.was_compared or reading.has(f"{_RANKED}|{DIFFER}")):
        return None
    if not focus.was_compared and not reading.companies and not reading.sources:
        return Ask("comparison") if reading.has(f"{DIFFER}|top|biggest|largest|smallest") else None
    moved = place != focus.place
    whole = moved or reading.has("all|every|everything|everyone")
    further, how = "" if moved or reading.over else _further(reading), _how(reading)
    whole = whole or further == "rest"
    return Show(
        how=how,
        count=_count(reading, how),
        group=reading.group or (None if whole or reading.cause else focus.group),
        cause=reading.cause or (None if whole or reading.group else focus.cause),
        over=reading.over or 0,
        under=reading.under,
        sign=_sign(reading),
        smallest=reading.has("smallest|lowest|least|bottom") or (bool(further) and focus.smallest),
        further=further,
        by_account=reading.has(r"(?:by|in order of) (?:the )?(?:account|number|name)s?"),
        of_shown=how != "list" and not narrowed and not whole and reading.has(_THESE),
        place=place,
    )


def _further(reading: Reading) -> Literal["", "next", "rest"]:
    if reading.has("rest|remaining|others?"):
        return "rest"
    return "next" if reading.has(f"next|{_MORE}") else ""


def _sign(reading: Reading) -> int:
    return reading.has("positive") - reading.has("negative")


def _how(reading: Reading) -> How:
    if reading.has(_COUNT):
        return "count"
    return "sum" if reading.has(SUM) else "list"


def _count(reading: Reading, how: str) -> int | None:
    if reading.count is not None:
        return reading.count
    is_short = how == "list" and reading.has(_TOP)
    return TOP if is_short else None


def _place(reading: Reading, focus: Focus) -> dict[str, str]:
    """Return the place that a question is about: what it does not name stays as it was."""
    periods = focus.ledger.periods
    spoken_of = focus.period or periods[-1]
    # Whoever names both sources and a company asks anew: the month of an earlier question is not meant.
    stands_alone = len(reading.sources) == 2 and bool(reading.companies)
    period = reading.period or (periods[-1] if stands_alone else spoken_of)
    if period in (PREVIOUS, NEXT):
        period = _beside(spoken_of if spoken_of in periods else periods[-1], -1 if period == PREVIOUS else 1)
    left, right = reading.sources if len(reading.sources) == 2 else (focus.left, focus.right)
    numbers = [] if reading.companies or not reading.has("company") else [*reading.numbers]
    company = (*reading.companies, *numbers, focus.company)[0]
    return {"left": left, "right": right, "company": company, "period": period}


def _beside(period: str, months: int) -> str:
    """Return the month so many months away; the ledger may not have it, and tells so."""
    year, month = divmod(int(period[:4]) * 12 + int(period[5:]) - 1 + months, 12)
    return f"{year}-{month + 1:02}"


_IN_ORDER = (_reality, _catalogue, owners, all_budgets, _one_place, _explain, some_budgets, _compare, _show, _topic)
