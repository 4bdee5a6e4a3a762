"""One conversation in two tabs or on two devices: both see everything, and neither overwrites what the other said."""

from typing import Any

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import NewContext, Serve
from tests.browser.server import Server
from tests.browser.talking import Tab, settled, to_remember
from tests.browser.waiting import patiently

FIRST = "My name is Alice"
EVENTS = "**/v1/conversations/*/events"
NOTE_TEXTS = """
window.grown = [];
new MutationObserver(() => {
    const text = [...document.querySelectorAll("[data-testid=answer-text]")].at(-1)?.textContent.length ?? 0;
    if (text !== window.grown.at(-1)) window.grown.push(text);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


async def begun(page: Page, url: str) -> Tab:
    """Open a tab with a conversation in which something was said and answered."""
    tab = Tab(page, url)
    await tab.open()
    await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    return tab


async def beside(tab: Tab, context: BrowserContext) -> Tab:
    """Open the conversation of a tab in another one, in this profile or another."""
    other = Tab(await context.new_page(), tab.url)
    await other.open(tab.conversation)
    await other.shows_what_is_stored()
    return other


async def held_back(tab: Tab, context: BrowserContext) -> Tab:
    """Open the conversation of a tab in another one that hears of nothing that happens from now on."""
    other = Tab(await context.new_page(), tab.url)
    await other.page.route(EVENTS, lambda route: route.abort())
    await other.open(tab.conversation)
    await expect(other.status).to_contain_text("reconnecting")
    return other


async def branches(server: Server, conversation: str) -> list[dict[str, Any]]:
    """Return the branches of a conversation."""
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        answer = await client.get(f"/v1/conversations/{conversation}/tree")
    return list(answer.raise_for_status().json()["branches"])


async def test_two_tabs_see_an_answer_grow_and_each_other(context: BrowserContext, page: Page, serve: Serve) -> None:
    server = serve(pace=0.05)
    one = await begun(page, server.url)
    await expect(page.get_by_test_id("presence")).to_have_count(0)
    other = await beside(one, context)
    for tab in (one, other):
        await expect(tab.page.get_by_label("Open in 2 places")).to_be_visible()
        await tab.page.evaluate(NOTE_TEXTS)
    await one.say(to_remember(120))
    stored = await one.shows_what_is_stored()
    assert await other.shows_what_is_stored() == stored
    for tab in (one, other):
        sizes = await tab.page.evaluate("window.grown")
        assert len(set(sizes)) > 2
    await other.page.close()
    await expect(page.get_by_test_id("presence")).to_have_count(0)


@pytest.mark.parametrize("is_another_device", [False, True])
@pytest.mark.usefixtures("no_worker")
async def test_a_message_from_a_stale_view_can_go_on_at_the_end(
    context: BrowserContext, new_context: NewContext, page: Page, server: Server, is_another_device: bool
) -> None:
    one = await begun(page, server.url)
    stale = await held_back(one, await new_context(service_workers="block") if is_another_device else context)
    await one.say("My number is 7")
    await one.shows_what_is_stored()
    await expect(stale.said).to_have_text([FIRST])
    await stale.say("What do you know about me?")
    question = stale.page.get_by_test_id("stale")
    await expect(question).to_contain_text("This conversation has moved on")
    assert len(await settled(server.url, one.conversation)) == 4
    await stale.page.unroute(EVENTS)
    await question.get_by_role("button", name="Continue at the end").click()
    stored = await stale.shows_what_is_stored()
    assert [message["content"] for message in stored][-2:] == [
        "What do you know about me?",
        "You told me that your name is Alice and your number is 7.",
    ]
    assert await one.shows_what_is_stored() == stored
    assert len(await branches(server, one.conversation)) == 1


@pytest.mark.parametrize("catches_up_first", [False, True])
async def test_a_message_from_a_stale_view_can_make_a_branch(
    new_context: NewContext, page: Page, server: Server, catches_up_first: bool
) -> None:
    one = await begun(page, server.url)
    stale = await held_back(one, await new_context(service_workers="block"))
    await one.say("My number is 7")
    before = await one.shows_what_is_stored()
    await stale.say("What do you know about me?")
    question = stale.page.get_by_test_id("stale")
    await expect(question).to_be_visible()
    await stale.page.unroute(EVENTS)
    if catches_up_first:
        await stale.comes_to_show(before)
    await question.get_by_role("button", name="Branch here").click()
    stored = await stale.shows_what_is_stored()
    assert stored[-1]["content"] == "You told me that your name is Alice."
    assert len(await branches(server, one.conversation)) == 2

    # Whoever reads the other branch is told, stays there, and finds both.
    await expect(page.get_by_test_id("elsewhere")).to_contain_text("continued elsewhere")
    await one.comes_to_show(before)
    await page.get_by_role("button", name="Show the newest").click()
    await one.comes_to_show(stored)
    await page.get_by_role("button", name="Previous version").click()
    await one.comes_to_show(before)


@pytest.mark.usefixtures("no_worker")
async def test_a_question_to_a_stale_view_waits_for_its_answer(
    context: BrowserContext, page: Page, server: Server
) -> None:
    one = await begun(page, server.url)
    stale = await held_back(one, context)
    await one.say("My number is 7")
    before = await one.shows_what_is_stored()
    await stale.say("Forget it")
    await expect(stale.page.get_by_test_id("stale")).to_be_visible()
    await stale.page.close()
    await page.reload()
    question = page.get_by_test_id("stale")
    await expect(question).to_contain_text("Your message is not sent yet")
    await question.get_by_role("button", name="Discard").click()
    await expect(one.pending).to_have_count(0)
    assert await one.shows_what_is_stored() == before


async def test_a_conversation_that_was_edited_elsewhere_is_shown_as_such(
    context: BrowserContext, page: Page, server: Server
) -> None:
    one = await begun(page, server.url)
    other = await beside(one, context)
    before = await settled(server.url, one.conversation)
    await page.get_by_role("button", name="Edit this message: makes a branch").click()
    await page.get_by_label("Edit your message").fill("My name is Bob")
    await page.get_by_label("Edit your message").press("Enter")
    stored = await one.shows_what_is_stored()
    assert stored[0]["content"] == "My name is Bob"
    await expect(other.page.get_by_test_id("elsewhere")).to_contain_text("continued elsewhere")
    await other.comes_to_show(before)
    await other.say("What's my name?")
    question = other.page.get_by_test_id("stale")
    await question.get_by_role("button", name="Branch here").click()
    answered = await other.shows_what_is_stored()
    assert [message["content"] for message in answered if message["role"] == "user"] == [FIRST, "What's my name?"]
    assert answered[-1]["content"] == "Your name is Alice."


async def test_a_message_that_came_with_the_page_is_not_shown_as_waiting_beside_its_branch(
    new_context: NewContext, server: Server
) -> None:
    # What a service worker asks for on behalf of a page cannot be held up here.
    tab = Tab(await (await new_context(service_workers="block")).new_page(), server.url)

    async def is_answered() -> bool:
        return len(await settled(server.url, tab.conversation)) == 2

    async def when_it_is_answered(route: Route) -> None:
        await patiently(is_answered)
        await route.continue_()

    await tab.open()
    await tab.page.route("**/v1/conversations/*?limit=50", when_it_is_answered)
    await tab.begin(FIRST)
    await tab.shows_what_is_stored()
    await tab.page.get_by_role("button", name="Edit this message: makes a branch").click()
    await tab.page.get_by_label("Edit your message").fill("My name is Bob")
    await tab.page.get_by_label("Edit your message").press("Enter")
    assert (await tab.shows_what_is_stored())[0]["content"] == "My name is Bob"


async def test_the_list_follows_what_another_device_does(new_context: NewContext, page: Page, serve: Serve) -> None:
    server = serve(pace=0.05)
    one = Tab(page, server.url)
    second = Tab(await page.context.new_page(), server.url)
    for tab in (one, second):
        await tab.open()
        await expect(tab.rows).to_have_count(0)
    device = Tab(await (await new_context()).new_page(), server.url)
    await device.open()
    await device.begin(to_remember(300))
    for tab in (one, second):
        await expect(tab.rows).to_have_count(1)
        await expect(tab.rows.get_by_role("img", name="An answer is being written")).to_be_visible()
    await device.shows_what_is_stored()
    for tab in (one, second):
        await expect(tab.rows.get_by_role("img", name="An answer is being written")).to_have_count(0)
    await device.page.get_by_test_id("title").click()
    await device.page.get_by_label("Title").fill("Forty words")
    await device.page.get_by_label("Title").press("Enter")
    for tab in (one, second):
        await expect(tab.rows.locator("a > span")).to_have_text(["Forty words"])
    await one.rows.get_by_role("link").click()
    await expect(one.answers).to_have_count(1)
    await device.page.get_by_test_id("more").click()
    await device.page.get_by_role("menuitem", name="Delete").click()
    for tab in (one, second):
        await expect(tab.rows).to_have_count(0)
    await expect(page.get_by_test_id("gone")).to_be_visible()
    await device.page.get_by_role("button", name="Undo").click()
    for tab in (one, second, device):
        await expect(tab.rows.locator("a > span")).to_have_text(["Forty words"])


async def test_the_list_goes_on_when_the_tab_that_listened_for_all_is_closed(
    new_context: NewContext, context: BrowserContext, server: Server
) -> None:
    tabs = [Tab(await context.new_page(), server.url) for _ in range(3)]
    for tab in tabs:
        await tab.open()
    await tabs[0].page.close()
    device = Tab(await (await new_context()).new_page(), server.url)
    await device.open()
    await device.begin(FIRST)
    for tab in tabs[1:]:
        await expect(tab.rows).to_have_count(1)
