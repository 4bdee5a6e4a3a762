"""Gathering: one question at a time. An answer is noted, what it tells beside is taken along, the next is asked."""

import re
from dataclasses import replace
from typing import Any

from threadkeep_assistants.skill_creator.asking import (
    MOST_ASKED,
    PURPOSE,
    READY_QUESTION,
    ask,
    ask_next,
    everything,
    propose,
    propose_everything,
    repeat,
    set_part,
)
from threadkeep_assistants.skill_creator.changing import changed, clear, go_back, resume, shorten, take_along, write
from threadkeep_assistants.skill_creator.confirming import also, confirm, take_rest
from threadkeep_assistants.skill_creator.fields import BY_KEY, Field, Kind, has
from threadkeep_assistants.skill_creator.intents import (
    Asks,
    Change,
    Clear,
    Heard,
    No,
    Nothing,
    Said,
    Skip,
    Wish,
    Yes,
    YouDecide,
)
from threadkeep_assistants.skill_creator.machine import GATHERING_PURPOSE
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.proposals import derived, proposed
from threadkeep_assistants.skill_creator.reading import Unusable, value_of
from threadkeep_assistants.skill_creator.telling import AGAIN, READY, WELCOME, Reply, explained, noted
from threadkeep_assistants.skill_creator.understanding import understood
from threadkeep_assistants.skill_creator.wording import read

_ABOUT_US = re.compile(
    r"\b(?:mean|triggers?|examples?|question|skill|you ask|did i (?:say|tell)|purpose|description)\b", re.IGNORECASE
)
_REQUEST = re.compile(
    r"\bskill\b.*\b(?:that|which|to|for)\b"
    r"|^(?:can|could|would|will) you (?:please )?(?!explain|give|tell|show|clarify|repeat|rephrase)",
    re.IGNORECASE,
)
_NEVER_WHEN = ("reference_topics", "scripts_needed", "allowed_tools")
"""Parts that no sentence with a "when" is about; that tells when to use a skill."""
_NEVER_ALSO = ("workflow_steps", "examples", *_NEVER_WHEN)
"""Parts that "it should also ..." is not about; that tells what a skill can do."""


def gather(book: Notebook, heard: Heard) -> Reply:
    """Take up what was said while the skill is being described; what was said along about other parts first."""
    if not isinstance(heard.intent, Said | Change) or not heard.intent.more:
        return _gather(book, _as_answer(book, heard))
    along = " ".join(take_along(book, wish) for wish in heard.intent.more)
    reply = _gather(book, replace(heard, intent=replace(heard.intent, more=())))
    return replace(reply, text=f"{along}\n\n{reply.text}".strip())


def _as_answer(book: Notebook, heard: Heard) -> Heard:
    """Return a question as an answer where it is one: as an example, or as a polite way to tell the purpose."""
    if not isinstance(heard.intent, Asks):
        return heard
    question = "" if book.get("unconfirmed") else book.get("open_question", PURPOSE)
    is_example = question == "examples" and not _ABOUT_US.search(heard.text)
    is_purpose = question == PURPOSE and _REQUEST.search(heard.text) and understood(heard.text).get(PURPOSE)
    return replace(heard, intent=Said(heard.text)) if is_example or is_purpose else heard


def _gather(book: Notebook, heard: Heard) -> Reply:
    question = book.get("open_question", PURPOSE)
    if isinstance(heard.intent, Asks):
        return _explain(book, heard.text)
    if not has(book.values, PURPOSE) and not book.get("unconfirmed"):
        return _take_purpose(book, heard)
    if heard.intent == Wish("again"):
        return write(book)
    if heard.intent == Wish("back"):
        return go_back(book)
    if heard.intent == Wish("shorter"):
        return shorten(book)
    if reply := changed(book, heard.intent):
        return reply
    if book.get("unconfirmed"):
        return confirm(book, heard)
    return _take_go(book, heard) if question == READY_QUESTION else _take_answer(book, heard, BY_KEY[question])


def _explain(book: Notebook, question: str) -> Reply:
    """Answer a question of a person, and ask ours."""
    told = explained(question, everything(book))
    return repeat(book, told) if book.get("questions_asked") else ask(book, PURPOSE, told)


def _take_purpose(book: Notebook, heard: Heard) -> Reply:
    """Take up what is said while nothing is known of the purpose."""
    is_first = not book.get("questions_asked")
    book.move(GATHERING_PURPOSE)
    wish = heard.intent
    tells = isinstance(wish, Said | Change | Clear) or (isinstance(wish, Yes | No) and wish.rest)
    parts = {**understood(heard.text), **heard.parts} if tells else {}
    if parts.get(PURPOSE):
        return propose(book, parts | derived(book.values | parts), WELCOME if is_first else "")
    told = " ".join(set_part(book, key, value) for key, value in parts.items())
    again = f"Noted. {told}" if told else "Let us try again: a sentence about what it does is enough to begin with."
    return ask(book, PURPOSE, WELCOME if is_first else again)


def _take_go(book: Notebook, heard: Heard) -> Reply:
    """Take up what is said to the question whether to write."""
    match heard.intent:
        case Yes(rest) if rest:
            return take_rest(book, rest)
        case Yes() | YouDecide() | Skip():
            return write(book)
        case No(rest) if rest and (reply := changed(book, read(rest))):
            return reply
        case Said() | No() if parts := heard.parts or also(book, heard.text):
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
        case Said() if elsewhere := _elsewhere(book, heard.text, field.key):
            return resume(book, " ".join(set_part(book, key, value) for key, value in elsewhere.items()))
        case Yes(text) | No(text) | Said(text) if text:
            return _take_value(book, field, text, heard.parts)
        case No() | Skip(none=True) if known and not field.is_needed:
            return clear(book, field.key)
        case Yes() | Skip() | No() if known:
            return ask_next(book, f"**{field.label}** stays as it is.")
        case Yes():
            return _ask_again(book, field, "Please tell me which.")
        case YouDecide(everything=True):
            return propose_everything(book)
        case Skip() | No() | YouDecide():
            return _leave_to_us(book, field, wanted=isinstance(heard.intent, YouDecide))
        case _:
            return _ask_again(book, field, AGAIN)


def _elsewhere(book: Notebook, text: str, key: str) -> dict[str, Any]:
    """Return what plainly belongs to another part than the one that was asked for."""
    told = understood(text) if key in _NEVER_WHEN else {}
    when = {"triggers": told["triggers"]} if "triggers" in told else {}
    return (also(book, text) if key in _NEVER_ALSO else {}) or when


def _take_value(book: Notebook, field: Field, text: str, parts: dict[str, Any]) -> Reply:
    value = parts.get(field.key) if field.kind is not Kind.NAME else None
    if value is None:
        value = (understood(text).get(PURPOSE) if field.key == PURPOSE else None) or value_of(field, text)
    if isinstance(value, Unusable):
        return _ask_again(book, field, value.why)
    told = f"Noted. {set_part(book, field.key, value)}"
    further = {key: part for key, part in parts.items() if key != field.key and not has(book.values, key)}
    return propose(book, further, told) if further else ask_next(book, told)


def _ask_again(book: Notebook, field: Field, why: str) -> Reply:
    """Ask once more; an optional part that was asked for often enough is left out."""
    if not field.is_needed and book.times_asked(field.key) >= MOST_ASKED:
        book.note(**{field.key: book.get(field.key) or []})
        return ask_next(book, f'{why} I leave that out for now; say "change the {field.words[0]}" to come back to it.')
    return ask(book, field.key, why)


def _leave_to_us(book: Notebook, field: Field, *, wanted: bool) -> Reply:
    """Leave a part out, or put what we would; what is needed cannot be left out."""
    value = proposed(field.key, book.values) if wanted or field.is_needed else []
    if value:
        return propose(book, {field.key: value}, ours=True)
    book.note(**{field.key: []})
    return ask_next(book, noted(field.key, []))
