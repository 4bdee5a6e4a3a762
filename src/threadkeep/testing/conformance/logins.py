"""Logins: added, found with their key as it is, renewed and ended; gone when they are over, too many, or revoked."""

from datetime import UTC, datetime, timedelta

import pytest

from threadkeep.conversation.api_key import ApiKey, Login, digest_of
from threadkeep.conversation.scope import Scope
from threadkeep.errors import KeyNotFound
from threadkeep.store.base import Store
from threadkeep.store.keyring import MOST_LOGINS
from threadkeep.testing.stores import OpenAnother

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _login(name: str, key: ApiKey, at: datetime = NOW, idle: timedelta = HOUR) -> Login:
    return Login(
        id=name,
        digest=digest_of(f"tl_{name}"),
        key=key,
        device="Firefox on Linux",
        created_at=at,
        idle_until=at + idle,
        ends_at=at + 10 * HOUR,
    )


async def _key(store: Store, user: str = "ada", tenant: str = "acme") -> ApiKey:
    id = f"{tenant}-{user}"
    scope = Scope(tenant=tenant, user=user)
    expires_at = NOW + 20 * HOUR
    key = ApiKey(id=id, digest=digest_of(id), hint="tk_", scope=scope, created_at=NOW, expires_at=expires_at)
    await store.keyring.add(key)
    return key


async def _names(store: Store, tenant: str | None = None, user: str | None = None) -> list[str]:
    return [login.id for login in await store.keyring.logins(tenant, user)]


@pytest.mark.asyncio
class TestLogins:
    async def test_a_login_is_found_by_its_digest_as_it_was_added(self, store: Store) -> None:
        login = _login("one", await _key(store))
        await store.keyring.add_login(login)
        assert await store.keyring.find_login(digest_of("tl_one")) == login
        assert await store.keyring.find_login(digest_of("tl_two")) is None
        assert await store.keyring.find(digest_of("tl_one")) is None

    async def test_a_renewed_login_goes_on_for_longer(self, store: Store) -> None:
        login = _login("one", await _key(store))
        await store.keyring.add_login(login)
        await store.keyring.renew_login(login.digest, NOW + 2 * HOUR)
        assert await store.keyring.find_login(login.digest) == login.model_copy(update={"idle_until": NOW + 2 * HOUR})
        await store.keyring.renew_login(digest_of("tl_two"), NOW + 2 * HOUR)
        assert await _names(store) == ["one"]

    async def test_an_ended_login_is_gone(self, store: Store) -> None:
        login = _login("one", await _key(store))
        await store.keyring.add_login(login)
        await store.keyring.end_login("one")
        assert await store.keyring.find_login(login.digest) is None
        with pytest.raises(KeyNotFound):
            await store.keyring.end_login("one")

    async def test_the_logins_of_a_revoked_key_are_gone(self, store: Store) -> None:
        ada, bob = await _key(store), await _key(store, "bob")
        await store.keyring.add_login(_login("one", ada))
        await store.keyring.add_login(_login("two", bob))
        await store.keyring.revoke(ada.id, NOW)
        assert await store.keyring.find_login(digest_of("tl_one")) is None
        assert await _names(store) == ["two"]

    async def test_logins_are_listed_oldest_first_by_tenant_and_user(self, store: Store) -> None:
        ada, bob, eve = await _key(store), await _key(store, "bob"), await _key(store, "ada", "other")
        for number, (name, key) in enumerate((("b", ada), ("a", bob), ("c", ada), ("d", eve))):
            await store.keyring.add_login(_login(name, key, NOW + timedelta(minutes=number)))
        assert await _names(store) == ["b", "a", "c", "d"]
        assert await _names(store, "acme") == ["b", "a", "c"]
        assert await _names(store, "acme", "ada") == ["b", "c"]

    async def test_logins_that_are_over_are_forgotten_when_another_begins(self, store: Store) -> None:
        key = await _key(store)
        await store.keyring.add_login(_login("idle", key))
        await store.keyring.add_login(_login("ended", key, idle=100 * HOUR))
        await store.keyring.add_login(_login("good", key, NOW + 2 * HOUR, idle=100 * HOUR))
        assert await _names(store) == ["ended", "good"]
        await store.keyring.add_login(_login("last", key, NOW + 11 * HOUR))
        assert await _names(store) == ["good", "last"]

    async def test_a_key_has_only_so_many_logins(self, store: Store) -> None:
        ada, bob = await _key(store), await _key(store, "bob")
        await store.keyring.add_login(_login("of-bob", bob))
        for number in range(MOST_LOGINS + 2):
            await store.keyring.add_login(_login(f"{number:03}", ada, NOW + timedelta(seconds=number)))
        assert await _names(store, "acme", "ada") == [f"{number:03}" for number in range(2, MOST_LOGINS + 2)]
        assert await _names(store, "acme", "bob") == ["of-bob"]

    async def test_a_login_made_through_one_handle_opens_another(self, store: Store, open_another: OpenAnother) -> None:
        login = _login("one", await _key(store))
        await store.keyring.add_login(login)
        other = await open_another()
        try:
            assert await other.keyring.find_login(login.digest) == login
            await other.keyring.end_login("one")
            assert await store.keyring.find_login(login.digest) is None
        finally:
            if other is not store:
                await other.close()
