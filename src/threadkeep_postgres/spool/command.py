"""`threadkeep spool`: list what an instance keeps on its disk because its database is away, and write it there.

A server drains its own spool. This is for a spool whose server is not started again.
"""

import argparse

from threadkeep.cli.trust import trusted_settings
from threadkeep.errors import InvalidValue
from threadkeep.hosting import spool_settings
from threadkeep_postgres.spool.opening import drain_spool, list_spool
from threadkeep_postgres.spool.spool_file import damage_in


def add_spool_arguments(parser: argparse.ArgumentParser) -> None:
    about = "show what waits, also while a server uses the spool, or write it to the store, as a server does by itself"
    parser.add_argument("action", choices=["list", "drain"], help=about)
    parser.add_argument("--spool", metavar="FOLDER", help="the spool (default: the one that is set)")
    parser.add_argument("--store", metavar="URL", help="the store that it belongs to (default: the one that is set)")


async def run_spool(arguments: argparse.Namespace) -> int:
    settings = trusted_settings({"store": arguments.store, "spool_dir": arguments.spool})
    spool = spool_settings(settings)
    if spool is None:
        raise InvalidValue("There is no spool: name it with --spool FOLDER.")
    if arguments.action == "drain":
        print(f"{await drain_spool(settings.store, spool)} conversation(s) are in the database now")
        return 0
    held = await list_spool(spool.folder)
    for copy in held:
        count = copy.last - copy.base
        what = f"{count} {'entry' if count == 1 else 'entries'}{', begun in the outage' if copy.is_new else ''}"
        print(f"{copy.scope.tenant} {copy.scope.user} {copy.id} {what}")
    if (damage := damage_in(spool.folder)) is not None:
        print(damage)
    if not held:
        print(f"{spool.folder} is empty")
    return 0
