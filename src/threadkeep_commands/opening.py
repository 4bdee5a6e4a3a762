"""How a command gets to the conversations: the flags that name the store, and the front door behind them."""

import argparse
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from threadkeep.cli.trust import trusted_settings
from threadkeep.conversation.clock import period
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidPeriod, InvalidStoreUrl, StoreUnavailable
from threadkeep.runtime import open_unanswered, store_path
from threadkeep.settings import Settings
from threadkeep.turn.assistant import Assistant


def add_store_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="where conversations are kept (default: the one that is set)")


def add_tenant_flag(parser: argparse.ArgumentParser, what: str = "whose conversations") -> None:
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"{what} (default: {LOCAL.tenant})")


def new_action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, purpose: str
) -> argparse.ArgumentParser:
    """Declare an action of a command, such as `keys create`."""
    parser = actions.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
    add_store_flag(parser)
    return parser


def duration(text: str) -> timedelta:
    """Return a time that was written as 90d, 12h or 30m."""
    try:
        return period(text)
    except InvalidPeriod:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 90d, 12h or 30m") from None


def checked_settings(store: str | None, *, is_made: bool = False) -> Settings:
    """Return the settings; refuse a store in memory, and a missing one unless it may be created."""
    settings = trusted_settings({"store": store})
    if settings.store.startswith("memory:"):
        raise InvalidStoreUrl("A store in memory ends with this command: name another with --store.")
    path = store_path(settings.store)
    if path is not None and not path.exists() and not is_made:
        raise StoreUnavailable(f"There is no store {settings.store_without_secrets} yet.")
    return settings


def audit_key(settings: Settings) -> bytes | None:
    """Return what heads of audit logs and receipts are signed with, if not with the secret of the store."""
    return settings.audit_key.get_secret_value().encode() if settings.audit_key else None


@asynccontextmanager
async def opened(
    store: str | None, *, is_made: bool = False, assistants: Mapping[str, Assistant] | None = None
) -> AsyncIterator[Conversations]:
    """Open the conversations of a store in which nobody answers; one that is only read must exist."""
    settings = checked_settings(store, is_made=is_made)
    conversations = await open_unanswered(settings.store, settings.retention, settings.files, assistants)
    try:
        yield conversations
    finally:
        await conversations.close()
