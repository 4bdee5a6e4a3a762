"""`threadkeep keys`: make, list and revoke the API keys that let people and programs in.

`threadkeep logins`: list the browsers that are signed in, and sign them out. Nothing shown there lets anybody in.
"""

import argparse
import asyncio
import sys
from datetime import timedelta

from threadkeep.cli.trust import trusted_settings
from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.clock import period, utc_now
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidPeriod, InvalidStoreUrl, StoreUnavailable
from threadkeep.runtime import open_store, store_path
from threadkeep.settings import Settings
from threadkeep.store.api_keys import create_key, revoke_key
from threadkeep.store.audit import login_act
from threadkeep.store.keyring import KeyRing


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
    for action in (create, listing, revoke):
        add_store_flag(action)


def add_store_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="where conversations are kept (default: the one that is set)")


def duration(text: str) -> timedelta:
    """Return a time that was written as 90d, 12h or 30m."""
    try:
        return period(text)
    except InvalidPeriod:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 90d, 12h or 30m") from None


def new_action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, purpose: str
) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)


def run_keys(arguments: argparse.Namespace) -> int:
    settings = checked_settings(arguments.store, is_made=arguments.action == "create")
    return asyncio.run(_act_on_keys(settings.store, arguments))


def checked_settings(store: str | None, *, is_made: bool = False) -> Settings:
    """Return the settings; refuse a store in memory, and a missing one unless it may be created."""
    settings = trusted_settings({"store": store})
    if settings.store.startswith("memory:"):
        raise InvalidStoreUrl("A store in memory ends with this command: name another with --store.")
    path = store_path(settings.store)
    if path is not None and not path.exists() and not is_made:
        raise StoreUnavailable(f"There is no store {settings.store_without_secrets} yet.")
    return settings


async def _act_on_keys(url: str, arguments: argparse.Namespace) -> int:
    store = await open_store(url)
    try:
        match arguments.action:
            case "create":
                scope, role = Scope(tenant=arguments.tenant, user=arguments.user), KeyRole(arguments.role)
                print((await create_key(store.keyring, store.audit, scope, role, arguments.expires))[0])
            case "list":
                await _list_keys(store.keyring, arguments.tenant)
            case _:
                key = await revoke_key(store.keyring, store.audit, arguments.id)
                print(f"revoked {key.id} of {key.scope.user} in {key.scope.tenant}")
    finally:
        await store.close()
    return 0


async def _list_keys(keyring: KeyRing, tenant: str | None) -> None:
    keys = await keyring.all(tenant)
    if not keys:
        print("There are no keys yet; `threadkeep keys create` makes one.", file=sys.stderr)
    for key in keys:
        state = _state_of(key)
        made = f"{key.created_at:%Y-%m-%d %H:%M}"
        print(f"{key.id}  {key.hint}...  {key.scope.tenant}  {key.scope.user}  {key.role}  {made}  {state}")


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
    for action in (listing, end):
        add_store_flag(action)


def run_logins(arguments: argparse.Namespace) -> int:
    return asyncio.run(_act_on_logins(checked_settings(arguments.store).store, arguments))


async def _act_on_logins(url: str, arguments: argparse.Namespace) -> int:
    store = await open_store(url)
    try:
        if arguments.action == "list":
            await _list_logins(store.keyring, arguments)
        else:
            found = [login for login in await store.keyring.logins() if login.id == arguments.id]
            known = [store.audit.recorded(*login_act(login, "login.ended")) for login in found]
            await store.keyring.end_login(arguments.id, *known)
            print(f"ended {arguments.id}")
    finally:
        await store.close()
    return 0


async def _list_logins(keyring: KeyRing, arguments: argparse.Namespace) -> None:
    logins = await keyring.logins(arguments.tenant, arguments.user)
    if not logins:
        print("Nobody is signed in.", file=sys.stderr)
    for login in logins:
        until = min(login.idle_until, login.ends_at)
        times = f"since {login.created_at:%Y-%m-%d %H:%M}  until {until:%Y-%m-%d %H:%M}"
        print(f"{login.id}  {login.key.scope.tenant}  {login.key.scope.user}  {times}  {login.device}")
