"""API keys: added once, found by their digest, listed, revoked for good."""

from datetime import UTC, datetime, timedelta

import pytest

from threadkeep.conversation.api_key import ApiKey, KeyRole, Login, digest_of
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, KeyNotFound
from threadkeep.store.base import Store
from threadkeep.testing.stores import OpenAnother

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)


def _key(name: str, tenant: str = "acme", minutes: int = 0) -> ApiKey:
    return ApiKey(
        id=name,
        digest=digest_of(f"tk_{name}"),
        hint="tk_abc",
        scope=Scope(tenant=tenant, user="ada"),
        role=KeyRole.ADMIN,
        created_at=NOW + timedelta(minutes=minutes),
    )


@pytest.mark.asyncio
class TestKeyRing:
    async def test_all_who_open_a_store_know_its_secret(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        try:
            secret = await other.keyring.secret()
            assert len(set(secret)) > 8
            assert await store.keyring.secret() == await store.keyring.secret() == secret
            assert len(secret) == 32
        finally:
            if other is not store:
                await other.close()

    async def test_a_key_is_found_by_its_digest_as_it_was_added(self, store: Store) -> None:
        await store.keyring.add(_key("one"))
        assert await store.keyring.find(digest_of("tk_one")) == _key("one")
        assert await store.keyring.find(digest_of("tk_two")) is None

    async def test_a_key_is_added_once(self, store: Store) -> None:
        await store.keyring.add(_key("one"))
        with pytest.raises(AlreadyExists):
            await store.keyring.add(_key("one", "other"))
        assert await store.keyring.all() == (_key("one"),)

    async def test_keys_are_listed_oldest_first_by_tenant(self, store: Store) -> None:
        for key in (_key("b", minutes=2), _key("a", minutes=1), _key("c", "other")):
            await store.keyring.add(key)
        assert [key.id for key in await store.keyring.all("acme")] == ["a", "b"]
        assert [key.id for key in await store.keyring.all()] == ["c", "a", "b"]
        assert await store.keyring.all("nobody") == ()

    async def test_a_revoked_key_stays_revoked_since_the_first_time(self, store: Store) -> None:
        await store.keyring.add(_key("one"))
        revoked = await store.keyring.revoke("one", NOW + timedelta(hours=1))
        assert revoked.revoked_at == NOW + timedelta(hours=1)
        assert await store.keyring.revoke("one", NOW + timedelta(hours=2)) == revoked
        assert await store.keyring.find(digest_of("tk_one")) == revoked
        with pytest.raises(KeyNotFound):
            await store.keyring.revoke("two", NOW)

    async def test_what_is_forgotten_of_a_user_is_its_keys_and_logins_alone(self, store: Store) -> None:
        ring = store.keyring
        for key in (_key("one"), _key("two"), _key("other", "other")):
            await ring.add(key)
            times = {"created_at": NOW, "idle_until": NOW + timedelta(hours=1), "ends_at": NOW + timedelta(hours=2)}
            await ring.add_login(
                Login(id=f"l-{key.id}", digest=digest_of(f"l-{key.id}"), key=key, device="a browser", **times)
            )
        await ring.revoke("two", NOW)
        assert await ring.forget(Scope(tenant="acme", user="ada")) == 2
        assert await ring.forget(Scope(tenant="acme", user="ada")) == 0
        assert [key.id for key in await ring.all()] == ["other"]
        assert [login.id for login in await ring.logins()] == ["l-other"]
        assert await ring.find_login(digest_of("l-one")) is None

    async def test_a_key_made_through_one_handle_opens_another(self, store: Store, open_another: OpenAnother) -> None:
        await store.keyring.add(_key("one"))
        other = await open_another()
        try:
            assert await other.keyring.find(digest_of("tk_one")) == _key("one")
            await other.keyring.revoke("one", NOW)
            found = await store.keyring.find(digest_of("tk_one"))
            assert found is not None
            assert found.revoked_at == NOW
        finally:
            if other is not store:
                await other.close()
