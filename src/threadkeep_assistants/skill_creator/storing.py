"""Storing: where the finished skill goes, what to do if its name is taken, and what became of saving it."""

import json
import re
from typing import Any

from threadkeep.conversation.message import Message
from threadkeep_assistants.skill_creator.asking import FAILED, READY_QUESTION, TAKEN, open_question, repeat
from threadkeep_assistants.skill_creator.changing import changed
from threadkeep_assistants.skill_creator.fields import BY_KEY
from threadkeep_assistants.skill_creator.front_matter import parted
from threadkeep_assistants.skill_creator.intents import Asks, Change, Heard, No, Said, Skip, Wish, Yes, YouDecide
from threadkeep_assistants.skill_creator.machine import COMPLETED, ERROR, GATHERING_DETAILS, SAVING, SELECTING_STORAGE
from threadkeep_assistants.skill_creator.naming import title
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.reading import Unusable, value_of
from threadkeep_assistants.skill_creator.telling import READY, Reply, Then, explained, files_of
from threadkeep_assistants.skill_creator.template import written

_WORDS = {
    "personal": r"personal(?:ly)?|private(?:ly)?|me|mine|myself|my own|only me|just me|for me|user|first(?: one)?|1",
    "shared": r"shared?|public|everybody|everyone|all|team|project|tenant|organi[sz]ation|company|colleagues|us"
    "|second(?: one)?|2",
}
_LAYERS = {layer: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for layer, words in _WORDS.items()}
_NOT = re.compile(r"\b(?:not|don'?t|never)\b|\bno (?:replac|overwrit|sav)", re.IGNORECASE)
_REPLACE = re.compile(r"\b(?:replace|overwrite|override)\b", re.IGNORECASE)


def store(book: Notebook, heard: Heard) -> Reply:
    """Take up what was said once the skill is written."""
    question = book.get("open_question")
    if (
        isinstance(heard.intent, Change)
        and heard.intent.value
        and question == TAKEN
        and heard.intent.key == "skill_name"
    ):
        return _rename(book, heard.intent.value)
    if heard.intent == Wish("back"):
        return _to_details(book, f"One step back; nothing is lost.\n\n{READY}")
    if heard.intent == Wish("again") and question == FAILED:
        return _save(book, book.get("storage_layer"))
    if isinstance(heard.intent, Asks):
        return repeat(book, explained(heard.text, book.values))
    return changed(book, heard.intent) or (_taken(book, heard) if question == TAKEN else _layer(book, heard))


def after_saving(book: Notebook, result: Message) -> Reply:
    """Take up what became of saving."""
    told = _told(result)
    if "saved_to" in told:
        book.note(saved_to=told["saved_to"])
        book.drop("open_question", "replace", "working_for")
        book.move(COMPLETED)
        said = "The skill is finished. Say *show it* to see it again."
        return Reply(f"Saved to `{told['saved_to']}`.\n\n{files_of(book.values)}\n\n{said}")
    if told.get("problem") == "exists":
        book.note(open_question=TAKEN)
        book.move(SELECTING_STORAGE)
        return Reply(open_question(book))
    book.note(open_question=FAILED)
    book.move(ERROR)
    why = told.get("detail") or "It is not known whether the skill was saved."
    return repeat(book, f"{why} Nothing of it is lost.")


def _told(result: Message) -> dict[str, Any]:
    try:
        told = json.loads(result.content)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _layer(book: Notebook, heard: Heard) -> Reply:
    """Take up where to save."""
    if isinstance(heard.intent, YouDecide | Skip) or heard.intent == Yes():
        return _save(book, book.get("storage_layer") or "personal")
    if heard.intent == No():
        return _to_details(book, 'It stays unsaved. What should I change? For example: "change the description".')
    if _NOT.search(heard.text):
        return repeat(book, "Nothing is saved yet.")
    fitting = [layer for layer, words in _LAYERS.items() if words.search(heard.text)]
    if len(fitting) == 1:
        return _save(book, fitting[0])
    return repeat(book, "I did not get where to save it.")


def _taken(book: Notebook, heard: Heard) -> Reply:
    """Take up what to do with a name that is taken."""
    if heard.intent == Yes() or (_REPLACE.search(heard.text) and not _NOT.search(heard.text)):
        return _save(book, book.get("storage_layer"), replace=True)
    if isinstance(heard.intent, Said) and len(heard.text.split()) <= 4 and not _REPLACE.search(heard.text):
        return _rename(book, heard.text)
    return repeat(book, "Nothing was replaced.")


def _rename(book: Notebook, text: str) -> Reply:
    """Give a skill that is written another name; nothing but its name and headline changes."""
    name = value_of(BY_KEY["skill_name"], text)
    if isinstance(name, Unusable):
        return repeat(book, name.why)
    old = f"# {title(book.get('skill_name'))}\n"
    _, body = parted(book.get("generated_content"))
    body = f"# {title(name)}\n{body.removeprefix(old)}" if body.startswith(old) else body
    book.note(skill_name=name)
    book.note(generated_content=written(book.values, body))
    return _save(book, book.get("storage_layer"))


def _save(book: Notebook, layer: str, *, replace: bool = False) -> Reply:
    book.note(storage_layer=layer, replace=replace)
    book.move(SAVING)
    return Reply(then=Then.SAVE)


def _to_details(book: Notebook, text: str) -> Reply:
    book.note(open_question=READY_QUESTION)
    book.move(GATHERING_DETAILS)
    return Reply(text)
