"""Fixtures of the tests that use a real browser: one Chromium for all of them, a fresh profile and server for each.

A browser lives in one event loop, so all tests in this folder run in the loop of the session. An asynchronous fixture
of a test here says so too: `@pytest_asyncio.fixture(loop_scope="session")`. What no locator can see is waited for with
`waiting.until`.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright, expect

from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.entrance import entrance
from tests.browser.person import Api, Person, calling
from tests.browser.server import PATIENCE, Server
from tests.browser.stage import SETTINGS
from tests.collector import collecting
from tests.everything import everything, settings_file
from tests.identities import ISSUER_OF_LANES
from tests.watching import note_log
from threadkeep.conversation.scope import LOCAL

HERE = Path(__file__).parent
WAYS = ("jwt", "service")
"""The lanes in which something in front of the server signs people in: with a token of an issuer, or as a service
that acts for them."""
SIGNED_IN = ("test_page_messages",)
"""The modules that always run in those lanes; with `THREADKEEP_WAYS` set all do that share a server."""

Serve = Callable[..., Server]
NewContext = Callable[..., Coroutine[Any, Any, BrowserContext]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests of this folder in one event loop."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser; who needs a profile of its own asks for a context."""
    expect.set_options(timeout=PATIENCE * 1000)
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield opened
        await opened.close()


@pytest_asyncio.fixture(loop_scope="session")
async def new_context(browser: Browser) -> AsyncIterator[NewContext]:
    """Opens profiles (`await new_context(color_scheme="dark")`): each is another person on another machine.

    At the end none of their pages may have thrown an error or tried what the policy of the server forbids.
    """
    opened: list[BrowserContext] = []
    wrong: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            wrong.append(message.text)

    async def open_one(**options: Any) -> BrowserContext:
        async with asyncio.timeout(PATIENCE):
            context = await browser.new_context(**options)
        context.set_default_timeout(PATIENCE * 1000)
        context.on("weberror", lambda thrown: wrong.append(str(thrown.error)))
        context.on("console", heard)
        opened.append(context)
        return context

    yield open_one
    async with asyncio.timeout(PATIENCE):
        for context in opened:
            await context.close()
    assert wrong == []


@pytest_asyncio.fixture(loop_scope="session")
async def context(request: pytest.FixtureRequest, new_context: NewContext) -> BrowserContext:
    """A fresh profile."""
    return await new_context(service_workers="block" if "no_worker" in request.fixturenames else "allow")


@pytest.fixture
def no_worker() -> None:
    """Keeps the service worker out of the profile of a test that stands between page and server (`page.route`).

    Requests of a page whose worker takes over just when the route is laid are never seen by it.
    """


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext) -> Page:
    """An empty tab in a fresh profile."""
    async with asyncio.timeout(PATIENCE):
        return await context.new_page()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts servers (`serve("--auth", "keys", pace=0.1)`): each has a folder, a port and a store of its own."""
    started: list[Server] = []

    def start_one(*arguments: str, pace: float = 0, variables: Mapping[str, str] = {}) -> Server:
        folder = tmp_path / f"server{len(started)}"
        folder.mkdir()
        server = Server(folder, *arguments, pace=pace, variables=variables)
        started.append(server)
        server.start()
        return server

    yield start_one
    for server in started:
        server.kill()
        note_log(server.log)


@pytest.fixture
def server(serve: Serve) -> Server:
    """A server without limits, for one local person."""
    return serve()


@pytest.fixture(scope="session")
def collector() -> Iterator[str]:
    """Where telemetry goes."""
    with collecting() as (url, _):
        yield url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let some suites of the page also run for those whom something in front of the server signs in."""
    module = metafunc.module.__name__.rpartition(".")[2]
    if "stage" in metafunc.fixturenames and (module in SIGNED_IN or "THREADKEEP_WAYS" in os.environ):
        metafunc.parametrize("stage", ("open", *WAYS), indirect=True, scope="module")


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that all tests of a module share, with every option on and the assistant of `stage.py`; a module may set
    its own `PACE`, and how many `WORKERS` there are."""
    folder, way = tmp_path_factory.mktemp("stage"), getattr(request, "param", "open")
    ways = {} if way == "open" else ISSUER_OF_LANES.settings(tenant=LOCAL.tenant, role_claim="role")
    workers = getattr(request.module, "WORKERS", 1)
    settings = settings_file(everything(folder, "sqlite", workers=workers) | ways) + SETTINGS
    (folder / "threadkeep.toml").write_text(settings, encoding="utf-8")
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": request.getfixturevalue("collector")}
    server = Server(folder, pace=getattr(request.module, "PACE", 0), variables=variables)
    server.start()
    with ExitStack() as stack:
        if way != "open":
            server.url = stack.enter_context(entrance(server.url, _shown(server, way)))
        yield server
    server.kill()
    note_log(server.log)


def _shown(server: Server, way: str) -> dict[str, str]:
    """Return the headers with which the local user signs in: a token of an issuer, or the key of a service."""
    if way == "jwt":
        return ISSUER_OF_LANES.headers(sub=LOCAL.user, role="admin", exp=int(time.time()) + 86_400)
    key = server.key(LOCAL.tenant, "backend", "service")
    return {"Authorization": f"Bearer {key}", "Threadkeep-User": LOCAL.user}


@pytest_asyncio.fixture(loop_scope="session")
async def api(stage: Server) -> AsyncIterator[Api]:
    """Another device, at the server that is shared."""
    async with calling(stage.url) as opened:
        yield opened


@pytest.fixture
def person(page: Page, stage: Server) -> Person:
    """Somebody at the server that is shared."""
    return Person(page, stage.url)
