"""One log line for every turn that ends or waits. What was said is in it only if the settings ask for that."""

import logging
from collections.abc import Sequence
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.turn.observer import Observer

logger = logging.getLogger(__name__)


class TurnLog(Observer):
    """Logs turns. With `content` the line holds the messages of the turn and the whole error."""

    def __init__(self, *, content: bool = False) -> None:
        self._content = content

    def settled(self, lease: Lease, change: TurnChange, seconds: float, entries: Sequence[Entry]) -> None:
        fields: dict[str, Any] = {
            "conversation": lease.conversation,
            "turn": lease.turn,
            "state": str(change.state),
            "duration_ms": round(seconds * 1000, 1),
            "tenant": lease.scope.tenant,
            "user": lease.scope.user,
        }
        if change.usage is not None:
            fields |= {"input_tokens": change.usage.input_tokens, "output_tokens": change.usage.output_tokens}
        if change.failure is not None:
            # The detail is what a provider said, which may repeat what it was asked.
            fields["error"] = str(change.failure) if self._content else change.failure.code
        if self._content:
            said = [entry.body for entry in entries if isinstance(entry.body, Message)]
            fields["messages"] = [{"role": str(message.role), "content": message.content} for message in said]
        told = (lease.turn, lease.conversation, change.state, seconds)
        logger.info("turn %s of %s: %s after %.1f s", *told, extra={"fields": fields})
