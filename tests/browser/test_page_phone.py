"""A phone, 390 pixels wide: everything can be reached, nothing scrolls sideways, fingers find the buttons."""

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext, Serve
from tests.browser.person import AT_ONCE, Api, Person
from tests.browser.server import Server

WIDTH = 390
PHONE = {"viewport": {"width": WIDTH, "height": 844}, "has_touch": True, "is_mobile": True}
WIDE = """() => {
    const all = [...document.querySelectorAll("body, body *")];
    const across = (one) => getComputedStyle(one).overflowX;
    const isCut = (one) => one && (/hidden|clip/.test(across(one)) || isCut(one.parentElement));
    const isUsed = (one) => one.matches("a, button, input, textarea, summary");
    const out = all.filter((one) => {
        const { width, left, right } = one.getBoundingClientRect();
        const isAway = one.closest(".tk-scroll, pre, [data-open=false], .visually-hidden, .skip");
        return width && (right > innerWidth + 1 || left < -1) && !isAway && (isUsed(one) || !isCut(one.parentElement));
    });
    const scrolls = (one) => one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(across(one));
    const mayScroll = (one) => one.matches(".tk-scroll, pre");
    const sideways = [document.scrollingElement, ...all].filter((one) => scrolls(one) && !mayScroll(one));
    return [...out, ...sideways].map((one) => one.outerHTML.slice(0, 120));
}"""
LONG_WORD = "Say " + "Donaudampfschifffahrtsgesellschaft" * 8 + " https://example.org/" + "path/" * 40


@pytest_asyncio.fixture(loop_scope="session")
async def phone(new_context: NewContext, stage: Server) -> Person:
    """Somebody with a phone."""
    return Person(await (await new_context(**PHONE)).new_page(), stage.url)


async def fits(person: Person, what: str) -> None:
    """Nothing is wider than the screen."""
    assert await person.page.evaluate(WIDE) == [], what


async def test_nothing_is_wider_than_the_screen(phone: Person, api: Api) -> None:
    page = phone.page
    await phone.open()
    await fits(phone, "the first screen")
    id = await api.begin(LONG_WORD, "Write in Markdown", "Show all blocks", "break the lamp", title=LONG_WORD)
    await api.say(id, "Say other.", parent=None)
    await api.say(id, "remove a.txt", AT_ONCE)
    await phone.open(id)
    await expect(page.get_by_test_id("approval")).to_be_visible()
    await fits(phone, "a call that waits")
    await page.get_by_test_id("branches").click()
    await expect(page.get_by_test_id("tree").get_by_role("navigation")).to_be_visible()
    await fits(phone, "the tree")
    await page.keyboard.press("Escape")
    await phone.more("Settings")
    await expect(page.get_by_test_id("settings")).to_be_visible()
    await fits(phone, "the choice of a model")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Previous version").click()
    await expect(phone.said.first).to_contain_text("Donau")
    for summary in await page.locator(".tk-tool summary, .tk-usage summary, .tk-numbers summary").all():
        await summary.click()
    await fits(phone, "a conversation with everything open")
    await page.get_by_test_id("more").click()
    await fits(phone, "the menu")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Open the list").click()
    await expect(page.get_by_test_id("new")).to_be_in_viewport(ratio=1)
    await page.get_by_test_id("search").fill("Donaudampfschifffahrtsgesellschaft")
    await expect(page.get_by_test_id("hits")).to_be_visible()
    await fits(phone, "the list and the search")


async def test_the_list_is_opened_used_and_closed(phone: Person, api: Api) -> None:
    first, second = await api.begin("Say one.", title="Number one"), await api.begin("Say two.", title="Number two")
    await phone.open(first)
    await expect(phone.row("Number two")).not_to_be_in_viewport()
    menu = phone.page.get_by_role("button", name="Open the list")
    await menu.tap()
    await expect(phone.row("Number two")).to_be_in_viewport()
    await phone.row("Number two").get_by_role("link").tap()
    await expect(phone.page).to_have_url(f"{phone.url}/c/{second}")
    await expect(phone.row("Number two")).not_to_be_in_viewport()
    await menu.tap()
    await phone.page.get_by_role("button", name="Close the list").tap()
    await expect(phone.row("Number two")).not_to_be_in_viewport()


async def test_a_closed_list_is_not_reached_by_tab(phone: Person, api: Api) -> None:
    await phone.open(await api.begin("Say one."))
    await phone.page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    for _ in range(6):
        await phone.page.keyboard.press("Tab")
        assert not await phone.page.evaluate("Boolean(document.activeElement.closest('#sidebar'))")


async def test_what_a_conversation_offers_can_be_tapped(phone: Person, api: Api) -> None:
    await phone.open(await api.begin("Say one.", title="To be tapped"))
    for name in ("Open the list", "Branches", "More", "New conversation"):
        await expect(phone.page.locator("header.top").get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    await expect(phone.page.get_by_test_id("status")).to_be_in_viewport()
    await expect(phone.page.get_by_test_id("assistant")).to_be_in_viewport(ratio=1)
    await phone.page.get_by_test_id("more").tap()
    for item in await phone.page.get_by_role("menuitem").all():
        await expect(item).to_be_in_viewport(ratio=1)
    await phone.page.keyboard.press("Escape")
    await phone.said.get_by_role("button", name="Edit this message: makes a branch").tap()
    await phone.page.get_by_role("textbox", name="Edit your message").fill("Say three.")
    await phone.page.get_by_role("button", name="Send", exact=True).first.tap()
    await expect(phone.answers).to_contain_text("three.")
    await phone.is_answered()


async def test_enter_makes_a_new_line_and_the_button_sends(phone: Person) -> None:
    await phone.open()
    await phone.choose("Stage")
    await phone.field.fill("Say one")
    await phone.field.press("Enter")
    await phone.page.keyboard.type("and two.")
    await expect(phone.field).to_have_value("Say one\nand two.")
    await phone.page.get_by_test_id("send").tap()
    await expect(phone.said).to_have_text(["Say one\nand two."], use_inner_text=True)


async def test_buttons_are_large_enough_for_a_finger(phone: Person, api: Api) -> None:
    await phone.open()
    await find_nothing(phone.page, "the first screen", "target-size")
    await phone.open(await api.begin("Show all blocks"))
    await find_nothing(phone.page, "a conversation", "target-size")
    await phone.page.get_by_role("button", name="Open the list").tap()
    await expect(phone.page.get_by_test_id("new")).to_be_in_viewport(ratio=1)
    await find_nothing(phone.page, "the list", "target-size")


@pytest.mark.parametrize("way", ["light", "dark"])
async def test_signing_in_fits_too(new_context: NewContext, serve: Serve, way: str) -> None:
    server = serve("--auth", "keys")
    person = Person(await (await new_context(color_scheme=way, **PHONE)).new_page(), server.url)
    await person.page.goto(server.url)
    await expect(person.page.get_by_label("Your key")).to_be_in_viewport()
    await fits(person, "signing in")
