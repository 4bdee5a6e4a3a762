"""`threadkeep logins`: list the browsers that are signed in, and sign them out. Nothing shown here lets anybody in."""

import argparse
import asyncio
import os
import sys

from threadkeep.cli.keys import add_store_flag, checked_settings, new_action
from threadkeep.runtime import open_store
from threadkeep.store.keyring import KeyRing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep logins`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|end")
    listing = new_action(actions, "list", "list the browsers that are signed in")
    listing.add_argument("--tenant", help="of this tenant only")
    listing.add_argument("--user", help="of this user only")
    end = new_action(actions, "end", "sign a browser out")
    end.add_argument("id", help="the id that `list` shows")
    for action in (listing, end):
        add_store_flag(action)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    return asyncio.run(_run(checked_settings(os.environ, arguments.store).store, arguments))


async def _run(url: str, arguments: argparse.Namespace) -> int:
    store = await open_store(url)
    try:
        if arguments.action == "list":
            await _list(store.keyring, arguments)
        else:
            await store.keyring.end_login(arguments.id)
            print(f"ended {arguments.id}")
    finally:
        await store.close()
    return 0


async def _list(keyring: KeyRing, arguments: argparse.Namespace) -> None:
    logins = await keyring.logins(arguments.tenant, arguments.user)
    if not logins:
        print("Nobody is signed in.", file=sys.stderr)
    for login in logins:
        until = min(login.idle_until, login.ends_at)
        times = f"since {login.created_at:%Y-%m-%d %H:%M}  until {until:%Y-%m-%d %H:%M}"
        print(f"{login.id}  {login.key.scope.tenant}  {login.key.scope.user}  {times}  {login.device}")
