"""Messages of a branch that have to do with the question, for recall: by the words of the question, by words that mean
nearly the same, and by what they mean as a whole."""

from collections.abc import Sequence
from functools import partial

from threadkeep.context.recall import ranked
from threadkeep.context.window import MOST_RECALLED
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.store.values import Related
from threadkeep.text.words import MAX_QUERY_CHARACTERS, content_forms, content_words, searchable
from threadkeep.text.words import words as indexed_words
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.lookup import LookedUp, Meaning

LEAST, MOST = 60, 250
"""How many related messages are looked at: twice as many as probably fit into the room."""
MOST_WORDS = 12
"""How many words of a question, the longest, are looked for: a long one would cost more than it finds."""
SAID_BEFORE = 500
"""How many characters of each of the last two messages help to tell the language of a question."""
COMPARED = 60
COMPARED_CHARACTERS = 300
"""How many of the messages, and how much of each, are compared with the question in meaning."""
SAID = 1000
"""In how many characters of each of them a word is looked for that may never have been said."""
LEAST_PART = 4
"""How many letters a part of a compound word has at least."""
ENOUGH_WORDS = 2
"""A question with fewer content words is looked for with words of the conversation."""
FEW_WORDS = 4
"""How many words of the conversation are then added."""


async def related_messages(
    active: ActiveTurn, entries: Sequence[Entry], found: LookedUp | None, room: int
) -> list[tuple[Entry, float]]:
    """Return messages before the newest question of some entries that have to do with it, with scores, the best first.

    `room` is how many tokens may be shown; it decides how many messages are looked at.
    """
    messages = [(entry.parent, entry.body) for entry in entries if isinstance(entry.body, Message)]
    asked = max((place for place, (_, message) in enumerate(messages) if message.role is Role.USER), default=None)
    if asked is None or (head := messages[asked][0]) is None:
        return []
    deps, lease = active.deps, active.lease
    history = [message for _, message in messages[:asked]]
    question = messages[asked][1].content[:MAX_QUERY_CHARACTERS]
    text = _looked_for(question, history, found, deps.meaning)[:MAX_QUERY_CHARACTERS]
    before = " ".join(message.content[:SAID_BEFORE] for message in history[-2:])
    words = sorted(content_forms(text, before), key=lambda forms: -len(forms[0]))[:MOST_WORDS]
    # What was not counted when it was stored was counted when it was read.
    sizes = [message.tokens or deps.count(message) for _, message in messages]
    # Where most messages are short, the room is filled by the long ones all the same.
    usual = sum(size * size for size in sizes) / sum(sizes)
    limit = min(max(LEAST, int(2 * min(room, MOST_RECALLED) / usual)), MOST)
    related = partial(deps.store.related, lease.scope, lease.conversation, head=head)
    holding = await related(words, limit=limit)
    if (widened := await _widened(words, holding, deps.meaning)) != words:
        holding = await related(widened, limit=limit)
    texts = [searchable(each.entry.body)[:COMPARED_CHARACTERS].strip() or "-" for each in holding[:COMPARED]]
    closeness = await deps.meaning.closeness(text, texts) if deps.meaning and texts else ()
    return ranked(holding, text, closeness)


async def _widened(
    words: Sequence[Sequence[str]], related: Sequence[Related], meaning: Meaning | None
) -> list[Sequence[str]]:
    """Return the words, each that no related message holds with its parts and others that mean nearly the same."""
    said = {word for each in related[:COMPARED] for word in indexed_words(searchable(each.entry.body)[:SAID])}
    widened = list[Sequence[str]]()
    for forms in words:
        word = forms[0]
        if not said.isdisjoint(forms):
            widened.append(forms)
            continue
        # Most of these parts are no words, and find nothing.
        places = range(LEAST_PART, len(word) - LEAST_PART + 1)
        near = await meaning.near([word]) if meaning else ()
        widened.append((*forms, *near, *(part for at in places for part in (word[:at], word[at:]))))
    return widened


def _looked_for(question: str, history: Sequence[Message], found: LookedUp | None, meaning: Meaning | None) -> str:
    """Return what to recall by: the question as it was rewritten, where it was.

    A question that says too little by itself is looked for with words of the newest turns.
    """
    if found is not None:
        return " ".join((found.rewrite.text, *found.rewrite.words))
    if meaning is not None and len(content_words(question)) < ENOUGH_WORDS:
        return " ".join((question, *meaning.topic_words(question, history, FEW_WORDS)))
    return question
