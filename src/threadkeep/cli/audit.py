"""`threadkeep audit`: list who did what, sign the newest record, and verify that nothing was changed since.

A signed head that is kept elsewhere proves later that the log still contains it: a hash chain alone does not show that
its end was cut off, or that all of it was rewritten by somebody with write access to the store.
"""

import argparse
import asyncio
import hmac
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadkeep.cli.transfer import opened_store
from threadkeep.cli.trust import trusted_settings
from threadkeep.conversation.clock import moment_text, utc_now
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidValue
from threadkeep.store.audit import Audited, Head, Wanted, signature
from threadkeep.store.base import Store
from threadkeep.text.excerpt import head

LONGEST_DETAIL = 100
"""How many characters a line shows of each detail; `--json` has all of them."""


def add_audit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep audit`."""
    parser.add_argument("action", nargs="?", choices=("list", "head", "verify"), default="list", help="(default: list)")
    parser.add_argument("--store", metavar="URL", help="where conversations are kept (default: the one that is set)")
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"whose log (default: {LOCAL.tenant})")
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


def run_audit(arguments: argparse.Namespace) -> int:
    """Do what is asked; the status of `verify` is 1 if something does not fit."""
    return asyncio.run({"list": _list, "head": _head, "verify": _verify}[arguments.action](arguments))


async def _list(arguments: argparse.Namespace) -> int:
    wanted = Wanted(
        actor=arguments.actor,
        actions=(arguments.act,) if arguments.act else (),
        object=arguments.object,
        since=arguments.since,
        until=arguments.until,
        newest_first=True,
    )
    async with opened_store(arguments.store) as store:
        found = await store.audit.read(arguments.tenant, wanted, limit=arguments.limit)
    for record in reversed(found):
        print(_json_line(arguments.tenant, record) if arguments.json else _line(record))
    return 0


def _json_line(tenant: str, record: Audited) -> str:
    return json.dumps({"tenant": tenant, **record.model_dump(mode="json")}, separators=(",", ":"))


def _line(record: Audited) -> str:
    act = record.act
    details = " ".join(f"{name}={head(json.dumps(value), LONGEST_DETAIL)}" for name, value in act.details.items())
    fields = (str(record.seq), f"{act.at:%Y-%m-%d %H:%M:%S}", act.actor, act.action, act.object)
    return "  ".join(text for text in (*fields, details, act.address, act.request) if text)


async def _head(arguments: argparse.Namespace) -> int:
    async with opened_store(arguments.store) as store:
        head = await store.audit.head(arguments.tenant)
        said = {"tenant": arguments.tenant, **head.model_dump(), "at": moment_text(utc_now())}
        print(json.dumps({**said, "signature": signature(await _key(store, arguments), said)}))
    return 0


async def _verify(arguments: argparse.Namespace) -> int:
    async with opened_store(arguments.store) as store:
        kept = None if arguments.head is None else _kept(await _key(store, arguments), arguments)
        if kept is None and arguments.tenant not in await store.tenants():
            raise InvalidValue(f"There is no tenant {arguments.tenant}.")
        verified = await store.audit.verify(arguments.tenant, kept)
    for wrong in verified.breaks:
        print(f"{arguments.tenant}: {wrong}", file=sys.stderr)
    newest = f"the newest is {verified.head.seq} {verified.head.hash}" if verified.records else "there is none"
    found = f"{len(verified.breaks)} changed, missing or out of place" if verified.breaks else "the chain is whole"
    print(f"{verified.records} records, {newest}; {found}")
    return 1 if verified.breaks else 0


def _kept(key: bytes, arguments: argparse.Namespace) -> Head:
    """Return the head that was kept, which must be of this tenant and signed with our key."""
    try:
        text = sys.stdin.read() if str(arguments.head) == "-" else arguments.head.read_text()
        said: dict[str, Any] = json.loads(text)
        signed = str(said.pop("signature"))
        head = Head(seq=said["seq"], hash=said["hash"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidValue(f"{arguments.head} holds no head that `threadkeep audit head` wrote.") from None
    if said.get("tenant") != arguments.tenant:
        raise InvalidValue(f"{arguments.head} is the head of another tenant.")
    if not hmac.compare_digest(signature(key, said), signed):
        raise InvalidValue(f"{arguments.head} was not signed with this key, or was changed.")
    return head


async def _key(store: Store, arguments: argparse.Namespace) -> bytes:
    given = trusted_settings({"store": arguments.store}).audit_key
    return given.get_secret_value().encode() if given else await store.keyring.secret()
