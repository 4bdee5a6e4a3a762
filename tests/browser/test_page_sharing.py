"""Sharing: a link is made, copied, read by a stranger and stopped, from the menu and from "Your data"."""

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext, Serve
from tests.browser.person import Person, calling


@pytest.mark.parametrize(("way", "width"), [("light", 1280), ("dark", 390)])
async def test_what_is_shared_can_be_read_by_whoever_has_the_link_until_that_is_stopped(
    new_context: NewContext, serve: Serve, way: str, width: int
) -> None:
    server = serve("--auth", "keys", "--share")
    key = server.key()
    async with calling(server.url, key) as api:
        id = await api.begin("Hello there!", title="A trip to Rome", assistant="chat")
    size = {"width": width, "height": 844}
    page = await (await new_context(color_scheme=way, reduced_motion="reduce", viewport=size)).new_page()
    await page.goto(f"{server.url}/c/{id}")
    await page.get_by_label("Your key").fill(key)
    await page.keyboard.press("Enter")
    sheet = await _sheet(page)
    await expect(sheet).to_contain_text("Anybody who has the link can read")
    await sheet.get_by_label("How long the link works").select_option(label="7 days")
    await sheet.get_by_role("button", name="Make a link").click()
    link = await sheet.get_by_label("Your link").input_value()
    await expect(sheet.get_by_label("Your link")).to_be_focused()
    await expect(sheet.get_by_test_id("links").get_by_role("listitem")).to_contain_text("until")
    await find_nothing(page, "a link that was made")
    stranger = await (await new_context(color_scheme=way, viewport=size)).new_page()
    answer = await stranger.goto(link)
    assert answer is not None
    assert (answer.status, await answer.header_value("x-robots-tag")) == (200, "noindex, nofollow")
    await expect(stranger.get_by_role("heading", name="A trip to Rome")).to_be_visible()
    await expect(stranger.get_by_text("Hello there!")).to_be_visible()
    await find_nothing(stranger, "a shared conversation")
    assert await stranger.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await stranger.evaluate("origin") == "null"
    await sheet.get_by_role("button", name="Stop sharing").click()
    await expect(sheet.get_by_test_id("links")).to_be_empty()
    await expect(sheet.get_by_label("Your link")).to_have_count(0)
    await stranger.reload()
    await expect(stranger.get_by_text("This link leads nowhere.")).to_be_visible()


async def test_a_link_shows_as_much_as_was_chosen(person: Person, new_context: NewContext) -> None:
    await person.begin("say the first")
    await person.say("say the second")
    await person.say("say the third")
    sheet = await _sheet(person.page)
    chosen = sheet.get_by_label("What it shows")
    await expect(chosen.get_by_role("option")).to_have_count(3)
    await chosen.select_option(label="the second")
    await sheet.get_by_role("button", name="Make a link").click()
    stranger = await (await new_context()).new_page()
    await stranger.goto(await sheet.get_by_label("Your link").input_value())
    await expect(stranger.get_by_text("the second", exact=True)).to_be_visible()
    await expect(stranger.get_by_text("the third")).to_have_count(0)
    await sheet.get_by_role("button", name="Stop sharing").click()
    await expect(sheet.get_by_test_id("links")).to_be_empty()


async def test_your_data_lists_what_is_shared_and_stops_it(person: Person) -> None:
    page = person.page
    await person.begin("Say one.")
    sheet = await _sheet(page)
    await sheet.get_by_role("button", name="Make a link").click()
    await expect(sheet.get_by_label("Your link")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Your data").click()
    shared = page.get_by_test_id("shared")
    await expect(shared.get_by_role("link")).to_have_count(1)
    await find_nothing(page, "what is shared")
    await shared.get_by_role("button", name="Stop sharing").click()
    await expect(page.get_by_text("Nothing is shared.")).to_be_visible()


async def test_where_sharing_is_off_nobody_is_offered_it(page: Page, serve: Serve) -> None:
    server = serve("--no-share")
    async with calling(server.url) as api:
        id = await api.begin("Hello!", assistant="chat")
    await page.goto(f"{server.url}/c/{id}")
    await page.get_by_test_id("more").click()
    await expect(page.get_by_role("menuitem", name="Settings")).to_be_visible()
    await expect(page.get_by_role("menuitem", name="Share …")).to_have_count(0)


async def _sheet(page: Page) -> Locator:
    await page.get_by_test_id("more").click()
    await page.get_by_role("menuitem", name="Share …").click()
    return page.get_by_test_id("share")
