"""`threadkeep search`: the messages and titles of a user that hold some words, as lines or as JSON.

The syntax is that of the page and of `GET /v1/search`; a JSON line is a hit as that gives it.
"""

import argparse
import os
import sys

from threadkeep.cli.opening import add_store_flag, add_tenant_flag, opened
from threadkeep.cli.terminal import Terminal
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.server.responses import ShownHit
from threadkeep.text.query import FILTERS


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
            terminal.show(terminal.harmless(_line(hit)) + "\n    " + terminal.harmless(hit.snippet) + "\n")
    if not hits and not arguments.json:
        terminal.say("Nothing was found.")
    return 0 if hits else 1


def _line(hit: ShownHit) -> str:
    place = hit.conversation if hit.entry is None else f"{hit.conversation} {hit.entry}"
    title = " ".join((hit.title or "").split())
    return f"{hit.created_at:%Y-%m-%d %H:%M}  {place}  {hit.role or hit.kind}  {title}".rstrip()
