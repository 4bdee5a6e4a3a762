"""What the scripted model plays as this assistant: each question is understood by what the conversation holds so far.

The history is gone through turn by turn with the same rules that answer now, so "the second one" is the second of what
was listed last, also right after a restart.
"""

from collections.abc import Iterator
from typing import assert_never

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep.llm.script import Call, Reply, Scene, Script
from threadkeep_assistants.skillian.answers import (
    ask_back,
    tell_account,
    tell_budgets,
    tell_catalogue,
    tell_comparison,
    tell_differences,
    tell_owners,
)
from threadkeep_assistants.skillian.focus import Focus
from threadkeep_assistants.skillian.ledger import ledger
from threadkeep_assistants.skillian.reading import read
from threadkeep_assistants.skillian.selection import after, is_at_hand
from threadkeep_assistants.skillian.understanding import understand
from threadkeep_assistants.skillian.wish import Ask, Budgets, Catalogue, Compare, Explain, Owners, Show, Wish

_RECENT = 50
"""How many turns are understood again. Of older ones only what the tools found matters, not what was listed of it."""


def play(scene: Scene) -> Reply | None:
    """Answer a question about the ledger: from what was found before, or by calling a tool."""
    focus = _focus_before(scene)
    wish = understand(read(scene.question, focus.ledger), focus)
    if wish is None:
        return None
    if not scene.results and (calls := _calls(wish, focus)):
        return Reply(calls=calls)
    errors = [result.error for result in scene.results if result.error]
    told = [] if errors and len(errors) == len(scene.results) else [_told(wish, _taken(focus, scene))]
    return Reply(text="\n\n".join([*told, *errors]))


def _focus_before(scene: Scene) -> Focus:
    """Return what was spoken of before the question, by playing all turns again."""
    focus = Focus(ledger=ledger())
    *turns, _ = _turns(scene)
    for age, turn in zip(range(len(turns), 0, -1), turns, strict=True):
        wish = understand(read(turn[0].question, focus.ledger), focus) if age <= _RECENT else None
        for moment in turn:
            focus = _taken(focus, moment)
        focus = after(wish, focus)
    return focus


def _turns(scene: Scene) -> list[list[Scene]]:
    """Return the turns of a conversation, each as the moments at which the model was asked; the last is the present."""
    starts = [index for index, message in enumerate(scene.request.messages) if _is_question(message)]
    ends = [*starts[1:], len(scene.request.messages)]
    return [list(_moments(scene, start, end)) for start, end in zip(starts, ends, strict=True)] or [[scene]]


def _is_question(message: Message) -> bool:
    return message.role is Role.USER and bool(_part(message).question)


def _moments(scene: Scene, start: int, end: int) -> Iterator[Scene]:
    messages = scene.request.messages
    for index in range(start + 1, end + 1):
        if index == end or messages[index].role is Role.ASSISTANT:
            yield _part(*messages[start:index])


def _part(*messages: Message) -> Scene:
    return Scene(Request(messages=messages))


def _taken(focus: Focus, scene: Scene) -> Focus:
    for result in scene.results:
        focus = focus.take(result)
    return focus


def _calls(wish: Wish, focus: Focus) -> tuple[Call, ...]:
    """Return the calls that a wish needs; none if the history holds what is wanted."""
    match wish:
        case Budgets():
            wanted = [centre for centre in wish.centres if centre in wish.named or centre not in focus.budgets]
            return tuple(Call("get_budget", {"cost_center": centre}) for centre in wanted)
        case Compare():
            is_known = wish.again and focus.summary and focus.rows is not None
            return () if is_known else (Call("compare_sources", wish.place),)
        case Show():
            return () if wish.of_shown or is_at_hand(wish, focus) else (_listing(wish),)
        case Explain():
            return (Call("explain_account", {"account": wish.account, **wish.place}),)
        case Ask() | Catalogue() | Owners():
            return ()
        case _:
            assert_never(wish)


def _listing(wish: Show) -> Call:
    limit = {"limit": wish.count} if wish.is_top and wish.count is not None else {}
    group = {} if wish.group is None else {"group": wish.group}
    return Call("list_differences", {"limit": 100, **limit, **group, **wish.place})


def _told(wish: Wish, focus: Focus) -> str:
    match wish:
        case Budgets():
            return tell_budgets(wish, focus)
        case Compare():
            return tell_comparison(focus)
        case Show():
            return tell_differences(wish, focus)
        case Explain():
            return tell_account(focus)
        case Ask():
            return ask_back(wish, focus)
        case Catalogue():
            return tell_catalogue(wish, focus.ledger)
        case Owners():
            return tell_owners(wish, focus.ledger)
        case _:
            assert_never(wish)


EXAMPLES = (
    "What is the budget of cost centre CC-1001?",
    "Compare FI and BPC for company 1000",
    "Show me the top 3",
    "Why is the first one different?",
)

SCRIPT = Script(rules=(play,), examples=EXAMPLES)
