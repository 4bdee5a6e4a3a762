"""Which differences a wish means, whether the conversation holds them, and what is spoken of after they were shown."""

from dataclasses import replace

from threadkeep_assistants.skillian.focus import Focus, Row
from threadkeep_assistants.skillian.wish import Budgets, Compare, Show, Wish


def is_at_hand(wish: Show, focus: Focus) -> bool:
    """Whether the conversation holds all differences that are meant."""
    if focus.rows is None or wish.place != focus.place or focus.rows_group not in (None, wish.group):
        return False
    is_top = wish.is_top and wish.group == focus.rows_group
    return focus.has_all or (is_top and (wish.count or len(focus.rows) + 1) <= len(focus.rows))


def selected(wish: Show, focus: Focus) -> tuple[Row, ...]:
    """Return the differences that are meant, of those at hand."""
    rows = focus.shown if wish.of_shown else focus.rows or ()
    group, cause = wish.group, wish.cause
    fitting = [row for row in rows if group in (None, row.get("group")) and (cause or "") in str(row.get("cause"))]
    fitting = [row for row in fitting if abs(int(row["difference"])) >= wish.over]
    fitting = [row for row in fitting if wish.under is None or abs(int(row["difference"])) <= wish.under]
    fitting = [row for row in fitting if not wish.sign or (row["difference"] > 0) == (wish.sign > 0)]
    ordered = fitting[::-1] if wish.smallest else fitting
    if wish.by_account:
        ordered = sorted(ordered, key=lambda row: str(row["account"]))
    if wish.further == "next" or (wish.further == "rest" and _is_page(focus, ordered)):
        ordered = (
            ordered[ordered.index(focus.shown[-1]) + 1 :]
            if focus.shown[-1:] and focus.shown[-1] in ordered
            else ordered
        )
    elif wish.further == "rest":
        ordered = [row for row in ordered if row not in focus.shown]
    return tuple(ordered[: wish.count])


def _is_page(focus: Focus, ordered: list[Row]) -> bool:
    """Whether what was listed last is a page of the whole list, so that the rest of it is what comes behind."""
    if not focus.shown or focus.group or focus.cause or focus.shown[0] not in ordered:
        return False
    start = ordered.index(focus.shown[0])
    return tuple(ordered[start : start + len(focus.shown)]) == focus.shown


def after(wish: Wish | None, focus: Focus) -> Focus:
    """Return what is spoken of after a wish was answered."""
    match wish:
        case Show(how="list") if focus.rows is not None:
            # A list of nothing leaves "the first one" to what was listed before it.
            shown = selected(wish, focus) or focus.shown
            filtered = replace(focus, group=wish.group, cause=wish.cause, smallest=wish.smallest)
            return replace(filtered, topic="differences", shown=shown, account=None)
        case Compare() if focus.rows is not None:
            return replace(focus, topic="differences", shown=focus.rows, group=None, cause=None, smallest=False)
        case Budgets() if found := tuple(centre for centre in wish.centres if centre in focus.budgets):
            return replace(focus, topic="budget", centres=found)
        case _:
            return focus
