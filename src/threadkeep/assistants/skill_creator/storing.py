"""Storing: where the finished skill goes, what to do if its name is taken, and what became of saving it."""

import json
import re
from typing import Any

from threadkeep.assistants.skill_creator.asking import READY_QUESTION
from threadkeep.assistants.skill_creator.front_matter import parted
from threadkeep.assistants.skill_creator.gathering import change, clear, write
from threadkeep.assistants.skill_creator.intents import Change, Clear, No, Said, Skip, Wish, Yes, YouDecide
from threadkeep.assistants.skill_creator.machine import COMPLETED, ERROR, GATHERING_DETAILS, SAVING, SELECTING_STORAGE
from threadkeep.assistants.skill_creator.naming import name_error, slug, title
from threadkeep.assistants.skill_creator.notebook import Notebook
from threadkeep.assistants.skill_creator.reply import Heard, Reply, Then
from threadkeep.assistants.skill_creator.telling import READY, WHERE, files_of
from threadkeep.assistants.skill_creator.template import written
from threadkeep.conversation.message import Message

STORAGE, TAKEN, FAILED = "storage", "taken", "failed"
_WORDS = {
    "personal": r"personal(?:ly)?|private(?:ly)?|me|mine|myself|my own|only me|just me|for me|user|first(?: one)?|1",
    "shared": r"shared?|public|everybody|everyone|all|team|project|tenant|organi[sz]ation|company|colleagues|us"
    "|second(?: one)?|2",
}
_LAYERS = {layer: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for layer, words in _WORDS.items()}
_REPLACE = re.compile(r"\b(?:replace|overwrite|override)\b", re.IGNORECASE)


def store(book: Notebook, heard: Heard) -> Reply:
    """Take up what was said once the skill is written."""
    question = book.get("open_question")
    match heard.intent:
        case Change("skill_name", value) if value and question == TAKEN:
            return _rename(book, value)
        case Change():
            return change(book, heard.intent)
        case Clear():
            return clear(book, heard.intent.key)
        case Wish("write" | "template"):
            return write(book)
        case Wish("back"):
            return _to_details(book, f"One step back; nothing is lost.\n\n{READY}")
        case Wish("again") if question == FAILED:
            return _save(book, book.get("storage_layer"))
    return _taken(book, heard) if question == TAKEN else _layer(book, heard)


def where(book: Notebook) -> str:
    """Return the question that is open, once more."""
    name = book.get("skill_name")
    return {
        TAKEN: f"There is another skill named **{name}** already. Say *replace*, or tell me another name.",
        FAILED: f"Say *try again*, or choose another place. {WHERE}",
    }.get(book.get("open_question"), WHERE)


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
        return Reply(where(book))
    book.note(open_question=FAILED)
    book.move(ERROR)
    why = told.get("detail") or "It is not known whether the skill was saved."
    return Reply(f"{why} Nothing of it is lost.\n\n{where(book)}")


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
    fitting = [layer for layer, words in _LAYERS.items() if words.search(heard.text)]
    if len(fitting) == 1:
        return _save(book, fitting[0])
    return Reply(f"I did not get where to save it.\n\n{where(book)}")


def _taken(book: Notebook, heard: Heard) -> Reply:
    """Take up what to do with a name that is taken."""
    if heard.intent == Yes() or _REPLACE.search(heard.text):
        return _save(book, book.get("storage_layer"), replace=True)
    if isinstance(heard.intent, Said) and len(heard.text.split()) <= 4:
        return _rename(book, heard.text)
    return Reply(f"Nothing was replaced.\n\n{where(book)}")


def _rename(book: Notebook, text: str) -> Reply:
    """Give a skill that is written another name; nothing but its name and headline changes."""
    name = slug(text)
    if error := name_error(name):
        return Reply(f"{error}\n\n{where(book)}")
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
