"""Settings in, webhooks out: what sends them in the background of a server."""

from collections.abc import Awaitable, Callable

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversations import Conversations
from threadkeep.errors import PackageMissing
from threadkeep.settings import Settings
from threadkeep_webhooks.posting import Post, needed
from threadkeep_webhooks.sending import Means, Sender
from threadkeep_webhooks.tables import WebhooksTable
from threadkeep_webhooks.targets import Targets


def means_of(conversations: Conversations, settings: Settings) -> Means:
    """Return what sending needs."""
    table: WebhooksTable = settings.webhooks or WebhooksTable()
    return Means(
        conversations=conversations,
        targets=Targets(conversations.operations.notes, table, utc_now, new_id),
        post=Post(table.private, table.seconds),
        attempts=table.attempts,
        clock=utc_now,
        ids=new_id,
    )


def send_webhooks(conversations: Conversations, settings: Settings) -> Callable[[], Awaitable[None]] | None:
    """Return what sends webhooks; none where a package is missing, which is an error only if the settings have some."""
    try:
        needed()
    except PackageMissing:
        if settings.webhooks is not None:
            raise
        return None
    return Sender(means_of(conversations, settings)).run
