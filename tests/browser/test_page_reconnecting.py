"""A server that dies, a network that breaks and a phone that sleeps: the page says so and loses nothing."""

import re

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.conftest import Serve
from tests.browser.network import network
from tests.browser.server import Server
from tests.browser.talking import Tab, to_remember
from tests.integration.serving import AT_ONCE


async def ask(server: str, conversation: str, content: str, **headers: str) -> None:
    """Say something on another device, and wait for the answer unless a header asks otherwise."""
    async with httpx.AsyncClient(base_url=server, timeout=30) as client:
        path = f"/v1/conversations/{conversation}/messages"
        (await client.post(path, json={"content": content}, headers=headers)).raise_for_status()


async def test_an_answer_goes_on_by_itself_after_the_server_was_killed(page: Page, serve: Serve) -> None:
    server = serve(pace=0.2)
    tab = Tab(page, server.url)
    await tab.open()
    await tab.begin(to_remember(30))
    await expect(tab.saying("word004")).to_be_visible()
    await expect(tab.status).to_have_text("live")
    server.kill()
    seen = await tab.shown()
    await expect(tab.status).to_contain_text(re.compile(r"reconnecting in \d+ s"))
    assert await tab.shown() == seen
    server.start(pace=0.02)
    await tab.was("^(resumed|caught up)")
    stored = await tab.shows_what_is_stored()
    assert [message["status"] for message in stored] == ["complete", "interrupted", "complete"]
    await expect(page.get_by_test_id("interrupted")).to_have_count(1)
    await expect(tab.status).to_have_text("live")


async def test_a_server_that_is_killed_again_and_again_costs_no_word(page: Page, serve: Serve) -> None:
    server = serve(pace=0.2)
    tab = Tab(page, server.url)
    await tab.open()
    await tab.begin("My name is Alice")
    for count in range(3):
        await tab.say(to_remember(20 + count))
        await expect(tab.saying("word002")).to_be_visible()
        server.restart(pace=0.2 if count < 2 else 0)
        await tab.page.get_by_role("button", name="now", exact=True).click()
    stored = await tab.shows_what_is_stored()
    assert [message["content"] for message in stored if message["role"] == "user"][1:] == [
        to_remember(20 + count) for count in range(3)
    ]


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
        await expect(tab.status).to_have_text("live")


async def test_a_connection_that_breaks_in_mid_answer_is_taken_up_again(page: Page, serve: Serve) -> None:
    server = serve(pace=0.1)
    async with network(server.url) as between:
        tab = Tab(page, between.url, server.url)
        await tab.open()
        await tab.begin(to_remember(60))
        for word in ("word003", "word010", "word020"):
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
        await expect(tab.status).to_have_text("live")
