"""A server that dies, a network that breaks and a phone that sleeps: the page says so and loses nothing."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.conftest import Serve
from tests.browser.network import network
from tests.browser.server import Server
from tests.browser.talking import Tab, ask, to_remember
from tests.browser.waiting import until
from tests.database_proxy import before
from tests.integration.serving import AT_ONCE
from tests.postgres_server import Urls

AWAY_FOR = 11_000
CHANGE = """Object.defineProperty(document, "hidden", { value: %s, configurable: true });
document.dispatchEvent(new Event("visibilitychange"));"""
HIDE, LOOK = CHANGE % "true", CHANGE % "false"
HAS_COPY_WITH = """async ([conversation, word]) => {
    const copy = await (await caches.open("threadkeep-data")).match(`/v1/conversations/${conversation}`);
    return Boolean(copy) && JSON.stringify((await copy.json()).draft).includes(word);
}"""


async def test_an_answer_goes_on_by_itself_after_the_server_was_killed(page: Page, serve: Serve) -> None:
    server = serve(pace=0.2)
    tab = Tab(page, server.url)
    await tab.open()
    await tab.begin(to_remember(120))
    await expect(tab.saying("word002")).to_be_visible()
    await expect(tab.status).to_have_text("live")
    await tab.say("What do you know about me?")
    await expect(tab.pending.filter(has_text="Queued")).to_be_visible()
    server.kill()
    await expect(tab.status).to_contain_text(re.compile(r"reconnecting in \d+ s"))
    seen = await tab.shown()
    assert seen[-1].startswith("I will remember that word001 word002")
    server.start(pace=0.02)
    await tab.was("^(resumed|caught up)")
    stored = await tab.shows_what_is_stored()
    assert [message["status"] for message in stored] == ["complete", "interrupted", *["complete"] * 3]
    assert (await tab.drawn(stored))[1].startswith(seen[-1].rstrip())  # more may have been stored than was seen
    await expect(page.get_by_test_id("interrupted")).to_have_count(1)


async def test_an_outage_of_the_database_is_told_and_the_answer_comes_all_the_same(
    page: Page, serve: Serve, postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy:
        flags = ("--store", proxy.url(), "--spool", str(tmp_path / "spool"))
        server = await asyncio.to_thread(serve, *flags, variables={"THREADKEEP_OUTAGE_AFTER": "1"})
        tab = Tab(page, server.url)
        await tab.open()
        await tab.begin("My name is Alice")
        await tab.shows_what_is_stored()
        proxy.fall_silent()
        await tab.say("What's my name?")
        await expect(tab.status).to_have_text("kept here, not yet in the database")
        await expect(tab.saying("Your name is Alice")).to_be_visible()
        proxy.speak()
        await expect(tab.status).to_have_text("live")
        assert len(await tab.shows_what_is_stored()) == 4
        await asyncio.to_thread(server.kill)


async def test_what_was_said_elsewhere_while_the_network_was_away_is_caught_up_with(page: Page, server: Server) -> None:
    async with network(server.url) as between:
        tab = Tab(page, between.url, server.url)
        await tab.open()
        conversation = await tab.begin("My name is Alice")
        await tab.shows_what_is_stored()
        await between.cut()
        await expect(tab.status).to_contain_text(re.compile(r"reconnecting in \d+ s"))
        await ask(server.url, conversation, "What's my name?")
        await ask(server.url, conversation, "Thank you")
        await between.mend()
        await tab.was("^caught up with 4 new messages$")
        assert len(await tab.shows_what_is_stored()) == 6


async def test_a_connection_that_breaks_in_mid_answer_is_taken_up_again(page: Page, serve: Serve) -> None:
    server = serve(pace=0.1)
    async with network(server.url) as between:
        tab = Tab(page, between.url, server.url)
        await tab.open()
        await tab.begin(to_remember(40))
        for word in ("word003", "word015"):
            await expect(tab.saying(word)).to_be_visible()
            await between.cut()
            await expect(tab.status).to_contain_text("reconnecting")
            await between.mend()
            await tab.was("^resumed$")
        await tab.shows_what_is_stored()


@pytest.mark.parametrize("loses_its_connection", [False, True])
async def test_a_phone_that_slept_is_caught_up(
    context: BrowserContext, page: Page, server: Server, loses_its_connection: bool
) -> None:
    async with network(server.url) as between:
        tab = Tab(page, between.url, server.url)
        await tab.open()
        conversation = await tab.begin("My name is Alice")
        await tab.shows_what_is_stored()
        phone = await context.new_cdp_session(page)
        await phone.send("Page.setWebLifecycleState", {"state": "frozen"})
        if loses_its_connection:
            await between.cut()
        await ask(server.url, conversation, "What's my name?")
        await ask(server.url, conversation, to_remember(40), **AT_ONCE)
        if loses_its_connection:
            await between.mend()
        await phone.send("Page.setWebLifecycleState", {"state": "active"})
        assert len(await tab.shows_what_is_stored()) == 6
        if loses_its_connection:
            await tab.was("^caught up with")


async def test_a_laptop_closed_in_mid_answer_and_opened_without_a_network_shows_what_was_seen(
    context: BrowserContext, serve: Serve
) -> None:
    server = serve(pace=0.1)
    async with network(server.url) as between:
        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open()
        conversation = await tab.begin("My name is Alice")
        await tab.shows_what_is_stored()
        await tab.is_ready_for_offline()
        await tab.say(to_remember(150))
        await until(tab.page, HAS_COPY_WITH, [conversation, "word010"])
        await between.cut()
        await tab.page.close()

        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open(conversation)
        await expect(tab.saying("I will remember that word001 word002")).to_contain_text("word010")
        await expect(tab.status).to_contain_text("reconnecting")
        await between.mend()
        assert len(await tab.shows_what_is_stored()) == 4


@pytest.mark.parametrize("begins_in_the_background", [False, True])
async def test_a_tab_that_nobody_looks_at_gives_its_connection_back_and_catches_up_later(
    context: BrowserContext, page: Page, server: Server, begins_in_the_background: bool
) -> None:
    tab, watching = Tab(page, server.url), Tab(await context.new_page(), server.url)
    await watching.open()
    conversation = await watching.begin("My name is Alice")
    await watching.shows_what_is_stored()
    if begins_in_the_background:
        await page.add_init_script(HIDE)
    await page.clock.install()
    await tab.open(conversation)
    await tab.shows_what_is_stored()
    await expect(watching.page.get_by_label("Open in 2 places")).to_be_visible()
    if not begins_in_the_background:
        await page.evaluate(HIDE)
    await page.clock.fast_forward(AWAY_FOR)
    await expect(watching.page.get_by_test_id("presence")).to_have_count(0)
    await watching.say("What's my name?")
    await watching.shows_what_is_stored()
    await expect(tab.said).to_have_count(1)
    await page.evaluate(LOOK)
    await tab.was("^caught up with 2 new messages$")
    assert len(await tab.shows_what_is_stored()) == 4


async def test_a_tab_left_while_an_answer_runs_gives_its_connection_back_too(
    context: BrowserContext, page: Page, serve: Serve
) -> None:
    server = serve(pace=0.1)
    tab, watching = Tab(page, server.url), Tab(await context.new_page(), server.url)
    await page.clock.install()
    await tab.open()
    conversation = await tab.begin(to_remember(30))
    await watching.open(conversation)
    await expect(watching.page.get_by_label("Open in 2 places")).to_be_visible()
    await page.evaluate(HIDE)
    await page.clock.fast_forward(AWAY_FOR)
    await watching.shows_what_is_stored()
    await page.clock.fast_forward(AWAY_FOR)
    await expect(watching.page.get_by_test_id("presence")).to_have_count(0)
    await page.evaluate(LOOK)
    assert len(await tab.shows_what_is_stored()) == 2
