"""Several ways to sign in at once, a guard of one's own among them, and settings that cannot be meant."""

import sys
import tomllib
from types import ModuleType

import pytest
from starlette.requests import HTTPConnection

from tests.identities import TestIssuer
from tests.unit.server.serving import app_behind, client_of, served
from threadkeep.cli.settings_loading import load_settings
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidValue
from threadkeep.server.app import create_app
from threadkeep.server.identity.guards import Identity
from threadkeep.settings import Settings

ONE = TestIssuer()
OWN = Identity(scope=Scope(tenant="own", user="guest"))


class Door:
    """Lets in who knocks, and leaves others to whoever knows them."""

    fails: Exception | None = None

    def __init__(self, *given: object) -> None:
        self.given = given

    async def identify(self, connection: HTTPConnection) -> Identity | None:
        return OWN if "x-knock" in connection.headers else None

    async def is_valid(self, identity: Identity) -> bool:
        if self.fails is not None:
            raise self.fails
        return identity.scope == OWN.scope


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of somebody who uses Threadkeep."""
    module = ModuleType("own_doors")
    vars(module).update(Door=Door, door=Door(), wall=7)
    monkeypatch.setitem(sys.modules, "own_doors", module)
    return module


@pytest.mark.parametrize("named", ["own_doors:Door", "own_doors:door"])
async def test_a_guard_of_ones_own_lets_in_beside_all_others(doors: ModuleType, named: str) -> None:
    known = ONE.settings()
    known["identity"]["guard"] = named
    async with served(Settings(store="memory:", **known)) as client:
        assert (await client.get("/v1/me", headers={"X-Knock": "twice"})).json()["user"] == "guest"
        assert (await client.get("/v1/me", headers=ONE.headers())).json()["user"] == "ada"
        assert (await client.get("/v1/me")).status_code == 401


async def test_what_is_no_guard_is_refused_at_the_start(doors: ModuleType) -> None:
    with pytest.raises(InvalidValue, match="own_doors:wall has no identify"):
        async with served(Settings(store="memory:", auth="keys", identity={"guard": "own_doors:wall"})):
            pass


async def test_a_program_may_pass_its_guard_which_alone_lets_in() -> None:
    async with served(Settings(store="memory:")) as client:
        app = create_app(app_behind(client).state.tested, Settings(store="memory:"), guard=Door())  # type: ignore[arg-type]
        async with client_of(app) as asking:
            assert (await asking.get("/v1/me", headers={"X-Knock": "1"})).json()["tenant"] == "own"
            assert (await asking.post("/v1/login", json={"key": "tk_1"})).status_code == 404


async def test_services_act_for_one_user_in_each_request_and_nobody_else_does() -> None:
    async with served(Settings(store="memory:", **ONE.settings(role_claim="role", service="service"))) as client:
        service = ONE.headers(sub="backend", role="service")
        me = (await client.get("/v1/me", headers={**service, "Threadkeep-User": "ada@example.org"})).json()
        assert (me["tenant"], me["user"], me["role"]) == ("acme", "ada__40example.org", "user")
        for headers in (
            list(service.items()),
            [*service.items(), ("Threadkeep-User", "")],
            [*service.items(), ("Threadkeep-User", "ada"), ("Threadkeep-User", "bob")],
            [*ONE.headers().items(), ("Threadkeep-User", "bob")],
            [*ONE.headers(role="admin").items(), ("Threadkeep-User", "bob")],
        ):
            answer = await client.get("/v1/me", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), headers


WRONG = {
    'auth = "none"': "needs auth",
    "[[identity.jwt]]\nissuer = 'x'\naudience = 'y'": "tenant",
    "[[identity.jwt]]\nissuer = 'x'\naudience = 'y'\ntenant = 't'": "jwks",
    "[[identity.jwt]]\nissuer = 'x'\naudience = []\ntenant = 't'\njwks = 'https://x'": "audience",
    "[[identity.jwt]]\nissuer = 'x'\naudience = 'y'\ntenant = 't'\njwks = 'file:///etc/passwd'": "jwks",
    "[[identity.jwt]]\nissuer = 'x'\naudience = 'y'\ntenant = 't'\nsecret = 'short'": "secret",
    "[[identity.jwt]]\nissuer = 'x'\naudience = 'y'\ntenant = 't'\njwks = 'https://x'\nalgorithms = ['HS256']": "HS256",
    "[[identity.jwt]]\nissuer = 'x'\naudience = 'y'\ntenant = 't'\njwks = 'https://x'\nalgorithms = ['none']": "alg",
    "[identity]\nkeys = 3": "keys",
}


@pytest.mark.parametrize("text", WRONG)
def test_settings_that_cannot_be_meant_are_refused_in_a_sentence(text: str) -> None:

    file = tomllib.loads(text if text.startswith("[") else "[identity]\ntoken_seconds = 60\n")
    with pytest.raises(InvalidValue, match=WRONG[text]):
        load_settings({}, {} if text.startswith("auth") else {"auth": "keys"}, file)
