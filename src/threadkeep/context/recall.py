"""Recall: messages that fell out of the window, or are shown shortened, and match the question are put back.

The search is the store's, by the forms of the words of the question; here the finds are weighed, chosen and told,
marked as earlier and dated. They stand with the question, so that the beginning of the context stays the same bytes.
"""

from collections.abc import Sequence, Set
from dataclasses import replace
from fnmatch import fnmatch

from threadkeep.context.base import Counter, Line, Working
from threadkeep.context.blocks import text_of_blocks
from threadkeep.context.history import in_turns, lines_of
from threadkeep.context.marks import own
from threadkeep.context.parts import for_model
from threadkeep.context.shortening import masked
from threadkeep.context.window import room_for_said, room_left_for_recall
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.text.dates import named_dates
from threadkeep.text.excerpt import around, ends
from threadkeep.text.notes import earlier_note, spoken_line
from threadkeep.text.search import NEIGHBOURS
from threadkeep.text.words import content_words, words_in_order

MAX_CHARACTERS = 1200
LEAST_CHARACTERS = 40
"""How much of one recalled message is shown, at most, and at least where the room ends with it."""
MAX_SPEAKER = 40
"""Within how many characters a message may say who speaks."""
OVERHEAD = 20
DATE = 8
"""Tokens that are left for the note around what is recalled, and for each date in it."""
UNUSED = 0.05
"""How much of the room is not filled with what does not matter to the question."""
CLOSENESS = 0.5
"""How much it counts that a message is near the question in meaning; a part of it goes to the neighbours."""
SAID_BY = 0.2
DATED = 0.2
"""How much it counts that the question names who said something, or the month or day on which it was said."""
CLEAR = 1.0
"""From which score on something is clearly about the question: it has its words, or most of them and the meaning."""
BESIDE_BEST = 0.6
"""What has at least this share of the best score is as clearly about the question as the best."""
BESIDE = 2
"""How many entries before and after the best are as clearly about the question: a question, or its answer."""
UNCLEAR = 0.15
UNCLEAR_BEYOND = 1700
LEAST_UNCLEAR, MOST_UNCLEAR = 60, 1000
"""How much of the room beyond so many tokens, within these limits, the best of the rest may have."""


def ranked(
    related: Sequence[tuple[Entry, float]], question: str, closeness: Sequence[float]
) -> list[tuple[Entry, float]]:
    """Return related entries with their scores, the best first.

    `closeness` tells of the first of them how near in meaning they are.
    """
    asked, dates = set(words_in_order(question)), named_dates(question)
    score = {entry.seq: points + _bonus(entry, asked, dates) for entry, points in related}
    for (entry, _), near in zip(related, closeness, strict=False):
        points = CLOSENESS * max(0.0, near)
        score[entry.seq] += points
        for distance, share in NEIGHBOURS:
            if (beside := entry.seq + distance) in score:
                score[beside] += share * points
    best = sorted((entry for entry, _ in related), key=lambda entry: score[entry.seq], reverse=True)
    return [(entry, score[entry.seq]) for entry in best]


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


def _bonus(entry: Entry, asked: Set[str], dates: Sequence[str]) -> float:
    """Return what an entry gets for its speaker ("Ada: ...") and for its date, if the question names them."""
    text = entry.body.content if isinstance(entry.body, Message) else ""
    speaker, colon, _ = text[:MAX_SPEAKER].partition(":")
    is_named = bool(colon) and not asked.isdisjoint(words_in_order(speaker))
    is_dated = any(fnmatch(f"{entry.created_at:%Y-%m-%d}", date) for date in dates)
    return SAID_BY * is_named + DATED * is_dated


def recall(working: Working) -> Working:
    """Put the best of the recalled messages beside the question, as many as there is room for.

    When a cut is made, it leaves room for the window to grow: until then the newest of those that were cut off or
    shortened fill it.
    """
    material, room = working.material, room_left_for_recall(working) - OVERHEAD
    _, current = in_turns(working.lines, material.turn)
    words = content_words(current[0].message.content) if current and current[0].opens else []
    spare = int(room_for_said(working, current) * UNUSED)
    best, rest = (_lost(entries, working) for entries in (material.recalled, material.earlier))
    picked, room = pick(best, room, material.count, words)
    known = {line.seq for line, _ in picked}
    rest = [line for line in rest if line.seq not in known]
    added, room = pick(rest, room - spare, material.count, words)
    added += _part([line for line in rest if line.seq not in {each.seq for each, _ in added}], room, material.count)
    chosen = sorted((*picked, *added), key=lambda found: found[0].seq)
    if not chosen:
        return working
    item = {"kind": "recall", "entries": [line.seq for line, _ in chosen]}
    text = earlier_note((_day(line), text) for line, text in chosen)
    return replace(working, beside=(text, *working.beside), trace=(*working.trace, item))


def _lost(entries: Sequence[Entry], working: Working) -> list[Line]:
    """Return the lines that say something and are not, or not in full, in the window."""
    cut = working.cut
    return [
        line
        for line in lines_of(entries)
        if (line.seq < cut.first or (line.seq < cut.masked and masked(line) is not line)) and _text(line)
    ]


def pick(lines: Sequence[Line], room: int, count: Counter, words: Sequence[str]) -> tuple[list[tuple[Line, str]], int]:
    """Return the first lines that fit into the room, with the text that tells each, and the room that they leave."""
    chosen, days, empty = list[tuple[Line, str]](), set[str](), _empty(count)
    for line in lines:
        said, message = _text(line), line.message
        # What was counted when it was stored need not be told and counted again to see that it does not fit.
        is_plain = said == message.content and not message.parts and not message.tool_calls
        if is_plain and len(said) <= MAX_CHARACTERS and count(message) - empty > room:
            continue
        text = _told(line, around(said, words, MAX_CHARACTERS))
        cost = count(own("size", text)) - empty + DATE * (_day(line) not in days)
        if cost <= room:
            room -= cost
            chosen.append((line, text))
            days.add(_day(line))
    return chosen, room


def _part(lines: Sequence[Line], room: int, count: Counter) -> list[tuple[Line, str]]:
    """Return as much of the first of lines that do not fit as there is room for, if it is more than a few words."""
    size = min(MAX_CHARACTERS, 8 * room) if lines else 0
    while size >= LEAST_CHARACTERS:
        text = _told(lines[0], ends(_text(lines[0]), size))
        if count(own("size", text)) - _empty(count) + DATE <= room:
            return [(lines[0], text)]
        size = size * 4 // 5
    return []


def _empty(count: Counter) -> int:
    """Return by how much a message of its own is more than a line: all of them are told in one message, a line each."""
    return count(own("size", "")) - 1


def _told(line: Line, text: str) -> str:
    return spoken_line("tool result" if line.message.role is Role.TOOL else line.message.role, text)


def _day(line: Line) -> str:
    return f"{line.at:%Y-%m-%d}"


def _text(line: Line) -> str:
    """Return what a line says, with what is written in its files; an answer with blocks may say it there only."""
    texts = (for_model(line.message, "", ()).content.strip(), text_of_blocks(line.message))
    return next((text for text in texts if text), "")
