"""What a target is sent of an entry of a log: the events that readers of the conversation get, as JSON, with an id that
is the same each time."""

import json
from hashlib import blake2b
from typing import NamedTuple

from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.event_json import to_json
from threadkeep.conversation.scope import Scope
from threadkeep.store.values import LogPage
from threadkeep.turn.follow import events_of
from threadkeep_webhooks.tables import WebhookTarget

MOST_BYTES = 1024 * 1024
"""How long a body may be; of what is longer, the place in the log is told, where it can be read."""
_PLACES = ("seq", "parent", "turn", "created_at")


class Sendable(NamedTuple):
    """One event: its entry and place among the events of it, its name, the id of its message and the body."""

    seq: int
    place: int
    type: str
    id: str
    body: str


def sendable(target: WebhookTarget, scope: Scope, entry: Entry) -> list[Sendable]:
    """Return the events of an entry that a target wants."""
    found = []
    for index, event in enumerate(events_of(LogPage(entries=(entry,)), Cursor(seq=entry.seq - 1))):
        name, data = to_json(event.what)
        if name in target.events:
            about = {"tenant": scope.tenant, "user": scope.user, "conversation": entry.conversation}
            told = {"type": name, "timestamp": moment_text(entry.created_at), "data": {**data, **about}}
            body = json.dumps(told, ensure_ascii=False)
            if len(body.encode(errors="surrogatepass")) > MOST_BYTES:
                short = {place: data[place] for place in _PLACES if place in data}
                body = json.dumps({**told, "data": {**short, **about, "too_large": True}})
            found.append(Sendable(entry.seq, index, name, _id(target, entry, index), body))
    return found


def _id(target: WebhookTarget, entry: Entry, index: int) -> str:
    named = f"{target.id} {target.tenant} {entry.conversation} {entry.seq} {index}"
    return f"msg_{blake2b(named.encode(), digest_size=16).hexdigest()}"
