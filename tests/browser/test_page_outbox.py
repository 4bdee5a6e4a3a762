"""What is written without a network: it waits in this browser, survives closing the tab, and is sent once."""

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, Request, Route, expect

from tests.browser.network import network
from tests.browser.server import Server
from tests.browser.talking import Tab, ask
from tests.browser.waiting import until

FIRST = "My name is Alice"
MESSAGES = "**/v1/conversations/*/messages"

# Keeps a copy of each message that was put into the outbox.
COPY_MESSAGES = """
window.copies = [];
const keep = Storage.prototype.setItem;
Storage.prototype.setItem = function (name, value) {
    if (name.includes("outbox.")) window.copies.push([name, value]);
    keep.call(this, name, value);
};
"""
# A tab that does not hear what others store, while `isBehind`.
BEHIND = """
window.isBehind = true;
addEventListener("storage", (event) => window.isBehind && event.stopImmediatePropagation());
"""
# A browser that takes its time to say that a lock was given back, while `isSlow`.
SLOW_LOCKS = """
const request = navigator.locks.request.bind(navigator.locks);
window.held = [];
navigator.locks.request = async (name, work) => {
    const result = await request(name, work);
    if (window.isSlow) await new Promise((go) => window.held.push(go));
    return result;
};
"""


def keys_of(context: BrowserContext) -> list[str]:
    """Return a list that gets the idempotency key of each message that a page of the profile tries to send."""
    keys: list[str] = []

    def requested(request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/messages"):
            keys.append(request.headers["idempotency-key"])

    context.on("request", requested)
    return keys


async def all_messages(server: Server) -> list[str]:
    """Return what people said in all conversations of a server."""
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        ids = [one["id"] for one in (await client.get("/v1/conversations")).raise_for_status().json()["data"]]
        pages = [(await client.get(f"/v1/conversations/{id}")).raise_for_status().json() for id in ids]
    return [message["content"] for page in pages for message in page["messages"] if message["role"] == "user"]


async def test_a_message_written_offline_outlives_its_tab_and_is_sent_once(
    context: BrowserContext, server: Server
) -> None:
    async with network(server.url) as between:
        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open()
        conversation = await tab.begin(FIRST)
        await tab.shows_what_is_stored()
        await tab.is_ready_for_offline()
        keys = keys_of(context)
        await between.cut()
        await expect(tab.status).to_contain_text("reconnecting")
        await tab.say("What's my name?")
        await expect(tab.pending).to_contain_text("Waiting in this browser")
        await expect(tab.status).to_contain_text("1 to send")
        await tab.page.close()

        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open(conversation)
        await expect(tab.said).to_have_text([FIRST])
        await expect(tab.pending).to_contain_text("What's my name?")
        await expect(tab.pending).to_contain_text("Waiting in this browser")
        assert await all_messages(server) == [FIRST]

        await between.mend()
        stored = await tab.shows_what_is_stored()
    assert [message["content"] for message in stored if message["role"] == "user"] == [FIRST, "What's my name?"]
    assert stored[-1]["content"] == "Your name is Alice."
    assert len(keys) > 1
    assert len(set(keys)) == 1


async def test_a_conversation_can_begin_offline(context: BrowserContext, server: Server) -> None:
    async with network(server.url) as between:
        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open()
        await tab.is_ready_for_offline()
        await between.cut()
        await tab.say(FIRST)
        await expect(tab.pending).to_contain_text("Waiting in this browser")
        await tab.say("What's my name?")
        await expect(tab.pending).to_have_count(2)
        await tab.page.close()

        tab = Tab(await context.new_page(), between.url, server.url)
        await tab.open()
        await tab.page.get_by_test_id("unsent").get_by_text(FIRST).click()
        await expect(tab.pending).to_have_count(2)
        beside = Tab(await context.new_page(), between.url, server.url)
        await beside.open(tab.conversation)
        await expect(beside.pending).to_have_count(2)
        await between.mend()
        stored = await tab.shows_what_is_stored()
        assert await beside.shows_what_is_stored() == stored
        await expect(tab.rows).to_have_count(1)
        await expect(tab.page.get_by_test_id("unsent")).to_have_count(0)
    assert [message["content"] for message in stored if message["role"] == "user"] == [FIRST, "What's my name?"]
    assert sorted(await all_messages(server)) == sorted([FIRST, "What's my name?"])


async def test_two_tabs_with_one_outbox_send_once(context: BrowserContext, server: Server) -> None:
    async with network(server.url) as between:
        one, other = [Tab(await context.new_page(), between.url, server.url) for _ in range(2)]
        await one.open()
        conversation = await one.begin(FIRST)
        await one.shows_what_is_stored()
        await other.open(conversation)
        await expect(other.said).to_have_text([FIRST])
        await between.cut()
        said = [f"My number is {number}" for number in range(3)]
        for text in said:
            await one.say(text)
        for tab in (one, other):
            await expect(tab.pending).to_have_count(3)
        await other.say("Thank you")
        for tab in (one, other):
            await expect(tab.pending).to_have_count(4)
        await between.mend()
        stored = await one.shows_what_is_stored()
        assert await other.shows_what_is_stored() == stored
    assert [message["content"] for message in stored if message["role"] == "user"] == [FIRST, *said, "Thank you"]


async def test_a_message_written_offline_is_not_sent_unasked_where_the_conversation_moved_on(
    page: Page, server: Server
) -> None:
    async with network(server.url) as between:
        tab = Tab(page, between.url, server.url)
        await tab.open()
        conversation = await tab.begin(FIRST)
        await tab.shows_what_is_stored()
        await between.cut()
        await tab.say("What do you know about me?")
        await tab.say("Thank you")
        await expect(tab.pending).to_have_count(2)
        await ask(server.url, conversation, "My number is 7")
        await between.mend()
        question = page.get_by_test_id("stale")
        await expect(question).to_contain_text("moved on")
        assert len(await all_messages(server)) == 2
        await question.get_by_role("button", name="Continue at the end").click()
        stored = await tab.shows_what_is_stored()
    assert [message["content"] for message in stored][-4:] == [
        "What do you know about me?",
        "You told me that your name is Alice and your number is 7.",
        "Thank you",
        "You are welcome!",
    ]


@pytest.mark.usefixtures("no_worker")
async def test_a_message_whose_receipt_was_lost_is_not_sent_twice(page: Page, server: Server) -> None:
    tab = Tab(page, server.url)
    await tab.open()
    await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    keys = keys_of(page.context)

    async def lose_the_answer(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route(MESSAGES, lose_the_answer, times=2)
    await tab.say("What's my name?")
    await expect(tab.said).to_have_text([FIRST, "What's my name?"])
    await until(page, "() => !Object.keys(localStorage).some((name) => name.includes('outbox.'))")
    stored = await tab.shows_what_is_stored()
    assert len(stored) == 4
    await expect(tab.said).to_have_text([FIRST, "What's my name?"])
    assert len(keys) == 3
    assert len(set(keys)) == 1


async def test_a_message_that_another_tab_finds_again_is_neither_stored_nor_shown_twice(
    context: BrowserContext, server: Server
) -> None:
    one, other = [Tab(await context.new_page(), server.url) for _ in range(2)]
    await one.page.add_init_script(COPY_MESSAGES)
    await other.page.add_init_script(BEHIND)
    await one.open()
    await other.open(await one.begin(FIRST))
    before = await other.shows_what_is_stored()
    await one.page.get_by_role("button", name="Edit this message: makes a branch").click()
    await one.page.get_by_label("Edit your message").fill("My name is Bob")
    await one.page.get_by_label("Edit your message").press("Enter")
    stored = await one.shows_what_is_stored()
    await expect(other.page.get_by_test_id("elsewhere")).to_be_visible()
    async with other.page.expect_request_finished(lambda request: request.url.endswith("/messages")):
        # What one tab stored and removed already, another may see only now.
        await other.page.evaluate("window.isBehind = false")
        await one.page.evaluate("localStorage.setItem(...window.copies.at(-1))")
    await until(other.page, "() => !Object.keys(localStorage).some((name) => name.includes('outbox.'))")
    await other.comes_to_show(before)
    await expect(other.pending).to_have_text([])
    assert await one.shows_what_is_stored() == stored


async def test_a_message_written_while_the_outbox_is_closed_is_sent_too(page: Page, server: Server) -> None:
    tab = Tab(page, server.url)
    await page.add_init_script(SLOW_LOCKS)
    await tab.open()
    await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    await page.evaluate("window.isSlow = true")
    await tab.say("My number is 7")
    await tab.shows_what_is_stored()
    await until(page, "() => window.held.length === 1")
    await tab.say("Thank you")
    await page.evaluate("window.isSlow = false; window.held.forEach((go) => go())")
    assert len(await tab.shows_what_is_stored()) == 6


async def test_a_browser_that_is_told_that_it_is_offline_sends_when_it_is_online(
    context: BrowserContext, page: Page, server: Server
) -> None:
    tab = Tab(page, server.url)
    await tab.open()
    await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    await context.set_offline(True)
    await tab.say("What's my name?")
    await expect(tab.pending).to_contain_text("Waiting in this browser")
    await context.set_offline(False)
    stored = await tab.shows_what_is_stored()
    assert [message["content"] for message in stored if message["role"] == "user"] == [FIRST, "What's my name?"]


async def test_a_message_that_waits_can_be_thrown_away(context: BrowserContext, page: Page, server: Server) -> None:
    tab = Tab(page, server.url)
    await tab.open()
    await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    await context.set_offline(True)
    await tab.say("Never mind")
    await tab.pending.get_by_role("button", name="Discard").click()
    await expect(tab.pending).to_have_count(0)
    await context.set_offline(False)
    await tab.say("Thank you")
    stored = await tab.shows_what_is_stored()
    assert [message["content"] for message in stored if message["role"] == "user"] == [FIRST, "Thank you"]


async def test_every_conversation_has_a_draft_that_outlives_its_tab(context: BrowserContext, server: Server) -> None:
    tab = Tab(await context.new_page(), server.url)
    await tab.open()
    conversation = await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    await tab.composer.press_sequentially("half a quest")
    await tab.page.get_by_test_id("new").click()
    await expect(tab.composer).to_have_value("")
    await tab.composer.press_sequentially("something new")
    await tab.rows.get_by_role("link").click()
    await expect(tab.composer).to_have_value("half a quest")
    await tab.page.reload()
    await expect(tab.composer).to_have_value("half a quest")
    await tab.page.close()

    tab = Tab(await context.new_page(), server.url)
    await tab.open()
    await expect(tab.composer).to_have_value("something new")
    await tab.open(conversation)
    await expect(tab.composer).to_have_value("half a quest")
    await tab.composer.press("End")
    await tab.composer.press_sequentially("ion")
    await tab.composer.press("Enter")
    assert (await tab.shows_what_is_stored())[2]["content"] == "half a question"
    await tab.page.reload()
    await expect(tab.composer).to_have_value("")
