"""Gathering: one question at a time; what was inferred is confirmed, what was said is noted, all can be changed."""

import re
from typing import Any

from threadkeep.assistants.skill_creator.asking import (
    MOST_ASKED,
    MOST_REMEMBERED,
    PURPOSE,
    READY_QUESTION,
    accept,
    ask,
    ask_next,
    decide_everything,
    everything,
    propose,
    repeated,
    set_part,
)
from threadkeep.assistants.skill_creator.fields import BY_KEY, FIELDS, OPTIONAL, Field, Kind, has
from threadkeep.assistants.skill_creator.intents import (
    Change,
    Clear,
    No,
    Nothing,
    Said,
    Skip,
    Wish,
    Yes,
    YouDecide,
    read,
)
from threadkeep.assistants.skill_creator.machine import GATHERING_DETAILS, GATHERING_PURPOSE
from threadkeep.assistants.skill_creator.notebook import Notebook
from threadkeep.assistants.skill_creator.phrasing import base_form
from threadkeep.assistants.skill_creator.proposals import proposed
from threadkeep.assistants.skill_creator.reading import Unusable, value_of
from threadkeep.assistants.skill_creator.reply import Heard, Reply, Then
from threadkeep.assistants.skill_creator.rules import derived, understood
from threadkeep.assistants.skill_creator.telling import READY

_ALSO = re.compile(
    r"^(?:it |and |plus )*(?:should |can |must )?(?:also|additionally|in addition)\b[ ,]*(?:it )?(?:should |can "
    r"|must )?",
    re.IGNORECASE,
)

WELCOME = "I help you to make a skill: a folder with instructions that an assistant follows."
AGAIN = "I did not find an answer in that, so nothing has changed."


def gather(book: Notebook, heard: Heard) -> Reply:
    """Take up what was said while the skill is being described."""
    question = book.get("open_question", PURPOSE)
    if not has(book.values, "purpose") and not book.get("unconfirmed"):
        return _take_purpose(book, heard)
    match heard.intent:
        case Change():
            return change(book, heard.intent)
        case Clear():
            return clear(book, heard.intent.key)
        case Wish("write" | "again" | "template"):
            return write(book)
        case Wish("back"):
            return _back(book, question)
    if book.get("unconfirmed"):
        return _take_confirmation(book, heard)
    if question == READY_QUESTION:
        return _take_go(book, heard)
    return _take_answer(book, heard, BY_KEY[question])


def write(book: Notebook) -> Reply:
    """Have the skill written with what is known; what is needed and missing is made of the rest."""
    accept(book)
    if not has(book.values, "purpose"):
        return ask(book, PURPOSE, "I can write it as soon as I know what it is for.")
    book.note(**derived(book.values), open_question=READY_QUESTION)
    return Reply(then=Then.WRITE)


def change(book: Notebook, wish: Change) -> Reply:
    """Change a part, or ask what it should be."""
    field, given = BY_KEY[wish.key], book.get("unconfirmed") or {}
    _to_details(book)
    if not wish.value:
        accept(book)
        return ask(book, field.key, f"Let us change it: **{field.label}**.")
    value = value_of(field, wish.value)
    if isinstance(value, Unusable):
        return ask(book, field.key, value.why)
    current = given.get(field.key, book.get(field.key))
    if wish.adds and isinstance(value, list):
        value = [*(current or []), *(item for item in value if item not in (current or []))]
    noted = set_part(book, field.key, value)
    return _resume(book, noted)


def clear(book: Notebook, key: str) -> Reply:
    """Leave a part out; what is needed is asked for."""
    field = BY_KEY[key]
    _to_details(book)
    if field.is_needed:
        return ask(book, key, f"A skill needs this: **{field.label}**.")
    set_part(book, key, [])
    if book.get("open_question") == key:
        return ask_next(book, f"**{field.label}**: none.")
    return _resume(book, f"**{field.label}**: none.")


def _resume(book: Notebook, lead: str) -> Reply:
    """Go on where a change came in between."""
    if book.get("unconfirmed"):
        return Reply(f"{lead}\n\n{repeated(book)}")
    question = book.get("open_question", PURPOSE)
    if question == READY_QUESTION or question not in BY_KEY or has(book.values, question):
        return ask_next(book, lead)
    return Reply(f"{lead}\n\n{repeated(book)}")


def _to_details(book: Notebook) -> None:
    """Leave a later state: what changes has to be written again."""
    if has(book.values, "purpose"):
        book.move(GATHERING_DETAILS)


def _back(book: Notebook, question: str) -> Reply:
    """Return to the question before the open one."""
    keys = [field.key for field in FIELDS]
    if question == PURPOSE:
        accept(book)
        return ask(book, PURPOSE, "Back to the beginning; nothing is lost.")
    book.drop("unconfirmed", "proposed")
    before = keys[-1] if question == READY_QUESTION else keys[keys.index(question) - 1]
    return ask(book, before, "One step back; nothing is lost.")


def _take_purpose(book: Notebook, heard: Heard) -> Reply:
    """Take up what is said while nothing is known of the purpose."""
    is_first = not book.get("questions_asked")
    book.move(GATHERING_PURPOSE)
    wish = heard.intent
    tells = isinstance(wish, Said | Change | Clear) or (isinstance(wish, Yes | No) and wish.rest)
    parts = {**understood(heard.text), **heard.parts} if tells else {}
    if parts.get("purpose"):
        return propose(book, parts | derived(book.values | parts), WELCOME if is_first else "")
    noted = " ".join(set_part(book, key, value) for key, value in parts.items())
    again = f"Noted. {noted}" if noted else "Let us try again: a sentence about what it does is enough to begin with."
    return ask(book, PURPOSE, WELCOME if is_first else again)


def _take_confirmation(book: Notebook, heard: Heard) -> Reply:
    """Take up what is said about what was inferred."""
    match heard.intent:
        case Yes(rest):
            accept(book)
            return _take_rest(book, rest)
        case YouDecide(everything=True):
            accept(book)
            return decide_everything(book)
        case Skip() if set(book.get("unconfirmed")) <= set(OPTIONAL):
            book.note(**{key: [] for key in book.get("unconfirmed")})
            book.drop("unconfirmed", "proposed")
            return ask_next(book, "Good, I leave that out.")
        case Skip() | YouDecide():
            accept(book)
            return ask_next(book, "Good.")
        case No(rest) if rest:
            return _correct(book, rest, heard.parts)
        case No():
            return _doubt(book)
        case Said(text):
            return _correct(book, text, heard.parts)
        case _:
            return Reply(f"{AGAIN}\n\n{repeated(book)}")


def _take_rest(book: Notebook, rest: str) -> Reply:
    """Go on after a yes that had something behind it."""
    wish = read(rest) if rest else None
    if isinstance(wish, Change):
        return change(book, wish)
    if isinstance(wish, Clear):
        return clear(book, wish.key)
    if isinstance(wish, Wish) and wish.name == "write":
        return write(book)
    parts = {} if not isinstance(wish, Said) else _also(book, rest) or {}
    return propose(book, parts, "Good.") if parts else ask_next(book, "Good.")


def _correct(book: Notebook, text: str, parts: dict[str, Any]) -> Reply:
    """Take a correction of what was inferred."""
    wish, given = read(text), dict(book.get("unconfirmed"))
    if isinstance(wish, Change):
        return change(book, wish)
    if isinstance(wish, Clear):
        return clear(book, wish.key)
    if len(given) == 1 and PURPOSE not in given:
        return _replace_only(book, BY_KEY[next(iter(given))], text)
    told = parts or _also(book, text) or understood(text)
    if not told:
        return Reply(f"I am not sure what that changes.\n\n{repeated(book)}")
    if PURPOSE in told:
        # What was made of the old purpose goes with it.
        made = derived({key: given[key] for key in ("purpose", "triggers") if key in given})
        given = {key: value for key, value in given.items() if made.get(key) != value}
    merged = given | told
    return propose(book, merged | derived(book.values | merged), "Thank you, I changed that.")


def _replace_only(book: Notebook, field: Field, text: str) -> Reply:
    """Take the words of a person in place of the one thing that was inferred."""
    value = value_of(field, text)
    if isinstance(value, Unusable):
        return Reply(f"{value.why}\n\n{repeated(book)}")
    book.drop("unconfirmed", "proposed")
    return ask_next(book, set_part(book, field.key, value))


def _also(book: Notebook, text: str) -> dict[str, Any] | None:
    """Return the capabilities with one that was added: "it also finds dates"."""
    added = _ALSO.sub("", text, count=1)
    if added == text or not added.strip():
        return None
    now = everything(book)
    known = now.get("capabilities") or proposed("capabilities", now)
    value = value_of(BY_KEY["capabilities"], base_form(added))
    return None if isinstance(value, Unusable) else {"capabilities": [*known, *value]}


def _doubt(book: Notebook) -> Reply:
    """Ask what is wrong; whoever says no twice is asked part by part."""
    if book.get("questions_asked", [])[-1:] != ["doubt"]:
        book.note(questions_asked=[*book.get("questions_asked", []), "doubt"][-MOST_REMEMBERED:])
        return Reply(
            'What should be different? For example: "change the name to ...", or tell me again what it should do.'
        )
    dropped = book.get("unconfirmed")
    book.drop("unconfirmed", "proposed")
    if PURPOSE in dropped:
        return ask(book, PURPOSE, "Then let us begin with the purpose once more.")
    return ask(book, next(iter(dropped)), "Then please tell me.")


def _take_go(book: Notebook, heard: Heard) -> Reply:
    """Take up what is said to the question whether to write."""
    match heard.intent:
        case Yes(rest) if rest:
            return _take_rest(book, rest)
        case Yes() | YouDecide() | Skip():
            return write(book)
        case No(rest) if rest and isinstance(wish := read(rest), Change):
            return change(book, wish)
        case Said() | No() if parts := heard.parts or _also(book, heard.text):
            return propose(book, parts)
        case No():
            return Reply('What should I change? For example: "change the description", "add an example: ...".')
        case Nothing():
            return Reply(f"{AGAIN}\n\n{READY}")
        case _:
            return Reply(f'I did not get which part that is about. Say, for example, "change the steps".\n\n{READY}')


def _take_answer(book: Notebook, heard: Heard, field: Field) -> Reply:
    """Take up the answer to the question about a part."""
    known = has(book.values, field.key)
    match heard.intent:
        case Yes(rest) | No(rest) if rest:
            return _take_value(book, field, rest, heard.parts)
        case Said(text):
            return _take_value(book, field, text, heard.parts)
        case No() | Skip(none=True) if known and not field.is_needed:
            return clear(book, field.key)
        case Yes() | Skip() | No() if known:
            return ask_next(book, f"**{field.label}** stays as it is.")
        case Yes():
            return _ask_again(book, field, "Please tell me which.")
        case YouDecide(everything=True):
            return decide_everything(book)
        case Skip() | No() | YouDecide():
            return _leave_to_us(book, field, wanted=isinstance(heard.intent, YouDecide))
        case _:
            return _ask_again(book, field, AGAIN)


def _take_value(book: Notebook, field: Field, text: str, parts: dict[str, Any]) -> Reply:
    value = parts.get(field.key) if field.kind is not Kind.NAME else None
    if value is None:
        value = (understood(text).get(PURPOSE) if field.key == PURPOSE else None) or value_of(field, text)
    if isinstance(value, Unusable):
        return _ask_again(book, field, value.why)
    noted = set_part(book, field.key, value)
    further = {key: part for key, part in parts.items() if key != field.key and not has(book.values, key)}
    return propose(book, further, f"Noted. {noted}") if further else ask_next(book, f"Noted. {noted}")


def _ask_again(book: Notebook, field: Field, why: str) -> Reply:
    """Ask once more; an optional part that was asked for often enough is left out."""
    if not field.is_needed and book.get("questions_asked", []).count(field.key) >= MOST_ASKED:
        book.note(**{field.key: book.get(field.key) or []})
        return ask_next(book, f'{why} I leave that out for now; say "change the {field.words[0]}" to come back to it.')
    return ask(book, field.key, why)


def _leave_to_us(book: Notebook, field: Field, *, wanted: bool) -> Reply:
    """Leave a part out, or put what we would; what is needed cannot be left out."""
    value = proposed(field.key, book.values) if wanted or field.is_needed else []
    if value:
        return propose(book, {field.key: value}, ours=True)
    book.note(**{field.key: []})
    return ask_next(book, f"**{field.label}**: none.")
