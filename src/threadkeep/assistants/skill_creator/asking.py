"""Asking: what is open, what comes next, and how what was said or inferred gets into the notebook."""

from typing import Any

from threadkeep.assistants.skill_creator.fields import BY_KEY, OPTIONAL, has, missing
from threadkeep.assistants.skill_creator.machine import GATHERING_DETAILS
from threadkeep.assistants.skill_creator.notebook import Notebook
from threadkeep.assistants.skill_creator.proposals import proposed
from threadkeep.assistants.skill_creator.reply import Reply
from threadkeep.assistants.skill_creator.rules import described
from threadkeep.assistants.skill_creator.telling import READY, asked_for, confirmation, shown, summary

PURPOSE, CONFIRM, READY_QUESTION = "purpose", "confirm", "ready"
MOST_ASKED = 2
"""How often a question about an optional part is asked before the part is left out."""
MOST_REMEMBERED = 200
"""How many of the questions that were asked are remembered."""


def repeated(book: Notebook) -> str:
    """Return the question that is open, once more."""
    if book.get("unconfirmed"):
        return confirmation(book.get("unconfirmed"), is_ours=bool(book.get("proposed")))
    question = book.get("open_question", PURPOSE)
    if question == READY_QUESTION:
        return READY
    return asked_for(BY_KEY[question], book.get(question))


def ask(book: Notebook, key: str, lead: str = "") -> Reply:
    """Ask about a part."""
    asked = [*book.get("questions_asked", []), key][-MOST_REMEMBERED:]
    book.note(open_question=key, questions_asked=asked)
    return Reply(f"{lead}\n\n{asked_for(BY_KEY[key], book.get(key))}".strip())


def set_part(book: Notebook, key: str, value: Any) -> str:
    """Note the value of a part that a person gave; a description that was made of it follows. Return what to say."""
    before = everything(book)
    follows = key in (PURPOSE, "triggers") and _made_description(before) == before.get("description")
    _put(book, key, value)
    if follows and (renewed := _made_description(everything(book))):
        _put(book, "description", renewed)
    return f"**{BY_KEY[key].label}**: {shown(key, value).rstrip('.')}."


def everything(book: Notebook) -> dict[str, Any]:
    """Return all that is known, confirmed or not."""
    return book.values | (book.get("unconfirmed") or {})


def _put(book: Notebook, key: str, value: Any) -> None:
    given = book.get("unconfirmed") or {}
    book.note(**({"unconfirmed": {**given, key: value}} if key in given else {key: value}))


def _made_description(values: dict[str, Any]) -> str | None:
    return described(values["purpose"], values.get("triggers") or []) if values.get("purpose") else None


def accept(book: Notebook) -> None:
    """Take what was inferred for granted."""
    book.note(**(book.get("unconfirmed") or {}))
    book.drop("unconfirmed", "proposed")
    if has(book.values, "purpose"):
        book.move(GATHERING_DETAILS)


def propose(book: Notebook, parts: dict[str, Any], lead: str = "", *, ours: bool = False) -> Reply:
    """Show what was inferred, or what is `ours` because it was left to us, for confirmation."""
    asked = [*book.get("questions_asked", []), CONFIRM][-MOST_REMEMBERED:]
    book.note(unconfirmed=parts, questions_asked=asked)
    if ours:
        book.note(proposed=True)
    else:
        book.drop("proposed")
    return Reply(f"{lead}\n\n{repeated(book)}".strip())


def ask_next(book: Notebook, lead: str = "") -> Reply:
    """Ask about the next part that is missing; with nothing missing, whether to write."""
    for key in missing(book.values):
        if key in OPTIONAL and book.get("questions_asked", []).count(key) >= MOST_ASKED:
            book.note(**{key: []})
            continue
        return ask(book, key, lead)
    book.note(open_question=READY_QUESTION)
    return Reply(f"{lead}\n\n{summary(book.values)}".strip())


def decide_everything(book: Notebook) -> Reply:
    known = dict(book.values)
    parts: dict[str, Any] = {}
    for key in missing(book.values):
        parts[key] = proposed(key, known | parts)
    return propose(book, parts, ours=True) if parts else ask_next(book)
