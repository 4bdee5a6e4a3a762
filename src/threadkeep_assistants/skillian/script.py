"""What the scripted model plays as this assistant: each question is understood by what the conversation holds so far.

The history is gone through with the same rules that answer now, so "the second one" is the second of what was listed
last, also right after a restart. What it does not understand is left to the demo, which says that it is scripted.
"""

from dataclasses import dataclass, field
from typing import Any

from threadkeep.conversation.message import Role
from threadkeep.llm.base import Request
from threadkeep_assistants.demo.script import Call, Reply, Result, Scene, Script
from threadkeep_assistants.skillian.ledger import SOURCES, Ledger, ledger
from threadkeep_assistants.skillian.question import BEYOND, BUDGET, COMPARE, LARGEST, LEFT, LISTED, WHY, Question
from threadkeep_assistants.skillian.tools import money

Row = dict[str, Any]
Answer = tuple[Call, ...] | str | None
"""What is needed first, what is said, or None if the question is about something else."""

_RECENT = 50
"""How many turns are understood again. Of older ones only what the tools found matters, not what was listed of it."""
_COMPARE_FIRST = "Nothing has been compared yet. Ask for example: Compare FI and BPC for company 1000."
_ONE_AT_A_TIME = "I compare what FI and BPC say about one company in one month at a time. Which one shall it be?"
_CENTRE_FIRST = "Which cost centre do you mean? Ask for example: What is the budget of cost centre CC-1001?"


@dataclass
class Focus:
    """What was spoken of: budgets, the place that was compared and its differences, those listed last, and the whole
    that they were the largest of; `is_answering` says that the tools for the question have run."""

    ledger: Ledger
    topic: str = ""
    budgets: dict[str, Row] = field(default_factory=dict)
    centres: tuple[str, ...] = ()
    place: dict[str, str] = field(default_factory=dict)
    rows: list[Row] | None = None
    summary: str = ""
    shown: list[Row] = field(default_factory=list)
    whole: list[Row] = field(default_factory=list)
    kind: str = "differences"
    account: str | None = None
    explained: Row = field(default_factory=dict)
    is_answering: bool = False

    @property
    def currency(self) -> str:
        """The currency of the company that is spoken of."""
        company = self.ledger.companies.get(self.place.get("company", ""))
        return company.currency if company else ""

    def take(self, result: Result) -> None:
        """Take up what a tool gave back; a call that failed changes nothing, one that was cut only the place."""
        value = result.value if isinstance(result.value, dict) else {}
        if result.error:
            return
        if result.tool == "get_budget" and all(isinstance(value.get(part), int) for part in ("budget", "spent")):
            code = str(result.args.get("cost_center"))
            self.budgets[code] = value
            self.topic, self.centres = "budget", (code,)
        elif result.tool in ("compare_sources", "explain_account"):
            self._take_place(result, value)

    def show(self, rows: list[Row], kind: str = "differences", whole: list[Row] | None = None) -> None:
        """Take down what is listed, and what it was chosen from."""
        self.topic, self.shown, self.kind, self.account = "differences", rows, kind, None
        self.whole = rows if whole is None else whole

    def _take_place(self, result: Result, value: Row) -> None:
        place = _place(self.ledger, {name: str(told) for name, told in result.args.items() if told})
        if place != self.place:
            self.place, self.rows, self.account = place, None, None
            self.shown = self.whole = []
        if result.tool == "explain_account" and isinstance(value.get("difference"), int):
            self.topic, self.account, self.explained = "account", str(value.get("account")), value
        elif result.tool == "compare_sources":
            found = value.get("differences")
            self.rows = [row for row in found if _is_row(row)] if isinstance(found, list) else None
            self.summary = str(value.get("summary") or "")
            self.show(self.rows or [])


def _place(kept: Ledger, named: dict[str, str]) -> dict[str, str]:
    """Return what is compared; what is not named is the default of the tools."""
    default = {"left": SOURCES[0], "right": SOURCES[1], "company": "1000", "period": kept.periods[-1]}
    return {name: named.get(name, told) for name, told in default.items()}


def _is_row(row: object) -> bool:
    """Whether this is a difference; what another model's tools left in the history may be anything."""
    return isinstance(row, dict) and isinstance(row.get("difference"), int) and {"account", "name"} <= row.keys()


def play(scene: Scene) -> Reply | None:
    """Answer a question about the ledger: from what was found before, or by calling a tool."""
    focus, messages = Focus(ledger=ledger()), scene.request.messages
    calls = {call.id: call for message in messages for call in message.tool_calls}
    said = [
        (at, text)
        for at, message in enumerate(messages)
        if message.role is Role.USER and (text := Scene(Request(messages=(message,))).question)
    ]
    for number, (at, text) in enumerate(said):
        question = Question(text, focus.ledger)
        is_now = number == len(said) - 1
        if is_now and not scene.results:
            break
        focus.is_answering = is_now
        for message in messages[at : len(messages) if is_now else said[number + 1][0]]:
            if (told := message.tool_result) and (call := calls.get(told.tool_call_id)):
                focus.take(Result(tool=call.name, args=call.args, content=message.content, error=told.error))
        if not is_now and len(said) - number <= _RECENT:
            _answer(question, focus)
    is_explained = focus.topic == "account" and any(result.tool == "explain_account" for result in scene.results)
    answer = _account(focus) if is_explained else _answer(Question(scene.question, focus.ledger), focus)
    errors = [result.error for result in scene.results if result.error]
    if not scene.results and isinstance(answer, tuple):
        return Reply(calls=answer)
    told_all = [answer] if isinstance(answer, str) and len(errors) < max(len(scene.results), 1) else []
    return Reply(text="\n\n".join([*told_all, *errors])) if told_all or errors else None


def _answer(question: Question, focus: Focus) -> Answer:
    """Return what a question needs or gets, and take down in the focus what is spoken of then."""
    now = focus.place.get("period", focus.ledger.periods[-1])
    months, compares = question.periods(now), question.has(COMPARE)
    named = {"company": next(iter(question.companies), ""), "period": next(iter(months), "")}
    named |= dict(zip(("left", "right"), question.sources, strict=True)) if len(question.sources) == 2 else {}
    named = {name: told for name, told in named.items() if told}
    place = _place(focus.ledger, focus.place | named)
    if compares and (len(question.companies) > 1 or len(months) > 1 or question.has("which company")):
        return _ONE_AT_A_TIME
    if question.centres or (question.has(BUDGET) and not compares):
        return _budgets(question, focus)
    is_talk = question.has("my name|remember|thank*|thx") and not question.text.numbers and not question.has(WHY)
    if is_talk or question.has(BEYOND):
        return None
    if (explained := _explain(question, focus, place)) is not None:
        return explained
    is_again = bool(focus.place) and question.has("again|summary")
    is_list = (question.has(LISTED) or question.is_narrowed) and not is_again
    if is_list and (focus.place or named) and (compares or question.is_narrowed or focus.topic != "budget"):
        is_known = focus.rows is not None and place == focus.place
        return _listed(question, focus) if is_known else (Call("compare_sources", place),)
    if focus.topic == "budget" and question.has(LEFT) and focus.centres:
        return _budgets(question, focus)
    if compares or is_again or (focus.place and named):
        is_vague = not (named or focus.place or question.has("compare*|reconcil*"))
        return _COMPARE_FIRST if is_vague else _compared(focus, place)
    return _COMPARE_FIRST if question.has(LARGEST) else None


def _budgets(question: Question, focus: Focus) -> Answer:
    is_other = question.has("budget of|budget for|budgets of|department|team") and not question.has("it|them|this|that")
    centres = question.centres or (() if is_other else focus.centres)
    if not centres:
        return _CENTRE_FIRST
    missing = tuple(centre for centre in centres if centre not in focus.budgets)
    if missing and not focus.is_answering:
        return tuple(Call("get_budget", {"cost_center": centre}) for centre in missing)
    told = tuple(centre for centre in centres if centre in focus.budgets)
    focus.topic, focus.centres = "budget", told
    return "\n\n".join(_budget(focus.ledger, centre, focus.budgets[centre]) for centre in told)


def _budget(kept: Ledger, code: str, value: Row) -> str:
    centre = kept.cost_centres.get(code)
    currency = kept.companies[centre.company].currency if centre else ""
    budget, spent = int(value["budget"]), int(value["spent"])
    name, left = f"{code} ({centre.name})" if centre else code, budget - spent
    share = f" ({round(100 * spent / budget)} %)" if budget else ""
    rest = f"{money(left, currency)} is left" if left >= 0 else f"it is {money(-left, currency)} over budget"
    return f"{name} has a budget of {money(budget, currency)}: {money(spent, currency)} is spent{share}, {rest}."


def _explain(question: Question, focus: Focus, place: dict[str, str]) -> Answer:
    """Tell why sources differ on an account: one that is named, a line of the list, or the one that was spoken of."""
    is_why, account = question.has(WHY), question.account
    if account is None and focus.place and (is_why or question.position is not None):
        if question.group or (not is_why and question.has("only|just")) or question.has("they|these|those|the causes"):
            return None
        if not focus.shown:
            return "There is no difference to speak of. Compare another company or period."
        numbers, at = [str(row["account"]) for row in focus.shown], question.position or 0
        if not -len(numbers) <= at < len(numbers):
            return f"The list has {len(numbers)} lines. Which of them do you mean?"
        account = focus.account if focus.account and question.position is None else numbers[at]
    if account is None or (question.has(COMPARE) and not is_why):
        return None
    if focus.topic == "account" and focus.place == place and focus.explained.get("account") == account:
        return _account(focus)
    return (Call("explain_account", {"account": account, **place}),)


def _account(focus: Focus) -> str:
    found, left, right = focus.explained, focus.place["left"], focus.place["right"]
    sides = f"{left} has {money(int(found.get(left, 0)))}, {right} {money(int(found.get(right, 0)))}"
    name = f"{found.get('account')} {found.get('name')} ({str(found.get('meaning')).lower()})"
    head = f"{name}, company {found.get('company')}, {found.get('period')}: {sides} {found.get('currency')}."
    if not found.get("difference"):
        return f"{head} Both sources say the same."
    postings = "".join(
        f"\n- only in {one['only_in']}: {one['document']} of {one['date']}, {int(one['amount']):,}, {one['text']}"
        for one in found.get("postings") or []
    )
    why = "; ".join(map(str, found.get("why") or []))
    return f"{head} The difference of {money(int(found['difference']))} has this reason: {why}.\n{postings}"


def _compared(focus: Focus, place: dict[str, str]) -> Answer:
    if focus.rows is None or place != focus.place:
        return (Call("compare_sources", place),)
    focus.show(focus.rows)
    told = focus.summary or f"{place['left']} and {place['right']} differ on {len(focus.rows)} accounts."
    hint = "Ask for the top 5, for only receivables, or why one of them differs."
    return f"{told}\n\nThe largest:\n\n{_numbered(focus.rows[:3], focus)}\n\n{hint}" if focus.rows else told


def _listed(question: Question, focus: Focus) -> str:
    """List, add up or count the differences that are meant; without a word on which, it is what was listed last, but
    a count is of all that it was chosen from: how many were listed, everybody sees."""
    rows, kind, where = focus.rows or [], question.kind, _where(focus)
    found = [row for row in rows if question.fits(row)]
    if question.has("sum|total|add|net|how many|count"):
        counts = question.has("how many|count|in all|altogether|overall")
        if not question.is_narrowed:
            found, kind = focus.whole if counts else focus.shown, focus.kind
        if question.has("how many|count"):
            return f"There {'is' if len(found) == 1 else 'are'} {_many(len(found), kind)} between {where}."
        net, gross = (sum(each(row["difference"]) for row in found) for each in (int, abs))
        amounts = f"{money(net, focus.currency)} net, {money(gross, focus.currency)} without regard to the sign."
        return f"{_many(len(found), kind)} between {where}: {amounts}"
    listed = found[: question.count or len(found)]
    if not listed:
        return f"There are no {kind} between {where}."
    head = _many(len(listed), kind)
    if question.count:
        head = f"The {len(listed)} largest of {len(found)} {kind}" if len(listed) > 1 else f"The largest {head[2:]}"
    focus.show(listed, kind, found)
    return f"{head} between {where}:\n\n{_numbered(listed, focus)}"


def _where(focus: Focus) -> str:
    place = focus.place
    return f"{place['left']} and {place['right']}, company {place['company']}, {place['period']}"


def _many(count: int, kind: str) -> str:
    return f"{count} {kind if count != 1 else kind.replace('differences', 'difference', 1)}"


def _numbered(rows: list[Row], focus: Focus) -> str:
    sides = (focus.place["left"], focus.place["right"])
    lines = []
    for number, row in enumerate(rows, 1):
        told = ", ".join(f"{side} {money(int(row.get(side, 0)))}" for side in sides)
        difference = f"{int(row['difference']):+,} {focus.currency}".rstrip()
        lines.append(f"{number}. {row['account']} {row['name']}: **{difference}** ({told}; {row.get('cause')})")
    return "\n".join(lines)


EXAMPLES = (
    "What is the budget of cost centre CC-1001?",
    "Compare FI and BPC for company 1000",
    "Show me the top 3",
    "Why is the first one different?",
)
SCRIPT = Script(rules=(play,), examples=EXAMPLES)
