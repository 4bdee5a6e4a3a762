"""Following a conversation: stored entries first, then live ones, from any cursor, without gap or repeat."""

from collections.abc import AsyncGenerator, AsyncIterator

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, ReadersCounted
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import WALKED, Store
from threadkeep.turn.events import events, text_event
from threadkeep.turn.local_bus import LOOK, READERS, LocalBus, Nudge, topic_of

LOOK_EVERY = 1.0
"""Seconds after which a reader looks into the log unasked: another process may have written, or a nudge was lost."""
LOOK_EVERY_BRIDGED = 5.0
"""The same where other processes tell us: then only a nudge that was lost is waited for."""
PAGE = WALKED


async def follow(
    store: Store,
    bus: LocalBus,
    scope: Scope,
    conversation: str,
    after: Cursor | None = None,
    *,
    presence: bool = False,
) -> AsyncGenerator[Event, None]:
    """Yield every event behind the cursor (none: from now on), for ever.

    Those who ask for it count as readers, and are told how many there are.
    """
    topic = topic_of(scope.tenant, conversation)
    with bus.subscribed(scope.tenant, conversation, presence=presence) as subscription:
        cursor = await _present(store, scope, conversation) if after is None else after
        nudges = [LOOK]
        readers = 0
        while True:
            for item in nudges:
                if item is READERS:
                    continue
                if item.message is not None and item.message == cursor.message and item.offset == cursor.offset:
                    event = text_event(item.message, item.text, cursor)
                    cursor = event.cursor
                    yield event
                elif not _is_old(item, cursor):
                    async for event in _catch_up(store, scope, conversation, cursor):
                        cursor = event.cursor
                        yield event
            if presence and readers != (readers := bus.presence.count(topic)):
                yield Event(ReadersCounted(readers), cursor)
            nudges = await subscription.get(LOOK_EVERY_BRIDGED if bus.is_bridged else LOOK_EVERY) or [LOOK]


def _is_old(item: Nudge, cursor: Cursor) -> bool:
    """Whether the text was seen already, because it was read from the log before the nudge arrived."""
    return item.message is not None and item.message == cursor.message and item.end <= cursor.offset


async def _present(store: Store, scope: Scope, conversation: str) -> Cursor:
    """Return the cursor behind everything that is there by now, the text being written included."""
    last = (await store.get(scope, conversation)).entries
    draft = (await store.log(scope, conversation, Cursor(seq=last))).draft
    if draft is None:
        return Cursor(seq=last)
    return Cursor(seq=last, message=draft.message, offset=draft.offset + len(draft.text))


async def _catch_up(store: Store, scope: Scope, conversation: str, cursor: Cursor) -> AsyncIterator[Event]:
    """Yield what the log holds behind the cursor by now."""
    while True:
        # Inside an entry: the entry itself is read once more.
        back = 1 if cursor.index else 0
        page = await store.log(scope, conversation, cursor.model_copy(update={"seq": cursor.seq - back}), limit=PAGE)
        for event in events(page, cursor):
            cursor = event.cursor
            yield event
        if len(page.entries) < PAGE:
            return
        cursor = cursor.model_copy(update={"seq": page.entries[-1].seq, "index": 0})
