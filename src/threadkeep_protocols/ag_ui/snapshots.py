"""Snapshots that make the messages of a client those of the log, in the log's order.

Clients keep the order of what they have, put what is new to them at the end, and keep activities and reasoning of their
own where a snapshot has none. So messages that stand elsewhere are first taken away, by a snapshot of those that stand
where they should, with a mark of each kind that is to go; the second snapshot takes away the marks.
"""

from collections.abc import Sequence

from threadkeep_protocols.ag_ui.showing import Json

_MARKS: dict[str, Json] = {
    "activity": {"id": "threadkeep-cut", "role": "activity", "activityType": "threadkeep-cut", "content": {}},
    "reasoning": {"id": "threadkeep-cut-reasoning", "role": "reasoning", "content": ""},
}


def snapshots(has: Sequence[str], messages: Sequence[Json]) -> list[Json]:
    """Return the events that make the messages of a client these ones. `has` are the ids of those that it says it has,
    which it never says of activities: it may have any of them."""
    place, known = 0, 0
    while known < len(has) and place < len(messages):
        if messages[place]["role"] != "activity":
            if messages[place]["id"] != has[known]:
                break
            known += 1
        place += 1
    kept, others = list(messages[:place]), messages[place:]
    whole: Json = {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}
    if not has or not (_has_misplaced(others) or {*has[known:]} & {each["id"] for each in others}):
        return [whole]
    marks = [mark for role, mark in _MARKS.items() if any(each["role"] == role for each in others)]
    return [{"type": "MESSAGES_SNAPSHOT", "messages": [*kept, *marks]}, whole]


def _has_misplaced(messages: Sequence[Json]) -> bool:
    """Whether an activity, which the client may have, stands behind a message that it has not."""
    new = next((at for at, each in enumerate(messages) if each["role"] != "activity"), len(messages))
    return any(each["role"] == "activity" for each in messages[new:])
