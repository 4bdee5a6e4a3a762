"""`threadkeep list`: the conversations of a tenant or of one user, as lines or as JSON, and what they cost."""

import argparse
import asyncio
import os
import sys

from threadkeep.cli.terminal import Terminal
from threadkeep.cli.transfer import opened_store
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.message import Message, Usage
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.server.responses import ListedConversation
from threadkeep.store.base import Store
from threadkeep.transfer.exporter import log_of


class Row(ListedConversation):
    """A conversation as `GET /v1/conversations` lists it, whose it is, and what its answers took if that was asked."""

    user: str
    usage: Usage | None


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep list`."""
    parser.add_argument("--store", metavar="URL", help="where conversations are kept (default: the one that is set)")
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"whose conversations (default: {LOCAL.tenant})")
    parser.add_argument("--user", help="of this user only")
    parser.add_argument("--limit", type=int, default=20, help="the last active so many (default: 20)")
    parser.add_argument(
        "--usage", action="store_true", help="add the tokens of all answers on all branches, and their cost"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each conversation")


def run_list(arguments: argparse.Namespace) -> int:
    """Show the conversations, the last active first."""
    terminal = Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)
    rows = asyncio.run(_rows(arguments))
    for row in rows:
        terminal.show((row.model_dump_json() if arguments.json else terminal.harmless(_line(row))) + "\n")
    if not rows and not arguments.json:
        terminal.say("There are no conversations.")
    return 0


async def _rows(arguments: argparse.Namespace) -> list[Row]:
    async with opened_store(arguments.store) as store:
        if arguments.user is None:
            page = await store.list_tenant(arguments.tenant, limit=arguments.limit)
        else:
            page = await store.list(Scope(tenant=arguments.tenant, user=arguments.user), limit=arguments.limit)
        return [
            Row(
                **ListedConversation.of(conversation).model_dump(),
                user=conversation.scope.user,
                usage=await _usage(store, conversation) if arguments.usage else None,
            )
            for conversation in page.items
        ]


async def _usage(store: Store, conversation: Conversation) -> Usage:
    bodies = (entry.body async for entry in log_of(store, conversation))
    return Usage.total([body.usage async for body in bodies if isinstance(body, Message) and body.usage])


def _line(row: Row) -> str:
    title = " ".join((row.title or "").split())
    parts = [f"{row.updated_at:%Y-%m-%d %H:%M}", row.id, row.user, row.assistant or "-", row.status, title]
    if row.usage is not None:
        cost = f"{row.usage.cost.amount:f} {row.usage.cost.currency}" if row.usage.cost else "-"
        parts[5:5] = [f"{row.usage.input_tokens} + {row.usage.output_tokens} tokens", cost]
    return "  ".join(parts).rstrip()
