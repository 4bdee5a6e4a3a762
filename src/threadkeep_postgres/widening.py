"""`threadkeep cells`: show how many cells a tenant has, or give it more, while servers run. See `cells.py`."""

import argparse

from threadkeep.cli.trust import trusted_settings
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.errors import InvalidValue
from threadkeep.store.base import MAX_BYTES
from threadkeep_postgres.opening import open_postgres


def add_cells_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tenant", help="the tenant")
    parser.add_argument(
        "cells", nargs="?", type=int, default=1, help="how many it is to have (default: as many as it has)"
    )
    parser.add_argument("--store", metavar="URL", help="the PostgreSQL that it is in (default: the one that is set)")


async def run_cells(arguments: argparse.Namespace) -> int:
    url = trusted_settings({"store": arguments.store}).store
    if not url.startswith(("postgresql:", "postgres:")):
        raise InvalidValue("Only tenants in PostgreSQL have cells.")
    store = await open_postgres(url, clock=utc_now, ids=new_id, max_bytes=MAX_BYTES)
    try:
        cells = await store.cells(arguments.tenant, arguments.cells)
    finally:
        await store.close()
    print(f"{arguments.tenant} has {len(cells.keys)} cell{'s' * (len(cells.keys) > 1)}")
    if (last := cells.opens[-1]) is not None and last > cells.read_at:
        print(f"People who are new live in all of them from {last:%H:%M:%S} UTC on; who is there stays")
    return 0
