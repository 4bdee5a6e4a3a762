"""What a person wants to know about budgets: of cost centres that are named or were spoken of, or of all of them."""

import re

from threadkeep_assistants.skillian.focus import Focus
from threadkeep_assistants.skillian.reading import COMPARE, DIFFER, SUM, Reading
from threadkeep_assistants.skillian.wish import Ask, Budgets, Catalogue, Owners, Wish

MONEY = r"budgets?|spent|spend(?:ing)?|overspen[dt]\w*|over|left|remain\w*"
_BUDGET = r"budgets?|spent|spend(?:ing)?|overspent|cost\W?cent(?:re|er)s?"
_EXCEEDED = r"over(?: the)? budget|overspen[dt]\w*|exceed\w*|too much|overdrawn"
_MONEY_LEFT = r"left|remain\w*|available|used|percent\w*|over|under|rest of it|enough|still|afford|another|extra"
_CENTRES = r"cost\W?cent(?:re|er)s?|departments?|teams?"
_ALL = (
    rf"(?:which|any|all|every|each|no) .*(?:{_CENTRES})"
    r"|(?:what|list|show|how many|total|whole|of) .*(?:cost\W?cent(?:re|er)s|departments|teams)"
    r"|(?:anybody|anyone|everybody|everyone|who)(?: is| are| has)? (?:over|spent)|in all of them"
    r"|all budgets|every budget"
)
_OF = re.compile(
    r"\b(?:budgets?|spent|spending) (?:of|for|by) (?:the |our |my )?(?P<name>[a-z][a-z &-]*?)"
    r"(?P<kind> (?:department|team|cost cent(?:re|er)))?(?: please| now)*\W*$"
)
_NO_NAME = re.compile(r"(?:this|that|these|those|all|both|us|each|everything|.*\b(?:it|company|month|year|them))")


def owners(reading: Reading, focus: Focus) -> Wish | None:
    """Return who is asked for, of the cost centres that are named or were spoken of."""
    if not reading.has(r"who (?:owns|manages|runs|is responsible|is in charge|leads|is the owner)|whose|owners?"):
        return None
    centres = reading.cost_centres or (focus.centres if focus.topic == "budget" else ())
    return Owners(centres) if set(centres) & focus.ledger.cost_centres.keys() else None


def all_budgets(reading: Reading, focus: Focus) -> Wish | None:
    """Return the budgets of all cost centres, or of all of a company."""
    if reading.cost_centres or reading.sources or reading.has(DIFFER) or not reading.has(MONEY):
        return None
    if not reading.has(_ALL) and not (reading.companies and reading.has(_BUDGET)):
        return None
    company = next(iter(reading.companies), None)
    centres = tuple(code for code, one in focus.ledger.cost_centres.items() if company in (None, one.company))
    wanted = Budgets(centres, together=True, exceeded=reading.has(_EXCEEDED), period=reading.period)
    return wanted if centres else Catalogue("companies")


def some_budgets(reading: Reading, focus: Focus) -> Wish | None:
    """Return the budgets that a question is about: what it does not name is what was spoken of."""
    together = reading.has(rf"{SUM}|{COMPARE}|both|which|more|worst|best|least|most")
    is_on = (focus.topic == "budget" or reading.has("left")) and not reading.sources and not reading.companies
    named = reading.cost_centres or tuple(f"CC-{number}" for number in reading.numbers if is_on) or _unknown(reading)
    if named:
        others = focus.centres if len(named) == 1 and reading.has(COMPARE) else ()
        return Budgets(tuple(dict.fromkeys([*others, *named])), named, together, period=reading.period)
    narrowed = reading.group or reading.cause or reading.over or reading.under or reading.has(DIFFER)
    if is_on and len(focus.budgets) > 1 and together and not narrowed:
        centres = focus.centres if len(focus.centres) > 1 else tuple(focus.budgets)
        return Budgets(centres, together=True, exceeded=reading.has(_EXCEEDED))
    is_same = is_on and not narrowed and (reading.has(_MONEY_LEFT) or reading.period is not None)
    if reading.has(_BUDGET) or is_same:
        return Budgets(focus.centres, period=reading.period) if focus.centres else Ask("cost centre")
    return Ask("reason") if focus.topic == "budget" and reading.has("why|how come|reasons?") else None


def _unknown(reading: Reading) -> tuple[str, ...]:
    """Return a cost centre that is named, but not in the ledger: the tool tells which come close."""
    found = None if reading.period or reading.accounts else _OF.search(reading.text)
    return (found["name"],) if found and (found["kind"] or not _NO_NAME.fullmatch(found["name"])) else ()
