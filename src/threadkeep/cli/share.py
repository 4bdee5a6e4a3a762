"""`threadkeep share`: make, list and remove the links by which anybody can read a conversation."""

import argparse
import asyncio
import sys

from threadkeep.cli.api_keys import add_store_flag, checked_settings, duration, new_action
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import NotAllowed
from threadkeep.runtime import open_store
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.store.shares import Place, add_share, end_shares, good_shares


def add_share_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|end")
    create = new_action(actions, "create", "make a link and show it once")
    create.add_argument("--head", type=int, metavar="ENTRY", help="the last entry that it shows (default: the newest)")
    create.add_argument("--expires", type=duration, metavar="TIME", help="when it ends by itself, such as 90d or 12h")
    listing = new_action(actions, "list", "list the links of a conversation, without the secrets")
    end = new_action(actions, "end", "take links back; they stop working at once")
    for action in (create, listing, end):
        action.add_argument("conversation", help="the id of the conversation")
        action.add_argument("--tenant", default=LOCAL.tenant, help="whose conversation it is (default: local)")
        add_store_flag(action)
    end.add_argument("id", nargs="?", help="the id that `list` shows (default: all links)")


def run_share(arguments: argparse.Namespace) -> int:
    settings = checked_settings(arguments.store)
    if arguments.action == "create" and not settings.may_share:
        raise NotAllowed("Sharing is off; set `share = true` to allow it.")
    return asyncio.run(_act(settings, arguments))


async def _act(settings: Settings, arguments: argparse.Namespace) -> int:
    store = await open_store(settings.store)
    try:
        place = (await store.owner(arguments.tenant, arguments.conversation), arguments.conversation)
        match arguments.action:
            case "create":
                token, share = await add_share(store, utc_now, place, arguments.head, arguments.expires)
                print(f"{settings.root_path}/s/{token}")
                print(f"This is the path of link {share.id} on your server; it is shown only now.", file=sys.stderr)
            case "list":
                await _list(store, place)
            case _:
                await end_shares(store, utc_now, place, arguments.id)
                print(f"ended {arguments.id or 'all links'}")
    finally:
        await store.close()
    return 0


async def _list(store: Store, place: Place) -> None:
    shares = await good_shares(store, utc_now, place)
    if not shares:
        print("Nobody can read it by a link.", file=sys.stderr)
    for share in shares:
        until = f"until {share.expires_at:%Y-%m-%d %H:%M}" if share.expires_at else "until it is ended"
        print(f"{share.id}  up to entry {share.head}  since {share.created_at:%Y-%m-%d %H:%M}  {until}")
