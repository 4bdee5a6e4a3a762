"""Recall: messages that fell out of the window, or are shown shortened, and match the question are put back.

The search is the store's, by the forms of the words of the question; here the finds are weighed, chosen and told,
marked as earlier and dated. They stand with the question, so that the beginning of the context stays the same bytes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from threadkeep.context.base import Audience, Counter, Cut, Material, Sought, Window
from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.lines import size_of_text
from threadkeep.context.marks import printable
from threadkeep.context.parts import for_model
from threadkeep.context.window import MOST_RECALLED, RECALL_TOKENS, ShownWindow
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.text.excerpt import around
from threadkeep.text.notes import spoken_line
from threadkeep.text.search import NEIGHBOURS
from threadkeep.text.words import MARK, content_words, marks, searchable, words

MAX_CHARACTERS = 1200
"""How much of one recalled message is shown at most."""
OVERHEAD = 20
DATE = 8
"""Tokens that are left for the note around what is recalled, and for each date in it."""
UNUSED = 0.05
"""How much of the room is not filled with what does not matter to the question."""
CLEAR = 0.55
"""From which score on something is clearly about the question: it has its words, or most of them beside others."""
BESIDE_BEST = 0.6
"""What has at least this share of the best score is as clearly about the question as the best."""
REACH = max(distance for distance, _ in NEIGHBOURS)
BESIDE = 2
"""How many entries before and after the best are as clearly about the question: a question, or its answer."""
UNCLEAR = 0.15
UNCLEAR_BEYOND = 1700
LEAST_UNCLEAR, MOST_UNCLEAR = 60, 1000
"""How much of the room beyond so many tokens, within these limits, the best of the rest may have."""


def worth_adding(ranked: Sequence[tuple[Entry, float]], seen_from: int, room: int, count: Counter) -> tuple[Entry, ...]:
    """Return what to add, of the entries before `seen_from`, to a request that goes on as the last one did.

    The beginning of such a request is in a provider's cache, and what is added is charged in full: so all that is
    clearly about the question, with what stands beside the best of it, and little else; least where the best is in
    view.
    """
    unseen = [(entry, score) for entry, score in ranked if entry.seq < seen_from]
    if not unseen:
        return ()
    best, highest = unseen[0][0].seq, unseen[0][1]
    is_clear = highest >= CLEAR
    spared = 0 if ranked[0][0].seq >= seen_from else int(UNCLEAR * (room - UNCLEAR_BEYOND))
    left = min(MOST_UNCLEAR, max(LEAST_UNCLEAR, spared))
    chosen = []
    for entry, score in unseen:
        size = count(entry.body) if isinstance(entry.body, Message) else 0
        is_asked_for = is_clear and (score >= BESIDE_BEST * highest or abs(entry.seq - best) <= BESIDE)
        if is_asked_for or size <= left:
            left -= size
            chosen.append(entry)
    return tuple(chosen)


class Recalled(NamedTuple):
    """An earlier message, told in a line of text."""

    seq: int
    day: str
    text: str


def recall(material: Material, shown: ShownWindow, used: int) -> list[Recalled]:
    """Return what to put beside the question: the best of the recalled messages, as many as there is room for beside
    the `used` tokens of the history.

    When a cut is made, it leaves room for the window to grow: until then the newest of those that were cut off or
    shortened fill it.
    """
    most = RECALL_TOKENS if material.policy.window is Window.NEWEST else MOST_RECALLED
    room = max(0, min(most, shown.room - used)) - OVERHEAD
    asks = bool(shown.current) and shown.current[0].opens
    asked = content_words(shown.current[0].message.content) if asks else []
    best, rest = (_lost(entries, material, shown.cut) for entries in (material.recalled, material.earlier))
    picked, room = _pick(best, room, material.audience, asked)
    rest = [found for found in rest if found[0].seq not in {each.seq for each in picked}]
    added, _ = _pick(rest, room - int(shown.room * UNUSED), material.audience, asked)
    return sorted((*picked, *added))


def reasons(material: Material, told: Sequence[Recalled]) -> list[dict[str, Any]]:
    """Return why each was recalled, for the trace: `words` of the question that it holds, the `speaker` and the `date`
    that the question names, or what it stands `beside`; nothing of these where it only fills the room."""
    bodies = {entry.seq: entry for entry in (*material.recalled, *material.earlier)}
    why = {each.seq: _matches(material.sought, bodies[each.seq]) for each in told}
    hits = [seq for seq, found in why.items() if found]
    for seq, found in why.items():
        nearest = min(hits, key=lambda hit: abs(hit - seq), default=None)
        if not found and nearest is not None and abs(nearest - seq) <= REACH:
            found["beside"] = nearest
    return [{"entry": seq, **found} for seq, found in why.items()]


def _matches(sought: Sought, entry: Entry) -> dict[str, Any]:
    text = searchable(entry.body)
    held, said = words(text), {mark.removeprefix(MARK) for mark in marks(text, entry.created_at)}
    named = [form for forms in sought.marks for form in forms if form in said]
    found = {
        "words": [forms[0] for forms in sought.words if not held.isdisjoint(forms)],
        "speaker": " ".join(name for name in named if not name.isdigit()),
        "date": next((mark for mark in named if mark.isdigit()), ""),
    }
    return {name: value for name, value in found.items() if value}


def _lost(entries: Sequence[Entry], material: Material, cut: Cut) -> list[tuple[Entry, Message]]:
    """Return the messages that say something and are not, or not in full, in the window."""
    short = {line.seq for line in material.lines if line.seq < cut.masked and line.short is not line}
    found = [(entry, entry.body) for entry in entries if entry.seq < cut.first or entry.seq in short]
    return [(entry, body) for entry, body in found if isinstance(body, Message) and _text(body)]


def _pick(
    found: Sequence[tuple[Entry, Message]], room: int, audience: Audience, words: Sequence[str]
) -> tuple[list[Recalled], int]:
    """Return the first messages that fit into the room, and the room that they leave."""
    chosen, days, empty = list[Recalled](), set[str](), _empty(audience)
    for entry, message in found:
        said = _text(message)
        # What was counted when it was stored need not be told and counted again to see that it does not fit.
        is_plain = said == message.content and not message.parts and not message.tool_calls
        if is_plain and len(said) <= MAX_CHARACTERS and audience.count(message) - empty > room:
            continue
        telling = _told(entry, message, around(said, words, MAX_CHARACTERS))
        cost = size_of_text(audience, telling.text) - empty + DATE * (telling.day not in days)
        if cost <= room:
            room -= cost
            chosen.append(telling)
            days.add(telling.day)
    return chosen, room


def _empty(audience: Audience) -> int:
    """Return by how much a message of its own is more than a line: all of them are told in one message, a line each."""
    return size_of_text(audience, "") - 1


def _told(entry: Entry, message: Message, text: str) -> Recalled:
    speaker = "tool result" if message.role is Role.TOOL else message.role
    return Recalled(entry.seq, f"{entry.created_at:%Y-%m-%d}", spoken_line(speaker, text))


def _text(message: Message) -> str:
    """Return what a message says, with what is written in its files; an answer with blocks may say it there only."""
    said = for_model(message, "", ()).content.strip()
    if message.tool_result is not None and not said:
        said = (message.tool_result.error or "").strip()
    return printable(said or text_of_blocks(message))
