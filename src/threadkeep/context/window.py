"""The window: which turns a model sees, and which of them in their short form.

Whole turns only, never single messages. Nothing changes until the room is used up; then old results and answers take
their short form, and if that does not help for long, the oldest turns go, in one go, until a quarter of the room is
free. So the beginning of the context stays the same bytes for many turns, which is what providers cache. The current
turn always stays.

The budget is for everything: tool definitions, the system message, notes, passages and the summary take what they need;
what was recalled gets a share of the rest; the history gets what is left, or less by policy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from threadkeep.context.base import Cut, Material, Window
from threadkeep.context.lines import Turn, in_turns, size_of_text
from threadkeep.context.pairing import OPENING, UNANSWERED, size_of
from threadkeep.context.squeezing import squeeze
from threadkeep.conversation.message import Message, Role

DEFAULT_MESSAGES = 10
MAX_MESSAGES = 2000
"""OpenAI takes no more than 2,048 messages in one request, however short they are."""
ENOUGH = 0.85
"""How much of the room may be used after shortening alone; if it is more, turns are cut off."""
TARGET = 0.75
"""How much of the room is used after turns were cut off."""
VERBATIM = 0.1
"""How much of the room the newest turns may take in full when a cut is made: follow-ups mostly refer to them."""
BESIDE_LARGE = 0.125
"""How much of the room a current turn that could use all of it leaves to the turns before."""
RECALL_TOKENS = 4000
RECALL_SHARE = 0.9
"""How much the window leaves to recall: of 4,000 tokens a tenth is window and the others are recall. With half of the
room, less of the evidence is shown where there are only 2,000 tokens (`bench.recall`)."""
MOST_RECALLED = 6000
"""How much of what the window has left, because it is cut in large steps, recall may fill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownWindow:
    """What of a history is shown: the turns before the current one, that one, the cut that makes them so, and how many
    tokens they may have together with what is recalled."""

    earlier: list[Turn]
    current: Turn
    cut: Cut
    room: int


def window(material: Material, lines: Turn, unspent: int) -> ShownWindow:
    """Decide what of the lines is shown. `unspent` is what is left of the budget beside the parts that are neither
    history nor recall."""
    every, current = in_turns(lines, material.turn)
    earlier, cut = every, material.cut
    if material.policy.window is Window.NEWEST:
        # Whole turns that have, with the current question, no more than so many messages.
        earlier = _newest(every, (material.policy.size or DEFAULT_MESSAGES) - 1, len)
    if len(earlier) < len(every):
        cut = Cut(first=_first_seq(earlier, current), masked=cut.masked)
    room = _room_for_history(material, current, unspent)
    shown, newest = [_masked_before(turn, cut.masked) for turn in earlier], _masked_before(current, cut.masked)
    size = sum(map(_size_of_past, shown)) + size_of(newest)
    if size > room or _messages(*shown, newest) > MAX_MESSAGES:
        shown, newest, cut = _cut_down(earlier, newest, cut, room, max(1, unspent))
    return ShownWindow(earlier=shown, current=newest, cut=cut, room=_room_for_said(material, newest, unspent))


def _newest(turns: list[Turn], room: int, cost: Callable[[Turn], int]) -> list[Turn]:
    """Return the newest turns that cost no more than the room, all together."""
    start = len(turns)
    while start and (room := room - cost(turns[start - 1])) >= 0:
        start -= 1
    return turns[start:]


def _masked_before(turn: Turn, seq: int) -> Turn:
    return [line.short if line.seq < seq else line for line in turn] if turn and turn[0].seq < seq else turn


def _cut_down(earlier: list[Turn], current: Turn, cut: Cut, room: int, limit: int) -> tuple[list[Turn], Turn, Cut]:
    """Return the turns that stay, the newest of them in full, and the new cut. `limit` is for the question alone.

    A large current turn leaves a part to those before it, if its steps can be shortened that far: what is cut off now
    does not come back when they have become old.
    """
    past = min(int(room * BESIDE_LARGE), sum(_size_of_past([line.short for line in turn]) for turn in earlier))
    current, inner = squeeze(current, room - past, limit)
    left = room - size_of(current)
    verbatim = _newest(earlier, min(left, int(room * VERBATIM)), _size_of_past)
    mask = max(cut.masked, inner or _first_seq(verbatim, current))
    shown = [_masked_before(turn, mask) for turn in earlier]
    kept = _fitting(shown, left - int(room * (1 - ENOUGH)))
    if len(kept) < len(earlier):
        kept = _fitting(shown, max(left - int(room * (1 - TARGET)), min(past, left)))
    first = cut.first if len(kept) == len(earlier) else _first_seq(kept, current)
    return kept, current, Cut(first=first, masked=mask)


def _fitting(turns: list[Turn], room: int) -> list[Turn]:
    """Return the newest turns that fit into the room, in tokens and in the number of messages."""
    return _newest(_newest(turns, room, _size_of_past), int(MAX_MESSAGES * TARGET), _messages)


def _size_of_past(turn: Turn) -> int:
    """Return how many tokens a turn that is over has, with the notes that stand for a missing question or answer."""
    size = size_of(turn)
    if not turn[0].opens:
        size += size_of_text(turn[0].audience, OPENING)
    if turn[-1].message.role is Role.TOOL:
        size += size_of_text(turn[0].audience, UNANSWERED)
    return size


def _first_seq(earlier: Sequence[Turn], current: Turn) -> int:
    return next((turn[0].seq for turn in [*earlier, current] if turn), 0)


def _messages(*turns: Turn) -> int:
    """Return how many messages turns become at most: every call gets a result, and every turn an answer."""
    return len(turns) + sum([line.messages for turn in turns for line in turn])


def _room_for_history(material: Material, current: Turn, unspent: int) -> int:
    """Return how many tokens the history may have, the current turn included.

    Room is left for what was really recalled, as far as the current turn does not need it: its steps take that room, so
    that no step cuts off what the one before it showed.
    """
    room = _room_for_said(material, current, unspent)
    kept, most = 0, max(0, min(RECALL_TOKENS, int(room * RECALL_SHARE)))
    for entry in material.recalled:
        if isinstance(entry.body, Message) and entry.seq < material.cut.seen_from and kept < most:
            kept = min(most, kept + material.audience.count(entry.body))
    steps = size_of([line for line in current if not line.opens])
    return max(1, room - max(0, kept - steps), min(room, size_of(current)))


def _room_for_said(material: Material, current: Turn, unspent: int) -> int:
    """Return how many tokens the history and what is recalled of it may have together.

    A budget of the policy is for what was said before: the current question does not count (R-D6).
    """
    asked = sum(line.size for line in current if line.opens)
    return min(unspent, material.policy.tokens(material.budget) + asked)
