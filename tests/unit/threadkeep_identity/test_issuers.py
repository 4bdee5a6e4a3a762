"""Tokens of an issuer: only what it signed, for us, now, with a key that it published, lets anybody in."""

import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.warnings import InsecureKeyLengthWarning

from tests.identities import AUDIENCE, ISSUER, TestIssuer
from tests.unit.server.serving import served
from threadkeep.conversation.scope import Scope
from threadkeep.errors import NotAuthenticated
from threadkeep.settings import Settings
from threadkeep.testing.clock import FakeClock
from threadkeep_identity.fetching import Unfetched
from threadkeep_identity.issuers import Issuer, JwtIdentity, JwtWay
from threadkeep_identity.key_sets import KeySet
from threadkeep_identity.tables import JwtTable

ONE, OTHER = TestIssuer(), TestIssuer()
RSA = TestIssuer("rsa", rsa.generate_private_key(public_exponent=65537, key_size=2048))
WEAK = TestIssuer("weak", rsa.generate_private_key(public_exponent=65537, key_size=1024))  # noqa: S505 - to be refused
NOW, DAY = int(time.time()), 86_400
"""When this was imported: the tests run within a day of it."""


def encoded(value: dict[str, Any] | bytes) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(header: dict[str, Any], signature: bytes = b"", **claims: Any) -> str:
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "root", "iat": NOW, "exp": NOW + DAY, **claims}
    return f"{encoded(header)}.{encoded(said)}.{encoded(signature)}"


def signed_with_public_key() -> str:
    """A token of the oldest trick: the public key, which everybody has, as the secret of HS256."""
    head = forged({"alg": "HS256", "kid": "one", "typ": "JWT"}).rpartition(".")[0]
    return f"{head}.{encoded(hmac.digest(ONE.pem().encode(), head.encode(), hashlib.sha256))}"


def with_own_key() -> str:
    """A token that brings the key that it is signed with."""
    return OTHER.token(header={"kid": "one", "jwk": OTHER.published()})


REFUSED = {
    "expired": ONE.token(exp=NOW - 1),
    "not valid yet": ONE.token(nbf=NOW + DAY),
    "made in the future": ONE.token(iat=NOW + DAY),
    "for somebody else": ONE.token(aud="another"),
    "for nobody": ONE.token(aud=None),
    "of another issuer": ONE.token(iss="https://evil.example"),
    "of no issuer": ONE.token(iss=None),
    "without an end": ONE.token(exp=None),
    "without a user": ONE.token(sub=None),
    "with an empty user": ONE.token(sub=""),
    "with a user that is a number": jwt.encode(
        {"iss": ISSUER, "aud": AUDIENCE, "exp": NOW + DAY, "sub": "1"}, "k" * 32
    ),
    "signed by another key": OTHER.token(),
    "with a key of its own": with_own_key(),
    "with an address of keys": OTHER.token(header={"jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/x"}),
    "unsigned": forged({"alg": "none"}),
    "unsigned, in capitals": forged({"alg": "NoNe", "kid": "one"}),
    "with the signature of nothing": forged({"alg": "ES256", "kid": "one"}, bytes(64)),
    "signed with the public key": signed_with_public_key(),
    "with a critical extension": ONE.token(header={"crit": ["exp2"], "exp2": 1}),
    "of three words": "a.b.c",
    "of nothing": "..",
    "that is long": ONE.token(more="x" * 20_000),
    "changed": ONE.token()[:-6] + "AAAAAA",
}


async def test_tokens_that_are_not_good_let_nobody_in() -> None:
    async with served(Settings(store="memory:", **ONE.settings())) as client:
        for what, token in REFUSED.items():
            answer = await client.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated"), what


async def test_a_good_token_is_its_user() -> None:
    async with served(Settings(store="memory:", **ONE.settings())) as client:
        me = (await client.get("/v1/me", headers=ONE.headers())).json()
        assert (me["tenant"], me["user"], me["role"], me["signed_in"]) == ("acme", "ada", "user", True)


@pytest.mark.parametrize("issuer", [ONE, RSA], ids=["EC", "RSA"])
async def test_keys_of_each_kind_are_taken(issuer: TestIssuer) -> None:
    async with served(Settings(store="memory:", **issuer.settings())) as client:
        assert (await client.get("/v1/me", headers=issuer.headers())).status_code == 200


async def test_a_key_that_can_be_guessed_is_refused() -> None:
    with pytest.warns(InsecureKeyLengthWarning):
        shown = WEAK.headers()
    async with served(Settings(store="memory:", **WEAK.settings())) as client:
        assert (await client.get("/v1/me", headers=shown)).status_code == 401


async def test_a_secret_that_is_shared_signs_with_nothing_else() -> None:
    table = {"issuer": ISSUER, "audience": AUDIENCE, "secret": "s" * 32, "tenant": "acme"}
    settings = Settings(store="memory:", auth="keys", identity={"jwt": [table]})
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW + DAY}
    async with served(settings) as client:
        for secret, status in (("s" * 32, 200), ("t" * 32, 401)):
            token = jwt.encode(claims, secret, algorithm="HS256")
            answer = await client.get("/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == status
        assert (await client.get("/v1/me", headers=ONE.headers())).status_code == 401
    assert settings.secrets >= {"s" * 32}


async def test_api_keys_are_good_beside_tokens() -> None:
    async with served(Settings(store="memory:", **ONE.settings(role_claim="role"))) as client:
        made = await client.post("/v1/admin/keys", json={"user": "bob"}, headers=ONE.headers(role="admin"))
        shown = {"Authorization": f"Bearer {made.json()['key']}"}
        assert (await client.get("/v1/me", headers=shown)).json()["user"] == "bob"


class Published:
    """What an issuer publishes, how often it was asked, and whether it is away."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.keys: list[Any] = list(keys)
        self.asked = 0
        self.is_away = False

    async def __call__(self) -> dict[str, Any]:
        self.asked += 1
        if self.is_away:
            raise Unfetched("it is away")
        return {"keys": self.keys}


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def issuer_of(published: Published, clock: Seconds) -> Issuer:
    table = JwtTable(issuer=ISSUER, audience=(AUDIENCE,), jwks="https://issuer.example/keys", tenant="acme")
    return Issuer(table, KeySet(published, clock))


async def checked(issuer: Issuer, token: str) -> bool:
    try:
        await issuer.check(token, jwt.get_unverified_header(token))
    except NotAuthenticated:
        return False
    return True


async def test_a_new_key_of_the_issuer_is_found_and_an_old_one_is_good_no_longer() -> None:
    published, clock = Published(ONE.published()), Seconds()
    issuer = issuer_of(published, clock)
    assert await checked(issuer, ONE.token())
    published.keys = [RSA.published()]
    clock.now += 11
    assert await checked(issuer, RSA.token())
    assert not await checked(issuer, ONE.token())
    assert (published.asked, issuer.still_has("one"), issuer.still_has("rsa")) == (2, False, True)


async def test_whoever_names_unknown_keys_cannot_make_us_ask_without_end() -> None:
    published, clock = Published(ONE.published()), Seconds()
    issuer = issuer_of(published, clock)
    for number in range(50):
        clock.now += 0.1
        assert not await checked(issuer, OTHER.token(header={"kid": f"k{number}"}))
    assert published.asked == 1
    assert await checked(issuer, ONE.token())


async def test_an_issuer_that_is_away_locks_nobody_out_whose_key_is_known_for_a_day() -> None:
    published, clock = Published(ONE.published()), Seconds()
    issuer = issuer_of(published, clock)
    assert await checked(issuer, ONE.token())
    published.is_away = True
    for _ in range(100):
        clock.now += 600
        assert await checked(issuer, ONE.token())
    assert not await checked(issuer, RSA.token())
    clock.now += 86_400
    assert not await checked(issuer, ONE.token())


async def test_an_issuer_that_publishes_nonsense_changes_nothing() -> None:
    published, clock = Published(ONE.published()), Seconds()
    issuer = issuer_of(published, clock)
    assert await checked(issuer, ONE.token())
    for nonsense in ([], None, "keys", [1, {}, {"kty": "EC"}, {"kty": "oct", "k": "c2VjcmV0", "kid": "one"}]):
        published.keys = nonsense  # type: ignore[assignment]
        clock.now += 600
        assert await checked(issuer, ONE.token())


async def test_a_key_for_other_things_signs_nothing() -> None:
    for wrong in ({"use": "enc"}, {"alg": "ES512"}, {"d": "AAAA"}):
        issuer = issuer_of(Published({**ONE.published(), **wrong}), Seconds())
        assert not await checked(issuer, ONE.token())


async def test_a_token_that_names_no_key_is_good_if_there_is_only_one() -> None:
    token = jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "sub": "a", "exp": NOW + DAY}, ONE.key, algorithm="ES256")
    assert await checked(issuer_of(Published(ONE.published()), Seconds()), token)
    assert not await checked(issuer_of(Published(ONE.published(), RSA.published()), Seconds()), token)


async def test_what_has_expired_is_refused_to_the_second_whatever_the_leeway_is() -> None:
    table = JwtTable(issuer=ISSUER, audience=(AUDIENCE,), public_key=ONE.pem(), tenant="acme", leeway=60)
    token = ONE.token(exp=NOW + DAY)
    clock = FakeClock(datetime.fromtimestamp(NOW + DAY - 0.1, UTC))
    known = Issuer(table, clock=clock)
    assert await checked(known, token)
    clock.advance(0.1)
    assert not await checked(known, token)


async def test_a_stream_goes_on_as_long_as_the_issuer_publishes_the_key() -> None:
    published, clock = Published(ONE.published()), Seconds()
    way = JwtWay((issuer_of(published, clock),))
    identity = JwtIdentity(scope=Scope(tenant="acme", user="ada"), issuer=0, key="one")
    assert await checked(way._issuers[0], ONE.token())
    assert await way.is_valid(identity)
    published.keys = [RSA.published()]
    clock.now += 301
    assert await way.is_valid(identity)
    fetching = way._issuers[0].keys._fetching
    assert fetching is not None
    await fetching
    assert not await way.is_valid(identity)


async def test_two_issuers_do_not_vouch_for_each_others_people() -> None:
    tables = [
        {"issuer": f"https://{name}.example", "audience": AUDIENCE, "public_key": key.pem(), "tenant": name}
        for name, key in (("one", ONE), ("two", OTHER))
    ]
    settings = Settings(store="memory:", auth="keys", identity={"jwt": tables})
    async with served(settings) as client:
        for name, key, status in (("one", ONE, 200), ("two", OTHER, 200), ("one", OTHER, 401), ("two", ONE, 401)):
            answer = await client.get("/v1/me", headers=key.headers(iss=f"https://{name}.example"))
            assert answer.status_code == status
            if status == 200:
                assert answer.json()["tenant"] == name
