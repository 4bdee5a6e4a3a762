"""`threadkeep keys`: make, list and revoke the API keys that let people and programs in."""

import argparse
import asyncio
import os
import sys

from threadkeep.conversation.api_key import ApiKey, KeyRole, digest_of, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidStoreUrl, StoreUnavailable
from threadkeep.runtime import open_store, store_path
from threadkeep.settings import Settings, load_settings, read_file
from threadkeep.store.base import Store

HINT = 9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep keys`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    create = _action(actions, "create", "make a key and show it once")
    create.add_argument("--tenant", required=True, help="whose data the key opens")
    create.add_argument("--user", required=True, help="who the holder is within the tenant")
    create.add_argument(
        "--role",
        choices=[role.value for role in KeyRole],
        default=KeyRole.USER.value,
        help="an admin sees whose conversations there are in the tenant, and the metrics (default: user)",
    )
    listing = _action(actions, "list", "list keys, without the secrets")
    listing.add_argument("--tenant", help="of this tenant only")
    revoke = _action(actions, "revoke", "make a key useless")
    revoke.add_argument("id", help="the id that `list` shows")
    for action in (create, listing, revoke):
        action.add_argument(
            "--store", metavar="URL", help="where conversations are kept (default: the one that is set)"
        )


def _action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, purpose: str
) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    settings = load_settings(os.environ, {"store": arguments.store}, read_file(os.environ))
    _check_store(settings, is_made=arguments.action == "create")
    return asyncio.run(_run(settings.store, arguments))


def _check_store(settings: Settings, *, is_made: bool) -> None:
    """Refuse a store that ends with this command, and one that is not there unless it may be made."""
    if settings.store.startswith("memory:"):
        raise InvalidStoreUrl(
            "A store in memory ends with this command, and its keys with it: name another with --store."
        )
    path = store_path(settings.store)
    if path is not None and not path.exists() and not is_made:
        raise StoreUnavailable(f"There is no store {settings.store_without_secrets} yet, and so there are no keys.")


async def _run(url: str, arguments: argparse.Namespace) -> int:
    store = await open_store(url)
    try:
        match arguments.action:
            case "create":
                await _create(store, arguments)
            case "list":
                await _list(store, arguments.tenant)
            case _:
                key = await store.keyring.revoke(arguments.id, utc_now())
                print(f"revoked {key.id} of {key.scope.user} in {key.scope.tenant}")
    finally:
        await store.close()
    return 0


async def _create(store: Store, arguments: argparse.Namespace) -> None:
    secret = new_secret()
    scope = Scope(tenant=arguments.tenant, user=arguments.user)
    key = ApiKey(
        id=new_id(),
        digest=digest_of(secret),
        hint=secret[:HINT],
        scope=scope,
        role=KeyRole(arguments.role),
        created_at=utc_now(),
    )
    await store.keyring.add(key)
    print(secret)


async def _list(store: Store, tenant: str | None) -> None:
    keys = await store.keyring.all(tenant)
    if not keys:
        print("There are no keys yet; `threadkeep keys create` makes one.", file=sys.stderr)
    for key in keys:
        state = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else "good"
        made = f"{key.created_at:%Y-%m-%d %H:%M}"
        print(f"{key.id}  {key.hint}...  {key.scope.tenant}  {key.scope.user}  {key.role}  {made}  {state}")
