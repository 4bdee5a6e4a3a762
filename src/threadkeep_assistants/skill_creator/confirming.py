"""Confirming: what was inferred, or what we would put, is shown; a person agrees, corrects it or doubts it."""

import re
from typing import Any

from threadkeep_assistants.skill_creator.asking import (
    PURPOSE,
    accept,
    ask,
    ask_next,
    everything,
    propose,
    propose_everything,
    repeat,
    set_part,
)
from threadkeep_assistants.skill_creator.changing import changed
from threadkeep_assistants.skill_creator.fields import BY_KEY, OPTIONAL, Field
from threadkeep_assistants.skill_creator.intents import Heard, No, Said, Skip, Yes, YouDecide
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.phrasing import base_form
from threadkeep_assistants.skill_creator.proposals import derived, proposed
from threadkeep_assistants.skill_creator.reading import Unusable, value_of
from threadkeep_assistants.skill_creator.telling import AGAIN, Reply
from threadkeep_assistants.skill_creator.understanding import understood
from threadkeep_assistants.skill_creator.wording import read

_DOUBT = "doubt"
_ALSO = re.compile(
    r"^(?:it |and |plus )*(?:should |can |must )?(?:also|additionally|in addition)\b[ ,]*(?:it )?(?:should |can "
    r"|must )?",
    re.IGNORECASE,
)


def confirm(book: Notebook, heard: Heard) -> Reply:
    """Take up what is said about what was inferred."""
    match heard.intent:
        case Yes(rest):
            accept(book)
            return take_rest(book, rest)
        case YouDecide(everything=True):
            accept(book)
            return propose_everything(book)
        case Skip() if set(book.get("unconfirmed")) <= set(OPTIONAL):
            book.note(**{key: [] for key in book.get("unconfirmed")})
            book.drop("unconfirmed", "proposed")
            return ask_next(book, "Good, I leave that out.")
        case Skip() | YouDecide():
            accept(book)
            return ask_next(book, "Good.")
        case No(text) | Said(text) if text:
            return _correct(book, text, heard.parts)
        case No():
            return _doubt(book)
        case _:
            return repeat(book, AGAIN)


def take_rest(book: Notebook, rest: str) -> Reply:
    """Go on after a yes that had something behind it."""
    wish = read(rest)
    if reply := changed(book, wish):
        return reply
    parts = also(book, rest) if isinstance(wish, Said) else {}
    return propose(book, parts, "Good.") if parts else ask_next(book, "Good.")


def also(book: Notebook, text: str) -> dict[str, Any]:
    """Return the capabilities with one that was added: "it also finds dates"; nothing if none was."""
    added = _ALSO.sub("", text, count=1)
    if added == text or not added.strip():
        return {}
    now = everything(book)
    known = now.get("capabilities") or proposed("capabilities", now)
    value = value_of(BY_KEY["capabilities"], base_form(added))
    return {} if isinstance(value, Unusable) else {"capabilities": [*known, *value]}


def _correct(book: Notebook, text: str, parts: dict[str, Any]) -> Reply:
    """Take a correction of what was inferred."""
    given = dict(book.get("unconfirmed"))
    if reply := changed(book, read(text)):
        return reply
    if len(given) == 1 and PURPOSE not in given:
        return _replace(book, BY_KEY[next(iter(given))], text)
    told = parts or also(book, text) or understood(text)
    if not told:
        return repeat(book, "I am not sure what that changes.")
    if PURPOSE in told:
        # What was made of the old purpose goes with it.
        made = derived({key: given[key] for key in (PURPOSE, "triggers") if key in given})
        given = {key: value for key, value in given.items() if made.get(key) != value}
    merged = given | told
    return propose(book, merged | derived(book.values | merged), "Thank you, I changed that.")


def _replace(book: Notebook, field: Field, text: str) -> Reply:
    """Take the words of a person in place of the one thing that was inferred."""
    value = value_of(field, text)
    if isinstance(value, Unusable):
        return repeat(book, value.why)
    book.drop("unconfirmed", "proposed")
    return ask_next(book, set_part(book, field.key, value))


def _doubt(book: Notebook) -> Reply:
    """Ask what is wrong; whoever says no twice is asked part by part."""
    if book.get("questions_asked", [])[-1:] != [_DOUBT]:
        book.remember(_DOUBT)
        return Reply(
            'What should be different? For example: "change the name to ...", or tell me again what it should do.'
        )
    dropped = book.get("unconfirmed")
    book.drop("unconfirmed", "proposed")
    if PURPOSE in dropped:
        return ask(book, PURPOSE, "Then let us begin with the purpose once more.")
    return ask(book, next(iter(dropped)), "Then please tell me.")
