"""`threadkeep erase`: erase a person and all that is stored about them, and print the signed receipt."""

import argparse
import sys

from threadkeep.assistants import found_assistants
from threadkeep.cli.opening import add_store_flag, add_tenant_flag, audit_key, checked_settings, opened
from threadkeep.cli.retention import known_tenants
from threadkeep.conversation.scope import Scope


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
