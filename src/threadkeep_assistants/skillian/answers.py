"""The sentences of the scripted model: what was wished for, told from what is known."""

from collections.abc import Iterable, Mapping, Sequence

from threadkeep_assistants.skillian.comparison import CAUSES
from threadkeep_assistants.skillian.focus import Focus, Row
from threadkeep_assistants.skillian.ledger import SOURCES, Ledger
from threadkeep_assistants.skillian.money import money
from threadkeep_assistants.skillian.selection import selected
from threadkeep_assistants.skillian.wish import Ask, Budgets, Catalogue, Owners, Show

_SHOWN_FIRST = 3

_NOTHING = "There is no difference to speak of. Compare another company or period."
_BACK = {
    "cost centre": "Which cost centre do you mean? Ask for example: What is the budget of cost centre CC-1001?",
    "comparison": "Nothing has been compared yet. Ask for example: Compare FI and BPC for company 1000.",
    "one company": (
        "I compare what FI and BPC say about one company at a time, not companies with each other. Which one shall it "
        "be? Ask for example: Compare FI and BPC for company 1000."
    ),
    "one period": (
        "I compare what FI and BPC say in one month at a time, not months with each other. Which one shall it be? Ask "
        "for example: Compare FI and BPC for company 1000 in May."
    ),
    "topic": (
        "What would you like to know about it: how FI and BPC differ there, or a budget? Ask for example: Compare FI "
        "and BPC for company 2000, or: Which cost centres does company 2000 have?"
    ),
    "reason": (
        "The ledger holds the budget of a cost centre and what is spent of it, but not why. I can tell why FI and BPC "
        "differ. Ask for example: Compare FI and BPC for company 1000."
    ),
    "reality": "No: everything in this ledger is made up, the companies, the people and all figures.",
}


def tell_budgets(wish: Budgets, focus: Focus) -> str:
    """Tell budgets, what is spent and what is left, and all of it together if that is wanted."""
    known = {centre: focus.budgets[centre] for centre in wish.centres if centre in focus.budgets}
    told = {centre: value for centre, value in known.items() if not wish.exceeded or value["spent"] > value["budget"]}
    lines = [_budget(focus.ledger, centre, value) for centre, value in told.items()]
    if wish.exceeded:
        lines.insert(0, f"{len(told) or 'None'} of {len(known)} cost centres {_are(len(told))} over budget.")
    elif wish.together and len(known) > 1:
        lines += _together(known, focus.ledger)
    if wish.period:
        lines.append(f"A budget is for the whole year; there is none for {wish.period} alone in this ledger.")
    return "\n\n".join(lines)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _together(known: Mapping[str, Row], ledger: Ledger) -> list[str]:
    """Add budgets up, those of each currency on their own, and tell who has the most left."""
    by_currency: dict[str, list[Row]] = {}
    for code, value in known.items():
        by_currency.setdefault(_currency(ledger, code), []).append(value)
    lines = []
    for currency, values in by_currency.items():
        total, spent = (sum(int(value[part]) for value in values) for part in ("budget", "spent"))
        amounts = [money(amount, currency if len(by_currency) > 1 else "") for amount in (total, spent, total - spent)]
        lines.append(f"Together: {amounts[0]} of budget, {amounts[1]} spent, {amounts[2]} left.")
    is_one = len(by_currency) == 1
    left = {
        code: (value["budget"] - value["spent"]) / (1 if is_one else value["budget"] or 1)
        for code, value in known.items()
    }
    most, least = max(left, key=lambda code: left[code]), min(left, key=lambda code: left[code])
    # Amounts of different currencies cannot be ranked, shares can.
    return [*lines, f"{most} has the most left, {least} the least{'' if is_one else ', as a share of the budget'}."]


def _currency(ledger: Ledger, code: str) -> str:
    centre = ledger.cost_centres.get(code)
    return ledger.companies[centre.company].currency if centre else ""


def tell_owners(wish: Owners, ledger: Ledger) -> str:
    """Tell who answers for cost centres."""
    centres = [ledger.cost_centres[code] for code in wish.centres if code in ledger.cost_centres]
    return "\n\n".join(f"{centre.code} ({centre.name}) belongs to {centre.owner}." for centre in centres)


def _budget(ledger: Ledger, code: str, value: Row) -> str:
    centre, currency = ledger.cost_centres.get(code), _currency(ledger, code)
    budget, spent = int(value["budget"]), int(value["spent"])
    name, left = f"{code} ({centre.name})" if centre else code, budget - spent
    share = f" ({round(100 * spent / budget)} %)" if budget else ""
    rest = f"{money(left, currency)} is left" if left >= 0 else f"it is {money(-left, currency)} over budget"
    return f"{name} has a budget of {money(budget, currency)}: {money(spent, currency)} is spent{share}, {rest}."


def tell_comparison(focus: Focus) -> str:
    """Tell how a comparison ended, and its largest differences."""
    rows = focus.rows or ()
    told = focus.summary or f"{focus.left} and {focus.right} differ on {len(rows)} accounts of company {focus.company}."
    if not rows:
        return told
    lines = _numbered(rows[:_SHOWN_FIRST], focus)
    return f"{told}\n\nThe largest:\n\n{lines}\n\nAsk for the top 5, for only receivables, or why one of them differs."


def tell_differences(wish: Show, focus: Focus) -> str:
    """Tell some of the differences: as a list, their sum or their number."""
    rows = selected(wish, focus)
    kind, where = _kind(wish), f"{focus.left} and {focus.right}, company {focus.company}, {focus.period}"
    if not rows:
        return f"There are no {'further ' if wish.further else ''}{kind} between {where}."
    match wish.how:
        case "sum":
            return _sum(rows, focus, kind, where)
        case "count":
            return f"There {'is' if len(rows) == 1 else 'are'} {_many(len(rows), kind)} between {where}."
        case "causes":
            return f"{_many(len(rows), kind)} between {where}:\n\n{_causes(rows)}"
        case "list":
            return f"{_heading(wish, rows, focus, kind)} between {where}:\n\n{_numbered(rows, focus)}"


def _kind(wish: Show) -> str:
    sign = {1: "positive", -1: "negative", 0: ""}[wish.sign]
    parts = [sign, wish.cause or "", "differences", f"of {wish.group}" if wish.group else ""]
    parts += [f"of {money(wish.over)} or more" if wish.over else ""]
    parts += [f"{'and ' if wish.over else 'of '}{money(wish.under)} or less" if wish.under is not None else ""]
    return " ".join(part for part in parts if part)


def _heading(wish: Show, rows: Sequence[Row], focus: Focus, kind: str) -> str:
    if wish.further:
        return f"The {wish.further if wish.further == 'next' else 'other'} {_many(len(rows), kind)}"
    if wish.by_account:
        return f"By account, {_many(len(rows), kind)}"
    if wish.count is None:
        return _many(len(rows), kind)
    order = "smallest" if wish.smallest else "largest"
    if len(rows) == 1:
        return f"The {order} {_many(1, kind).removeprefix('1 ')}"
    of_all = f" of {len(focus.rows)}" if focus.rows and focus.has_all and kind == "differences" else ""
    return f"The {len(rows)} {order}{of_all} {kind}"


def _many(count: int, kind: str) -> str:
    return f"{count} {kind if count != 1 else kind.replace('differences', 'difference')}"


def _sum(rows: Sequence[Row], focus: Focus, kind: str, where: str) -> str:
    net = sum(int(row["difference"]) for row in rows)
    gross = sum(abs(int(row["difference"])) for row in rows)
    sides = ", ".join(
        f"{side} {money(sum(int(row.get(side, 0)) for row in rows))}" for side in (focus.left, focus.right)
    )
    return (
        f"{_many(len(rows), kind)} between {where}: {money(net, focus.currency)} net, "
        f"{money(gross, focus.currency)} without regard to the sign ({sides})."
    )


def _causes(rows: Sequence[Row]) -> str:
    """Return the causes of differences, the one with the largest difference first, and what it is about."""
    by_cause: dict[str, list[Row]] = {}
    for row in rows:
        by_cause.setdefault(str(row.get("cause")), []).append(row)
    return "\n".join(
        f"- **{cause}** ({CAUSES.get(cause, 'several reasons')}): {', '.join(str(row['name']) for row in caused)}"
        for cause, caused in by_cause.items()
    )


def _numbered(rows: Iterable[Row], focus: Focus) -> str:
    return "\n".join(f"{number}. {_line(row, focus)}" for number, row in enumerate(rows, 1))


def _line(row: Row, focus: Focus) -> str:
    sides = ", ".join(f"{side} {money(int(row.get(side, 0)))}" for side in (focus.left, focus.right))
    difference = f"{int(row['difference']):+,} {focus.currency}".rstrip()
    return f"{row['account']} {row['name']}: **{difference}** ({sides}; {row.get('cause')})"


def tell_account(focus: Focus) -> str:
    """Tell what an account is, why the sources differ, and by which postings."""
    found: Row = focus.explained or {}
    name = f"{found.get('account')} {found.get('name')}"
    left, right = (money(int(found.get(side, 0))) for side in (focus.left, focus.right))
    sides = f"{focus.left} has {left}, {focus.right} {right}"
    where = f"company {found.get('company')}, {found.get('period')}"
    head = f"{name} ({str(found.get('meaning')).lower()}), {where}: {sides} {found.get('currency')}."
    if not found.get("difference"):
        return f"{head} Both sources say the same."
    reasons = "; ".join(map(str, found.get("why") or [CAUSES["manual"]]))
    postings = "\n".join(
        f"- only in {one['only_in']}: {one['document']} of {one['date']}, {int(one['amount']):,}, {one['text']}"
        for one in found.get("postings") or []
    )
    return f"{head} The difference of {money(int(found['difference']))} has this reason: {reasons}.\n\n{postings}"


def ask_back(wish: Ask, focus: Focus) -> str:
    """Ask for what is missing."""
    if wish.missing == "position":
        return f"The list has {len(focus.shown)} lines. Which of them do you mean?" if focus.shown else _NOTHING
    return _BACK[wish.missing]


def tell_catalogue(wish: Catalogue, ledger: Ledger) -> str:
    """Tell what the ledger has."""
    lines: dict[str, Iterable[str]] = {
        "cost centres": (
            f"{one.code} {one.name} (company {one.company})"
            for one in ledger.cost_centres.values()
            if wish.company in (None, one.company)
        ),
        "companies": (f"{one.code} {one.name} ({one.currency})" for one in ledger.companies.values()),
        "accounts": (f"{one.number} {one.name} ({one.group})" for one in ledger.accounts.values()),
        "periods": ledger.periods,
        "sources": SOURCES,
    }
    return "\n".join([f"There are these {wish.kind}:", "", *(f"- {line}" for line in lines[wish.kind])])
