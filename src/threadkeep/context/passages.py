"""Passages that were retrieved for the current question. They stand with it, behind the history."""

from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.marks import note, own
from threadkeep.text.excerpt import ends


def passages(working: Working) -> Working:
    """Put the passages beside the question: the first ones, as many as fit into half of the budget."""
    found = _fitting(working)
    if not found:
        return working
    numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(found, 1))
    return replace(working, beside=(*working.beside, note(f"passages found for the question below:\n{numbered}")))


def _fitting(working: Working) -> list[str]:
    material = working.material
    room, found = material.budget // 2, list[str]()
    for passage in material.passages:
        text = passage.replace("\x00", "\ufffd").strip()
        if text and not found:
            text = ends(text, 4 * room)
        room -= material.count(own("size", text))
        if room < 0 and found:
            break
        found += [text] if text else []
    return found
