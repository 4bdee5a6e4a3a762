"""The answer to a message: first what can be wanted at any time, then what the state makes of it."""

from threadkeep_assistants.skill_creator.asking import open_question, repeat
from threadkeep_assistants.skill_creator.gathering import gather
from threadkeep_assistants.skill_creator.intents import Heard, No, Wish, Yes
from threadkeep_assistants.skill_creator.machine import COMPLETED, ERROR, GATHERING_PURPOSE, MACHINE, SELECTING_STORAGE
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.storing import store
from threadkeep_assistants.skill_creator.telling import HELP, Reply, document, status

_FOR_GOOD = ("questions_asked", "inference_attempts")
"""What is kept when somebody starts over: it tells about the conversation, not about the skill."""
_STORED = (SELECTING_STORAGE, ERROR)


def answer(book: Notebook, heard: Heard) -> Reply:
    """Return what is said to a message, with everything that follows from it noted in the book."""
    state = MACHINE.current(book.values)
    if state == COMPLETED:
        return _finished(book, heard)
    if book.get("restart_asked"):
        book.drop("restart_asked")
        if heard.intent == Yes():
            return _start_over(book)
        if heard.intent == No():
            return repeat(book, "Good, everything stays.")
    match heard.intent:
        case Wish("status"):
            text, table = status(state, book.values)
            return Reply(f"{text}\n\n{open_question(book)}", (table,))
        case Wish("help"):
            return repeat(book, HELP)
        case Wish("cancel"):
            return Reply(
                "I stop asking. Everything is kept: say *continue* whenever you like, here or on another device, or "
                "*start over* to begin anew."
            )
        case Wish("wait"):
            return repeat(book, "Take your time.")
        case Wish("continue") if book.get("questions_asked"):
            return repeat(book, "We go on where we were.")
        case Wish("restart"):
            return _ask_to_start_over(book)
        case Wish("show"):
            return _show(book)
    return store(book, heard) if state in _STORED else gather(book, heard)


def _finished(book: Notebook, heard: Heard) -> Reply:
    if heard.intent == Wish("show"):
        return Reply(document(book.values))
    if heard.intent == Wish("status"):
        text, table = status(COMPLETED, book.values)
        return Reply(text, (table,))
    return Reply(
        f"This skill is finished and saved to `{book.get('saved_to')}`. Say *show it* to see it again; for another "
        "one, begin a new conversation."
    )


def _ask_to_start_over(book: Notebook) -> Reply:
    if not book.get("purpose") and not book.get("unconfirmed"):
        return _start_over(book)
    book.note(restart_asked=True)
    return Reply("That drops everything that we have about this skill. Are you sure?")


def _start_over(book: Notebook) -> Reply:
    book.drop(*(key for key in list(book.values) if key not in _FOR_GOOD))
    book.move(GATHERING_PURPOSE)
    return Reply(f"We begin anew. {open_question(book)}")


def _show(book: Notebook) -> Reply:
    if not book.get("generated_content"):
        return repeat(book, "Nothing is written yet. Say *write it* to have it written now.")
    return repeat(book, document(book.values))
