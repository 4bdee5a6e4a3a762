"""`threadkeep erase`: erase a person and all that is stored about them, and print the signed receipt."""

import argparse
import asyncio
import sys

from threadkeep.assistants import found_assistants
from threadkeep.cli.api_keys import add_store_flag, checked_settings
from threadkeep.cli.retention import known_tenants
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.runtime import open_unanswered


def add_erase_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"where the person is (default: {LOCAL.tenant})")
    parser.add_argument("--user", required=True, help="who is erased")
    parser.add_argument("--yes", action="store_true", help="do it; without this, tell what would go")
    add_store_flag(parser)


def run_erase(arguments: argparse.Namespace) -> int:
    """Erase, or without confirmation show what would be erased and return 1, because nothing was done."""
    return asyncio.run(_erase(arguments, Scope(tenant=arguments.tenant, user=arguments.user)))


async def _erase(arguments: argparse.Namespace, scope: Scope) -> int:
    settings = checked_settings(arguments.store)
    known = found_assistants(settings)
    async with await open_unanswered(settings.store, settings.retention, settings.files, known) as conversations:
        await known_tenants(conversations, scope.tenant)
        if not arguments.yes:
            stored, files, keys = await conversations.erasure.preview(scope)
            print(
                f"{scope.tenant}, {scope.user}: {stored.conversations} conversation(s) with {stored.entries} entries, "
                f"those deleted and kept aside, {files} file(s) and {keys} API key(s) would be erased for good. "
                "To do it, add --yes.",
                file=sys.stderr,
            )
            return 1
        key = settings.audit_key.get_secret_value().encode() if settings.audit_key else None
        print((await conversations.erasure.erase(scope, key)).model_dump_json(indent=2))
    return 0
