"""`threadkeep migrate`: bring a store's schema up to date, and say what was applied.

PostgreSQL needs it once per release, run as the owner of the schema. An SQLite file migrates by itself when it is
opened. How a migration works is not decided here but in `store/`.
"""

import argparse

from threadkeep.cli.trust import trusted_settings
from threadkeep.runtime import migrate


def add_migrate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="the store to migrate (default: the one that is set)")


async def run_migrate(arguments: argparse.Namespace) -> int:
    settings = trusted_settings({"store": arguments.store})
    applied = await migrate(settings.store)
    for name in applied:
        print(f"applied {name}")
    if not applied:
        print(f"{settings.store_without_secrets} is up to date")
    return 0
