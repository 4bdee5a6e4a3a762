"""Changing: any part, at any time, also after the skill is written; going back; and having it written."""

import re

from threadkeep_assistants.skill_creator.asking import (
    PURPOSE,
    READY_QUESTION,
    accept,
    ask,
    ask_next,
    everything,
    repeat,
    set_part,
)
from threadkeep_assistants.skill_creator.fields import BY_KEY, FIELDS, has
from threadkeep_assistants.skill_creator.intents import Change, Clear, Intent, Wish
from threadkeep_assistants.skill_creator.machine import GATHERING_DETAILS
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.proposals import derived
from threadkeep_assistants.skill_creator.reading import Unusable, value_of
from threadkeep_assistants.skill_creator.telling import Reply, Then, noted


def changed(book: Notebook, intent: Intent) -> Reply | None:
    """Do what an intent wants changed or written; None if it wants something else."""
    match intent:
        case Change():
            return _change(book, intent)
        case Clear(key):
            return clear(book, key)
        case Wish("write" | "template"):
            return write(book)
        case _:
            return None


def write(book: Notebook) -> Reply:
    """Have the skill written with what is known; what is needed and missing is made of the rest."""
    accept(book)
    if not has(book.values, PURPOSE):
        return ask(book, PURPOSE, "I can write it as soon as I know what it is for.")
    book.note(**derived(book.values), open_question=READY_QUESTION)
    return Reply(then=Then.WRITE)


def clear(book: Notebook, key: str) -> Reply:
    """Leave a part out; what is needed is asked for."""
    field = BY_KEY[key]
    _to_details(book)
    if field.is_needed:
        return ask(book, key, f"A skill needs this: **{field.label}**.")
    set_part(book, key, [])
    return resume(book, noted(key, []))


def resume(book: Notebook, lead: str) -> Reply:
    """Go on where a change came in between."""
    question = book.get("open_question", PURPOSE)
    is_open = question in BY_KEY and not has(book.values, question)
    return repeat(book, lead) if book.get("unconfirmed") or is_open else ask_next(book, lead)


def go_back(book: Notebook) -> Reply:
    """Return to the question before the open one."""
    keys, question = [field.key for field in FIELDS], book.get("open_question", PURPOSE)
    if question == PURPOSE:
        accept(book)
        return ask(book, PURPOSE, "Back to the beginning; nothing is lost.")
    book.drop("unconfirmed", "proposed")
    before = keys[keys.index(question) - 1] if question in keys else keys[-1]
    return ask(book, before, "One step back; nothing is lost.")


def shorten(book: Notebook) -> Reply:
    """Make a description shorter that has more than one sentence; anything else a person has to say anew."""
    description = str(everything(book).get("description") or "")
    is_meant = book.get("open_question") == "description" or "description" in (book.get("unconfirmed") or {})
    first = re.split(r"(?<=[.!?])\s", description)[0]
    if not is_meant or first == description:
        return repeat(book, "Please say it in your own words, as short as you like.")
    return resume(book, set_part(book, "description", first))


def take_along(book: Notebook, wish: Change) -> str:
    """Note a part that was named along with another one; return what to say."""
    value = value_of(BY_KEY[wish.key], wish.value)
    return value.why if isinstance(value, Unusable) else f"Noted. {set_part(book, wish.key, value)}"


def _change(book: Notebook, wish: Change) -> Reply:
    """Change a part, or ask what it should be."""
    field = BY_KEY[wish.key]
    _to_details(book)
    if not wish.value:
        accept(book)
        return ask(book, field.key, f"Let us change it: **{field.label}**.")
    value = value_of(field, wish.value)
    if isinstance(value, Unusable):
        return ask(book, field.key, value.why)
    current = everything(book).get(field.key) or []
    if wish.adds and isinstance(value, list):
        value = [*current, *(item for item in value if item not in current)]
    return resume(book, set_part(book, field.key, value))


def _to_details(book: Notebook) -> None:
    """Leave a later state: what changes has to be written again."""
    if has(book.values, PURPOSE):
        book.move(GATHERING_DETAILS)
