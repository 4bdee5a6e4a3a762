"""`threadkeep keys`: make, list and revoke the API keys that let people and programs in.

`threadkeep logins`: list the browsers that are signed in, and sign them out. Nothing shown there lets anybody in.
"""

import argparse
import sys

from threadkeep.conversation.api_key import ApiKey, KeyRole, Login
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import Scope
from threadkeep_commands.opening import duration, new_action, opened


def add_keys_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    create = new_action(actions, "create", "make a key and show it once")
    create.add_argument("--tenant", required=True, help="whose data the key opens")
    create.add_argument("--user", required=True, help="who the holder is within the tenant")
    create.add_argument(
        "--role",
        choices=[role.value for role in KeyRole],
        default=KeyRole.USER.value,
        help="an admin sees whose conversations there are in the tenant (default: user)",
    )
    create.add_argument("--expires", type=duration, metavar="TIME", help="when it ends by itself, such as 90d or 12h")
    listing = new_action(actions, "list", "list keys, without the secrets")
    listing.add_argument("--tenant", help="of this tenant only")
    revoke = new_action(actions, "revoke", "make a key useless")
    revoke.add_argument("id", help="the id that `list` shows")


async def run_keys(arguments: argparse.Namespace) -> int:
    async with opened(arguments.store, is_made=arguments.action == "create") as conversations:
        admin = conversations.admin
        match arguments.action:
            case "create":
                scope = Scope(tenant=arguments.tenant, user=arguments.user)
                print((await admin.create_key(scope, KeyRole(arguments.role), arguments.expires))[0])
            case "list":
                keys = await admin.keyring.all(arguments.tenant)
                _show([*map(_key_line, keys)], "There are no keys yet; `threadkeep keys create` makes one.")
            case _:
                key = await admin.revoke_key(arguments.id)
                print(f"revoked {key.id} of {key.scope.user} in {key.scope.tenant}")
    return 0


def _key_line(key: ApiKey) -> str:
    made = f"{key.created_at:%Y-%m-%d %H:%M}"
    return f"{key.id}  {key.hint}...  {key.scope.tenant}  {key.scope.user}  {key.role}  {made}  {_state_of(key)}"


def _state_of(key: ApiKey) -> str:
    if key.revoked_at:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if not key.expires_at:
        return "good"
    return f"{'good until' if key.is_good(utc_now()) else 'expired'} {key.expires_at:%Y-%m-%d %H:%M}"


def add_logins_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|end")
    listing = new_action(actions, "list", "list the browsers that are signed in")
    listing.add_argument("--tenant", help="of this tenant only")
    listing.add_argument("--user", help="of this user only")
    end = new_action(actions, "end", "sign a browser out")
    end.add_argument("id", help="the id that `list` shows")


async def run_logins(arguments: argparse.Namespace) -> int:
    async with opened(arguments.store) as conversations:
        if arguments.action == "list":
            logins = await conversations.admin.keyring.logins(arguments.tenant, arguments.user)
            _show([*map(_login_line, logins)], "Nobody is signed in.")
        else:
            await conversations.admin.end_login(arguments.id)
            print(f"ended {arguments.id}")
    return 0


def _login_line(login: Login) -> str:
    until = min(login.idle_until, login.ends_at)
    times = f"since {login.created_at:%Y-%m-%d %H:%M}  until {until:%Y-%m-%d %H:%M}"
    return f"{login.id}  {login.key.scope.tenant}  {login.key.scope.user}  {times}  {login.device}"


def _show(lines: list[str], nothing: str) -> None:
    if not lines:
        print(nothing, file=sys.stderr)
    for line in lines:
        print(line)
