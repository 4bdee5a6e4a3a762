"""The window: which turns a model sees, and which of them in their short form.

Whole turns only, never single messages. Nothing changes until the room is used up; then old results and answers take
their short form, and if that does not help for long, the oldest turns go, in one go, until a quarter of the room is
free. So the beginning of the context stays the same bytes for many turns, which is what providers cache. The current
turn always stays.

The budget is for everything: tool definitions, the system message, notes, passages and the summary take what they need;
what was recalled gets a share of the rest; the history gets what is left, or less by policy.
"""

from dataclasses import replace

from threadkeep.context.alternation import OPENING, UNANSWERED, alternated
from threadkeep.context.base import Counter, Cut, Window, Working
from threadkeep.context.history import Turn, in_turns, lines_of, text_of_summary
from threadkeep.context.marks import own
from threadkeep.context.shortening import masked, size_of, squeeze
from threadkeep.context.tool_pairs import counter_of_told, paired
from threadkeep.conversation.message import Role

DEFAULT_MESSAGES = 10
MAX_MESSAGES = 2000
"""OpenAI takes no more than 2,048 messages in one request, however short they are."""
ENOUGH = 0.85
"""How much of the room may be used after shortening alone; if it is more, turns are cut off."""
TARGET = 0.75
"""How much of the room is used after turns were cut off."""
VERBATIM = 0.25
"""How much of the room the newest turns may take in full when a cut is made: follow-ups mostly refer to them."""
BESIDE_LARGE = 0.125
"""How much of the room a current turn that could use all of it leaves to the turns before."""
RECALL_TOKENS = 3000
RECALL_SHARE = 0.75
"""How much the window leaves to recall: of 4,000 tokens a quarter is window and the other 3,000 are recall. With half
of the room, less of the evidence is shown where there are only 2,000 tokens (`bench.recall`)."""
MOST_RECALLED = 6000
"""How much of what the window has left, because it is cut in large steps, recall may fill."""


def window(working: Working) -> Working:
    """Decide the cut and leave only what is behind it, old lines in their short form."""
    material, count = working.material, counter_of_told(working)
    every, current = in_turns(working.lines, material.turn)
    earlier = _newest(every, material.policy.size) if material.policy.window is Window.NEWEST else every
    cut = material.cut
    if len(earlier) < len(every):
        cut = replace(cut, first=_first_seq(earlier, current))
    kept = [_masked_before(turn, cut.masked) for turn in [*earlier, current]]
    room = room_for_history(working, current)
    size = sum(_size_of_past(turn, count) for turn in kept[:-1]) + size_of(kept[-1], count)
    if size > room or sum(map(_messages, kept)) > MAX_MESSAGES:
        kept, cut = _cut_down(working, earlier, current, cut)
    return replace(working, lines=tuple(line for turn in kept for line in turn), cut=cut)


def _newest(turns: list[Turn], messages: int) -> list[Turn]:
    """Return the newest whole turns that have, with the current question, no more than so many messages."""
    left, start = (messages or DEFAULT_MESSAGES) - 1, len(turns)
    while start and (left := left - len(turns[start - 1])) >= 0:
        start -= 1
    return turns[start:]


def _masked_before(turn: Turn, seq: int) -> Turn:
    return tuple(masked(line) if line.seq < seq else line for line in turn) if turn and turn[0].seq < seq else turn


def _cut_down(working: Working, earlier: list[Turn], current: Turn, cut: Cut) -> tuple[list[Turn], Cut]:
    """Return the turns that stay, the newest of them in full, and the new cut.

    A large current turn leaves a part to those before it, if its steps can be shortened that far: what is cut off now
    does not come back when they have become old.
    """
    count, limit = counter_of_told(working), room_for_question(working)
    room = room_for_history(working, current)
    current = _masked_before(current, cut.masked)
    past = min(int(room * BESIDE_LARGE), sum(_size_of_past(tuple(map(masked, turn)), count) for turn in earlier))
    current, inner = squeeze(current, room - past, limit, count)
    left = room - size_of(current, count)
    mask = max(cut.masked, inner or _verbatim_from(earlier, current, min(left, int(room * VERBATIM)), count))
    shown = [_masked_before(turn, mask) for turn in earlier]
    kept = _fitting(shown, left - int(room * (1 - ENOUGH)), count)
    if len(kept) < len(earlier):
        kept = _fitting(shown, max(left - int(room * (1 - TARGET)), min(past, left)), count)
    first = cut.first if len(kept) == len(earlier) else _first_seq(kept, current)
    return [*kept, current], Cut(first=first, masked=mask)


def _verbatim_from(earlier: list[Turn], current: Turn, room: int, count: Counter) -> int:
    """Return the seq from which on turns stay in full: the newest ones that fit into the room."""
    start = len(earlier)
    while start and (room := room - _size_of_past(earlier[start - 1], count)) >= 0:
        start -= 1
    return _first_seq(earlier[start:], current)


def _fitting(turns: list[Turn], room: int, count: Counter) -> list[Turn]:
    """Return the newest turns that fit into the room, in tokens and in the number of messages."""
    start, messages = len(turns), int(MAX_MESSAGES * TARGET)
    while start and (room := room - _size_of_past(turns[start - 1], count)) >= 0:
        if (messages := messages - _messages(turns[start - 1])) < 0:
            break
        start -= 1
    return turns[start:]


def _size_of_past(turn: Turn, count: Counter) -> int:
    """Return how many tokens a turn that is over has, with the notes that stand for a missing question or answer."""
    missing = [OPENING] * (not turn[0].opens) + [UNANSWERED] * (turn[-1].message.role is Role.TOOL) if turn else []
    return size_of(turn, count) + sum(count(own("size", text)) for text in missing)


def _first_seq(earlier: list[Turn], current: Turn) -> int:
    return next((turn[0].seq for turn in [*earlier, current] if turn), 0)


def _messages(turn: Turn) -> int:
    """Return how many messages a turn becomes at most: every call gets a result, and every turn an answer."""
    return 1 + sum(1 + len(line.message.tool_calls) for line in turn if line.message.tool_result is None)


def room_for_history(working: Working, current: Turn) -> int:
    """Return how many tokens the history may have, the current turn included.

    Room is left for what was really recalled, as far as the current turn does not need it: its steps take that room, so
    that no step cuts off what the one before it showed.
    """
    count, cut, room = counter_of_told(working), working.material.cut, room_for_said(working, current)
    kept, most = 0, max(0, min(RECALL_TOKENS, int(room * RECALL_SHARE)))
    for line in lines_of(working.material.recalled):
        kept = min(most, kept + count(line.message) * (line.seq < max(cut.first, cut.masked)))
        if kept == most:
            break
    steps = size_of(tuple(line for line in current if not line.opens), count)
    return max(1, room - max(0, kept - steps), min(room, size_of(current, count)))


def room_for_said(working: Working, current: Turn) -> int:
    """Return how many tokens the history and what is recalled of it may have together.

    A budget of the policy is for what was said before: the current question does not count (R-D6).
    """
    asked = sum(working.material.count(line.message) for line in current if line.opens)
    return min(_unspent(working), working.material.policy.tokens(working.material.budget) + asked)


def room_for_question(working: Working) -> int:
    """Return how many tokens the current question may have: all that the model has room for, whatever the policy."""
    return max(1, _unspent(working))


def room_left_for_recall(working: Working) -> int:
    """Return how many tokens recalled entries may have once the lines are decided: what these left."""
    material = working.material
    _, current = in_turns(working.lines, material.turn)
    most = RECALL_TOKENS if material.policy.window is Window.NEWEST else MOST_RECALLED
    shown = sum(map(counter_of_told(working), alternated(paired([line.message for line in working.lines]))))
    return max(0, min(most, room_for_said(working, current) - shown))


def _unspent(working: Working) -> int:
    """Return what is left of the budget beside the parts that are neither history nor recall."""
    material = working.material
    ours = (working.system, *working.beside, *material.notes, text_of_summary(material.summary))
    return material.budget - material.tool_tokens - sum(material.count(own("size", text)) for text in ours if text)
