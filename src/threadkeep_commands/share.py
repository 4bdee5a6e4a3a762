"""`threadkeep share`: make, list and remove the links by which anybody can read a conversation."""

import argparse
import sys

from threadkeep.errors import NotAllowed
from threadkeep_commands.opening import add_tenant_flag, checked_settings, duration, new_action, opened


def add_share_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|end")
    create = new_action(actions, "create", "make a link and show it once")
    create.add_argument("--head", type=int, metavar="ENTRY", help="the last entry that it shows (default: the newest)")
    create.add_argument("--expires", type=duration, metavar="TIME", help="when it ends by itself, such as 90d or 12h")
    listing = new_action(actions, "list", "list the links of a conversation, without the secrets")
    end = new_action(actions, "end", "take links back; they stop working at once")
    for action in (create, listing, end):
        action.add_argument("conversation", help="the id of the conversation")
        add_tenant_flag(action, "whose conversation it is")
    end.add_argument("id", nargs="?", help="the id that `list` shows (default: all links)")


async def run_share(arguments: argparse.Namespace) -> int:
    settings = checked_settings(arguments.store)
    if arguments.action == "create" and not settings.may_share:
        raise NotAllowed("Sharing is off; set `share = true` to allow it.")
    async with opened(arguments.store) as conversations:
        conversation = await conversations.admin.conversation(arguments.tenant, arguments.conversation, act=None)
        match arguments.action:
            case "create":
                token, share = await conversation.share(arguments.head, lasts=arguments.expires)
                print(f"{settings.root_path}/s/{token}")
                print(f"This is the path of link {share.id} on your server; it is shown only now.", file=sys.stderr)
            case "list":
                shares = await conversation.shares()
                if not shares:
                    print("Nobody can read it by a link.", file=sys.stderr)
                for share in shares:
                    until = f"until {share.expires_at:%Y-%m-%d %H:%M}" if share.expires_at else "until it is ended"
                    print(f"{share.id}  up to entry {share.head}  since {share.created_at:%Y-%m-%d %H:%M}  {until}")
            case _:
                await conversation.unshare(arguments.id)
                print(f"ended {arguments.id or 'all links'}")
    return 0
