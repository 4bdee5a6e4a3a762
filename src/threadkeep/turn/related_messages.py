"""Messages of a branch that have to do with the question, for recall: by its words, and by who and when it names."""

from collections.abc import Sequence

from threadkeep.context.base import Sought
from threadkeep.context.window import MOST_RECALLED
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.text.dates import named_dates
from threadkeep.text.words import MAX_QUERY_CHARACTERS, content_forms, content_words
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.lookup import LookedUp

LEAST, MOST = 60, 250
"""How many related messages are looked at: twice as many as probably fit into the room."""
MOST_WORDS = 12
"""How many words of a question, the longest, are looked for: a long one would cost more than it finds."""
SAID_BEFORE = 500
"""How many characters of each of the last two messages help to tell the language of a question."""
ENOUGH_WORDS = 2
"""A question with fewer content words is looked for with those of the question before it."""


async def related_messages(
    active: ActiveTurn, entries: Sequence[Entry], found: LookedUp | None, room: int
) -> tuple[list[tuple[Entry, float]], Sought]:
    """Return messages before the newest question of some entries that have to do with it, with scores, the best first,
    and what they were looked for by. What the question's sender wants to be left out is.

    `room` is how many tokens may be shown; it decides how many messages are looked at.
    """
    messages = [(entry.parent, entry.body) for entry in entries if isinstance(entry.body, Message)]
    asked = max((place for place, (_, message) in enumerate(messages) if message.role is Role.USER), default=None)
    if asked is None or (head := messages[asked][0]) is None:
        return [], Sought()
    deps, lease = active.deps, active.lease
    history = [message for _, message in messages[:asked]]
    text = _looked_for(messages[asked][1].content[:MAX_QUERY_CHARACTERS], history, found)[:MAX_QUERY_CHARACTERS]
    before = " ".join(message.content[:SAID_BEFORE] for message in history[-2:])
    words = sorted(content_forms(text, before), key=lambda forms: -len(forms[0]))[:MOST_WORDS]
    # Any word that says something may be the name of who speaks.
    marks = [*named_dates(text, entries[-1].created_at.year), content_words(text)]
    # What was not counted when it was stored was counted when it was read.
    sizes = [message.tokens or deps.count(message) for _, message in messages]
    # Where most messages are short, the room is filled by the long ones all the same.
    usual = sum(size * size for size in sizes) / sum(sizes)
    limit = min(max(LEAST, int(2 * min(room, MOST_RECALLED) / usual)), MOST)
    related = await deps.store.related(lease.scope, lease.conversation, words, marks, head=head, limit=limit)
    # What was read already was counted, too.
    read = {entry.seq: entry for entry in entries}
    wanted = (each for each in related if (each.entry.conversation, each.entry.seq) not in active.left_out)
    return [(read.get(each.entry.seq, each.entry), each.score) for each in wanted], Sought(words, marks)


def _looked_for(question: str, history: Sequence[Message], found: LookedUp | None) -> str:
    """Return what to recall by: the question as it was rewritten, where it was."""
    if found is not None:
        return " ".join((found.rewrite.text, *found.rewrite.words))
    if len(content_words(question)) < ENOUGH_WORDS:
        return " ".join((question, *(message.content for message in history[-2:] if message.role is Role.USER)))
    return question
