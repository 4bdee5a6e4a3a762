"""Asking: which question is open, what comes next, and how what was said or inferred gets into the notebook."""

from typing import Any

from threadkeep_assistants.skill_creator.fields import BY_KEY, OPTIONAL, has, missing
from threadkeep_assistants.skill_creator.machine import GATHERING_DETAILS
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.proposals import described, proposed
from threadkeep_assistants.skill_creator.telling import READY, WHERE, Reply, asked_for, confirmation, noted, summary

PURPOSE, CONFIRM, READY_QUESTION = "purpose", "confirm", "ready"
STORAGE, TAKEN, FAILED = "storage", "taken", "failed"
MOST_ASKED = 2
"""How often a question about an optional part is asked before the part is left out."""


def open_question(book: Notebook) -> str:
    """Return the question that is open, once more."""
    if book.get("unconfirmed"):
        return confirmation(book.get("unconfirmed"), is_ours=bool(book.get("proposed")))
    question = book.get("open_question", PURPOSE)
    if question in BY_KEY:
        return asked_for(BY_KEY[question], book.get(question))
    taken = (
        f"There is another skill named **{book.get('skill_name')}** already. Say *replace*, or tell me another name."
    )
    failed = f"Say *try again*, or choose another place. {WHERE}"
    return {READY_QUESTION: READY, STORAGE: WHERE, TAKEN: taken, FAILED: failed}[question]


def repeat(book: Notebook, lead: str) -> Reply:
    """Say something and ask the open question once more."""
    return Reply(f"{lead}\n\n{open_question(book)}")


def ask(book: Notebook, key: str, lead: str = "") -> Reply:
    """Ask about a part."""
    book.note(open_question=key)
    book.remember(key)
    return Reply(f"{lead}\n\n{asked_for(BY_KEY[key], book.get(key))}".strip())


def ask_next(book: Notebook, lead: str = "") -> Reply:
    """Ask about the next part that is missing; with nothing missing, whether to write."""
    for key in missing(book.values):
        if key not in OPTIONAL:
            return ask(book, key, lead)
        if book.get("generated_content"):
            # Whoever had it written without this does not want to be asked for it.
            continue
        if book.times_asked(key) < MOST_ASKED:
            return ask(book, key, lead)
        book.note(**{key: []})
    book.note(open_question=READY_QUESTION)
    return Reply(f"{lead}\n\n{summary(book.values)}".strip())


def propose(book: Notebook, parts: dict[str, Any], lead: str = "", *, ours: bool = False) -> Reply:
    """Show what was inferred, or what is `ours` because it was left to us, for confirmation."""
    book.note(unconfirmed=parts)
    book.remember(CONFIRM)
    if ours:
        book.note(proposed=True)
    else:
        book.drop("proposed")
    return Reply(f"{lead}\n\n{open_question(book)}".strip())


def propose_everything(book: Notebook) -> Reply:
    """Show what we would put for all that is missing."""
    parts: dict[str, Any] = {}
    for key in missing(book.values):
        parts[key] = proposed(key, book.values | parts)
    return propose(book, parts, ours=True) if parts else ask_next(book)


def accept(book: Notebook) -> None:
    """Take what was inferred for granted."""
    book.note(**(book.get("unconfirmed") or {}))
    book.drop("unconfirmed", "proposed")
    if has(book.values, PURPOSE):
        book.move(GATHERING_DETAILS)


def set_part(book: Notebook, key: str, value: Any) -> str:
    """Note the value of a part that a person gave; a description that was made of it follows. Return what to say."""
    before = everything(book)
    follows = key in (PURPOSE, "triggers") and _made_description(before) == before.get("description")
    _put(book, key, value)
    if follows and (renewed := _made_description(everything(book))):
        _put(book, "description", renewed)
    return noted(key, value)


def everything(book: Notebook) -> dict[str, Any]:
    """Return all that is known, confirmed or not."""
    return book.values | (book.get("unconfirmed") or {})


def _put(book: Notebook, key: str, value: Any) -> None:
    given = book.get("unconfirmed") or {}
    book.note(**({"unconfirmed": {**given, key: value}} if key in given else {key: value}))


def _made_description(values: dict[str, Any]) -> str | None:
    return described(values["purpose"], values.get("triggers") or []) if values.get("purpose") else None
