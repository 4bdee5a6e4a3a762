"""`threadkeep list`: the conversations of a tenant or of one user, as lines or as JSON, and what they cost.

`threadkeep search`: the messages and titles of a user that hold some words. The syntax is that of the page and of
`GET /v1/search`; a JSON line is a hit as that gives it.
"""

import argparse
import os
import sys

from threadkeep.conversation.message import Message, Usage
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.server.responses import ListedConversation, ShownHit
from threadkeep.text.query import FILTERS
from threadkeep_commands.opening import add_store_flag, add_tenant_flag, opened
from threadkeep_commands.terminal import Terminal


class ListedRow(ListedConversation):
    """A conversation as `GET /v1/conversations` lists it, whose it is, and what its answers took if that was asked."""

    user: str
    usage: Usage | None


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep list`."""
    add_store_flag(parser)
    add_tenant_flag(parser)
    parser.add_argument("--user", help="of this user only")
    parser.add_argument("--limit", type=int, default=20, help="the last active so many (default: 20)")
    parser.add_argument(
        "--usage", action="store_true", help="add the tokens of all answers on all branches, and their cost"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each conversation")


async def run_list(arguments: argparse.Namespace) -> int:
    """Show the conversations, the last active first."""
    terminal = Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)
    rows = await _rows(arguments)
    for row in rows:
        terminal.show((row.model_dump_json() if arguments.json else terminal.harmless(_line(row))) + "\n")
    if not rows and not arguments.json:
        terminal.say("There are no conversations.")
    return 0


async def _rows(arguments: argparse.Namespace) -> list[ListedRow]:
    async with opened(arguments.store) as conversations:
        if arguments.user is None:
            page = await conversations.admin.list(arguments.tenant, limit=arguments.limit)
        else:
            scope = Scope(tenant=arguments.tenant, user=arguments.user)
            page = await conversations.list(scope=scope, limit=arguments.limit)
        return [
            ListedRow(
                **ListedConversation.model_validate(item).model_dump(),
                user=item.scope.user,
                usage=await _usage(conversations.at(item.scope, item.id)) if arguments.usage else None,
            )
            for item in page.items
        ]


async def _usage(conversation: ConversationHandle) -> Usage:
    bodies = (entry.body async for entry in conversation.reading.entries())
    return Usage.total([body.usage async for body in bodies if isinstance(body, Message) and body.usage])


def _line(row: ListedRow) -> str:
    title = " ".join((row.title or "").split())
    parts = [f"{row.updated_at:%Y-%m-%d %H:%M}", row.id, row.user, row.assistant or "-", row.status, title]
    if row.usage is not None:
        cost = f"{row.usage.cost.amount:f} {row.usage.cost.currency}" if row.usage.cost else "-"
        parts[5:5] = [f"{row.usage.input_tokens} + {row.usage.output_tokens} tokens", cost]
    return "  ".join(parts).rstrip()


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep search`."""
    filters = " ".join(f"{name}:…" for name in FILTERS)
    parser.add_argument("words", nargs="+", help=f"what to look for, best in quotes: words, -word, {filters}")
    add_store_flag(parser)
    add_tenant_flag(parser)
    parser.add_argument("--user", default=LOCAL.user, help=f"of this user (default: {LOCAL.user})")
    parser.add_argument("--order", choices=("rank", "newest"), default="rank", help="the best first, or the newest")
    parser.add_argument("--limit", type=int, default=20, help="how many hits at most (default: 20)")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each hit")


async def run_search(arguments: argparse.Namespace) -> int:
    """Show what is found; the status is 1 if that is nothing."""
    scope, text = Scope(tenant=arguments.tenant, user=arguments.user), " ".join(arguments.words)
    async with opened(arguments.store) as conversations:
        page = await conversations.search(text, scope=scope, order=arguments.order, limit=arguments.limit)
    hits = [ShownHit.model_validate(hit) for hit in page.items]
    terminal = Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)
    for hit in hits:
        if arguments.json:
            terminal.show(hit.model_dump_json() + "\n")
        else:
            terminal.show(terminal.harmless(_hit_line(hit)) + "\n    " + terminal.harmless(hit.snippet) + "\n")
    if not hits and not arguments.json:
        terminal.say("Nothing was found.")
    return 0 if hits else 1


def _hit_line(hit: ShownHit) -> str:
    place = hit.conversation if hit.entry is None else f"{hit.conversation} {hit.entry}"
    title = " ".join((hit.title or "").split())
    return f"{hit.created_at:%Y-%m-%d %H:%M}  {place}  {hit.role or hit.kind}  {title}".rstrip()
