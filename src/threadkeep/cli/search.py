"""`threadkeep search`: the messages and titles of a user that hold some words, as lines or as JSON.

The syntax is that of the page and of `GET /v1/search`; a JSON line is a hit as that gives it.
"""

import argparse
import asyncio
import os
import sys

from threadkeep.cli.terminal import Terminal
from threadkeep.cli.transfer import opened_store
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.server.responses import ShownHit
from threadkeep.store.values import Hit
from threadkeep.text.query import FILTERS


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep search`."""
    filters = " ".join(f"{name}:…" for name in FILTERS)
    parser.add_argument("words", nargs="+", help=f"what to look for, best in quotes: words, -word, {filters}")
    parser.add_argument("--store", metavar="URL", help="where conversations are kept (default: the one that is set)")
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"whose conversations (default: {LOCAL.tenant})")
    parser.add_argument("--user", default=LOCAL.user, help=f"of this user (default: {LOCAL.user})")
    parser.add_argument("--order", choices=("rank", "newest"), default="rank", help="the best first, or the newest")
    parser.add_argument("--limit", type=int, default=20, help="how many hits at most (default: 20)")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each hit")


def run_search(arguments: argparse.Namespace) -> int:
    """Show what is found; the status is 1 if that is nothing."""
    found = asyncio.run(_search(arguments))
    terminal = Terminal(sys.stdin, sys.stdout, sys.stderr, os.environ)
    for hit in found:
        if arguments.json:
            terminal.show(ShownHit.model_validate(hit).model_dump_json() + "\n")
        else:
            terminal.show(terminal.harmless(_line(hit)) + "\n    " + terminal.harmless(hit.snippet) + "\n")
    if not found and not arguments.json:
        terminal.say("Nothing was found.")
    return 0 if found else 1


async def _search(arguments: argparse.Namespace) -> tuple[Hit, ...]:
    scope = Scope(tenant=arguments.tenant, user=arguments.user)
    async with opened_store(arguments.store) as store:
        text, limit = " ".join(arguments.words), arguments.limit
        return (await store.search(scope, text, order=arguments.order, limit=limit)).items


def _line(hit: Hit) -> str:
    place = hit.conversation if hit.seq is None else f"{hit.conversation} {hit.seq}"
    title = " ".join((hit.title or "").split())
    return f"{hit.created_at:%Y-%m-%d %H:%M}  {place}  {hit.role or hit.kind}  {title}".rstrip()
