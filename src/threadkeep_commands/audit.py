"""`threadkeep audit`: list who did what, sign the newest record, and verify that nothing was changed since.

A signed head that is kept elsewhere proves later that the log still contains it: a hash chain alone does not show that
its end was cut off, or that all of it was rewritten by somebody with write access to the store.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.text.excerpt import head
from threadkeep_commands.opening import add_store_flag, add_tenant_flag, audit_key, checked_settings, opened
from threadkeep_commands.retention import known_tenants

LONGEST_DETAIL = 100
"""How many characters a line shows of each detail; `--json` has all of them."""


def add_audit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep audit`."""
    parser.add_argument("action", nargs="?", choices=("list", "head", "verify"), default="list", help="(default: list)")
    add_store_flag(parser)
    add_tenant_flag(parser, "whose log")
    parser.add_argument("--head", type=Path, metavar="FILE", help="verify: what `audit head` wrote earlier; - reads it")
    parser.add_argument("--actor", help="list: of this actor, such as user:ada, operator or system")
    parser.add_argument("--act", metavar="CODE", help="list: such as conversation.deleted")
    parser.add_argument("--object", help="list: what it was done to, such as conversation:ID or user:ada")
    parser.add_argument("--from", dest="since", type=_moment, metavar="TIME", help="list: from this time on")
    parser.add_argument("--to", dest="until", type=_moment, metavar="TIME", help="list: before this time")
    parser.add_argument("--limit", type=int, default=50, help="list: the newest so many (default: 50)")
    parser.add_argument("--json", action="store_true", help="list: print a line of JSON for each record")


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-01-31 or 2026-01-31T12:00Z") from None


async def run_audit(arguments: argparse.Namespace) -> int:
    """Do what is asked; the status of `verify` is 1 if something does not fit."""
    async with opened(arguments.store) as conversations:
        if arguments.action == "list":
            return await _list(conversations, arguments)
        key = audit_key(checked_settings(arguments.store))
        if arguments.action == "head":
            print(json.dumps(await conversations.admin.signed_head(arguments.tenant, key)))
            return 0
        return await _verify(conversations, arguments, key)


async def _list(conversations: Conversations, arguments: argparse.Namespace) -> int:
    found = await conversations.admin.newest_acts(
        arguments.tenant,
        limit=arguments.limit,
        actor=arguments.actor,
        actions=(arguments.act,) if arguments.act else (),
        object=arguments.object,
        since=arguments.since,
        until=arguments.until,
    )
    for record in reversed(found):
        said = record.model_dump(mode="json")
        json_line = json.dumps({"tenant": arguments.tenant, **said}, separators=(",", ":"))
        print(json_line if arguments.json else _line(**said))
    return 0


def _line(seq: int, hash: str, act: dict[str, Any]) -> str:  # noqa: A002 - what the field is called
    details = " ".join(f"{name}={head(json.dumps(value), LONGEST_DETAIL)}" for name, value in act["details"].items())
    at = datetime.fromisoformat(act["at"])
    fields = (str(seq), f"{at:%Y-%m-%d %H:%M:%S}", act["actor"], act["action"], act["object"])
    return "  ".join(text for text in (*fields, details, act["address"], act["request"]) if text)


async def _verify(conversations: Conversations, arguments: argparse.Namespace, key: bytes | None) -> int:
    signed = None if arguments.head is None else _read_head(arguments.head)
    if signed is None:
        await known_tenants(conversations, arguments.tenant)
    verified = await conversations.admin.verify(arguments.tenant, signed, key)
    for wrong in verified.breaks:
        print(f"{arguments.tenant}: {wrong}", file=sys.stderr)
    newest = f"the newest is {verified.head.seq} {verified.head.hash}" if verified.records else "there is none"
    found = f"{len(verified.breaks)} changed, missing or out of place" if verified.breaks else "the chain is whole"
    print(f"{verified.records} records, {newest}; {found}")
    return 1 if verified.breaks else 0


def _read_head(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(sys.stdin.read() if str(path) == "-" else path.read_text()))
    except (ValueError, TypeError):
        raise InvalidValue(f"{path} holds no head that `threadkeep audit head` wrote.") from None
