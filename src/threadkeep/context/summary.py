"""The running summary: a note at the beginning of the history that stands for what was cut off."""

from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.marks import note
from threadkeep.conversation.entry import Entry, Summary


def summary(working: Working) -> Working:
    """Put the summary before the history, if something of the history is missing."""
    text = text_of_summary(working.material.summary)
    if not text or not working.cut.first:
        return working
    return replace(working, opening=(*working.opening, text))


def text_of_summary(entry: Entry | None) -> str:
    """Return the note that tells a summary; nothing if there is none."""
    if entry is None or not isinstance(entry.body, Summary) or not entry.body.content.strip():
        return ""
    text = entry.body.content.replace("\x00", "\ufffd").strip()
    return note(f"summary of the earlier conversation, which is not shown in full:\n{text}")
