"""`threadkeep retention`: do what the rules of retention say, or show what they would do, now or at another time.

`threadkeep hold`: keep conversations, users and tenants from being deleted, whatever the rules say. What is due is
decided in `threadkeep.retention`. `threadkeep erase`: erase a person and all that is stored about them, and print the
signed receipt.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime

from threadkeep.assistants import found_assistants
from threadkeep.conversation.clock import moment_of, moment_text, utc_now
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import HoldNotFound, InvalidValue
from threadkeep.retention.holds import Hold
from threadkeep.retention.run import Planned, RetentionRunner
from threadkeep_commands.opening import add_store_flag, add_tenant_flag, audit_key, checked_settings, new_action, opened

_PLANNED = ("tenant", "user", "conversation", "status", "action", "reason", "due")
_HELD = ("id", "tenant", "held", "since", "by", "reason")


def add_retention_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="run|preview")
    run = new_action(actions, "run", "mark and delete what is due")
    run.add_argument("--dry-run", action="store_true", help="list what is due and leave it")
    preview = new_action(actions, "preview", "list what is due and leave it")
    for action in (run, preview):
        action.add_argument("--tenant", help="in this tenant only")
        action.add_argument("--now", metavar="WHEN", help="as if it were then: a date, or a period from now on: +120d")
        action.add_argument("--json", action="store_true", help="print JSON")


async def run_retention(arguments: argparse.Namespace) -> int:
    now = None if arguments.now is None else moment_of(arguments.now, utc_now())
    async with opened(arguments.store) as conversations:
        tenants, retention = await known_tenants(conversations, arguments.tenant), conversations.admin.retention
        if arguments.action == "run" and not arguments.dry_run:
            return await _run(arguments, retention, tenants, now)
        planned = [each for tenant in tenants async for each in retention.preview(tenant, now)]
    _show(arguments, _PLANNED, [_planned_row(each) for each in planned], "Nothing is due.")
    return 0


async def _run(
    arguments: argparse.Namespace, retention: RetentionRunner, tenants: Sequence[str], now: datetime | None
) -> int:
    status, rows = 0, []
    for tenant in tenants:
        done = await retention.run(tenant, now)
        if done is None:
            print(f"{tenant}: left alone, because another process does this right now", file=sys.stderr)
            status = 1
        else:
            rows.append((tenant, done["abandon"], done["delete"]))
    _show(arguments, ("tenant", "abandoned", "deleted"), rows, "There is nothing to keep.")
    return status


def _planned_row(planned: Planned) -> tuple[str, ...]:
    scope, due = planned.scope, moment_text(planned.due)
    return scope.tenant, scope.user, planned.conversation, planned.status, planned.action, planned.reason, due


def add_hold_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="add|remove|list")
    add = new_action(actions, "add", "hold a conversation, a user or a whole tenant")
    held = add.add_mutually_exclusive_group()
    held.add_argument("--conversation", metavar="ID", help="hold this conversation")
    held.add_argument("--user", help="hold everything of this user")
    add.add_argument("--tenant", help=f"where that is (default: {LOCAL.tenant}); alone: hold everything of this tenant")
    add.add_argument("--reason", required=True, metavar="TEXT", help="why, such as the number of a case")
    remove = new_action(actions, "remove", "take a hold away")
    remove.add_argument("id", help="the id that `list` shows")
    listing = new_action(actions, "list", "list what is held, and why")
    listing.add_argument("--tenant", help="in this tenant only")
    for action in (add, listing):
        action.add_argument("--json", action="store_true", help="print JSON")


async def run_hold(arguments: argparse.Namespace) -> int:
    if arguments.action == "add" and not (arguments.conversation or arguments.user or arguments.tenant):
        print("threadkeep hold add: name what to hold: --conversation, --user or --tenant", file=sys.stderr)
        return 2
    async with opened(arguments.store) as conversations:
        return await _hold(conversations, arguments)


async def _hold(conversations: Conversations, arguments: argparse.Namespace) -> int:
    holds = conversations.admin.holds
    if arguments.action == "add":
        tenant = arguments.tenant or LOCAL.tenant
        added = await holds.add(
            tenant, conversation=arguments.conversation, user=arguments.user, reason=arguments.reason
        )
        _show(arguments, _HELD, [_hold_row(tenant, added)], "")
        return 0
    if arguments.action == "list":
        tenants = await known_tenants(conversations, arguments.tenant)
        found = [_hold_row(tenant, hold) for tenant in tenants for hold in await holds.list(tenant)]
        _show(arguments, _HELD, found, "Nothing is held.")
        return 0
    for tenant in await known_tenants(conversations, None):
        if any(hold.id == arguments.id for hold in await holds.list(tenant)):
            await holds.remove(tenant, arguments.id)
            print(f"removed {arguments.id}")
            return 0
    raise HoldNotFound


def _hold_row(tenant: str, hold: Hold) -> tuple[str, ...]:
    held = f"conversation {hold.conversation}" if hold.conversation else f"user {hold.user}" if hold.user else "tenant"
    return hold.id, tenant, held, moment_text(hold.at), hold.by, hold.reason


async def known_tenants(conversations: Conversations, tenant: str | None) -> Sequence[str]:
    """Return all tenants, or the named one; an error if it does not exist, so that it is not created."""
    known = await conversations.admin.tenants()
    if tenant is not None and check_id(tenant) not in known:
        raise InvalidValue(f"There is no tenant {tenant}.")
    return known if tenant is None else (tenant,)


def _show(arguments: argparse.Namespace, names: Sequence[str], rows: Sequence[Sequence[object]], nothing: str) -> None:
    """Print rows as JSON, or as a table with its names above it."""
    if arguments.json:
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False, indent=2))
        return
    if not rows:
        print(nothing, file=sys.stderr)
        return
    texts = [list(names), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(names))]
    for row in texts:
        print("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def add_erase_arguments(parser: argparse.ArgumentParser) -> None:
    add_tenant_flag(parser, "where the person is")
    parser.add_argument("--user", required=True, help="who is erased")
    parser.add_argument("--yes", action="store_true", help="do it; without this, tell what would go")
    add_store_flag(parser)


async def run_erase(arguments: argparse.Namespace) -> int:
    """Erase, or without confirmation show what would be erased and return 1, because nothing was done."""
    scope, settings = Scope(tenant=arguments.tenant, user=arguments.user), checked_settings(arguments.store)
    async with opened(arguments.store, assistants=found_assistants(settings)) as conversations:
        await known_tenants(conversations, scope.tenant)
        erasure = conversations.admin.erasure
        if not arguments.yes:
            stored, files, keys = await erasure.preview(scope)
            print(
                f"{scope.tenant}, {scope.user}: {stored.conversations} conversation(s) with {stored.entries} entries, "
                f"those deleted and kept aside, {files} file(s) and {keys} API key(s) would be erased for good. "
                "To do it, add --yes.",
                file=sys.stderr,
            )
            return 1
        print((await erasure.erase(scope, audit_key(settings))).model_dump_json(indent=2))
    return 0
