"""For everybody: axe-core finds nothing in light, dark and forced colours, a screen reader hears each answer begin and
end once, motion can be turned down, and every language is written in its own direction."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext, Serve
from tests.browser.person import AT_ONCE, Api, Person
from tests.browser.server import Server
from threadkeep.conversation.ids import new_id

PACE = 0.02
WIDE = {"viewport": {"width": 1280, "height": 900}}
NARROW = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LISTEN = """() => {
    window.heard = [];
    const regions = [...document.querySelectorAll("[aria-live], [role=status], [role=alert]")]
        .filter((one) => one.getAttribute("aria-live") !== "off");
    const note = (changes) => changes.forEach(({ target }) => {
        const text = target.textContent.trim();
        if (text && text !== window.heard.at(-1)) window.heard.push(text);
    });
    for (const region of regions) {
        new MutationObserver(note).observe(region, { childList: true, characterData: true, subtree: true });
    }
    return regions.length;
}"""
MOVING = """() => document.getAnimations().filter((one) => {
    const { duration, iterations } = one.effect.getComputedTiming();
    return one.playState === "running" && (duration > 1 || iterations === Infinity);
}).map((one) => one.effect.target.outerHTML.slice(0, 100))"""
WIDE_THINGS = "\n\n".join(
    (
        f"$${' + '.join(f'x_{{{number}}}' for number in range(150))}$$",
        "|".join(f"column{number}" for number in range(40)) + "\n" + "|".join(["---"] * 40),
        f"```python\nreturn {'a + ' * 200}b\n```",
    )
)
DIRECTIONS = "all => all.map((one) => getComputedStyle(one).direction)"


@pytest_asyncio.fixture(loop_scope="session", params=["light", "dark", "forced"])
async def looking(request: pytest.FixtureRequest, new_context: NewContext, stage: Server) -> AsyncIterator[Person]:
    """Somebody who sees the page in light, in dark, or in colours of their own."""
    colours = {"forced_colors": "active"} if request.param == "forced" else {"color_scheme": request.param}
    context = await new_context(**colours, reduced_motion="reduce", **WIDE)
    yield Person(await context.new_page(), stage.url)


async def rich(api: Api) -> str:
    """Return a conversation that holds everything that can be drawn, with two branches."""
    id = await api.begin("Write in Markdown", "Show all blocks", "break the lamp", "right to left", title="Everything")
    await api.say(id, "draw", parent=None)
    await api.client.put(f"/v1/conversations/{id}/head", json={"head": (await api.read(id, around=1))["branch"]})
    return id


async def open_all(page: Page) -> None:
    """Open everything that is folded."""
    await page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")


async def test_axe_finds_nothing_on_the_first_screen(looking: Person) -> None:
    await looking.open()
    await find_nothing(looking.page, "the first screen")


async def test_axe_finds_nothing_in_a_conversation_with_tool_cards_and_blocks(looking: Person, api: Api) -> None:
    await looking.open(await rich(api))
    await expect(looking.answers.locator(".hljs-keyword").first).to_be_visible()
    await find_nothing(looking.page, "a conversation")
    await open_all(looking.page)
    await find_nothing(looking.page, "a conversation with everything open")
    await looking.said.first.hover()
    await looking.said.first.get_by_role("button", name="Edit this message: makes a branch").click()
    await find_nothing(looking.page, "a message that is edited")


async def test_axe_finds_nothing_while_an_answer_is_written_and_while_a_call_waits(looking: Person, api: Api) -> None:
    await looking.open(await api.begin())
    await looking.write("Tell a long story")
    await expect(looking.page.get_by_test_id("answer-text")).to_contain_text("word3")
    await looking.write("remove a.txt")
    await expect(looking.page.get_by_test_id("pending").filter(has_text="Queued")).to_be_visible()
    await find_nothing(looking.page, "an answer that is written")
    await looking.page.get_by_test_id("stop").click()
    await expect(looking.page.get_by_test_id("approval")).to_be_visible()
    await find_nothing(looking.page, "a call that waits")
    await looking.page.get_by_test_id("stop").click()


async def test_axe_finds_nothing_in_the_search_and_in_the_list(looking: Person, api: Api) -> None:
    id = await api.begin("Say marmalade.", title="Marmalade")
    await api.say(id, "hold never", AT_ONCE)
    await looking.open()
    await expect(looking.row("Marmalade").get_by_role("img")).to_be_visible()
    await looking.row("Marmalade").hover()
    await looking.page.get_by_role("button", name="More about Marmalade").click()
    await find_nothing(looking.page, "the menu of a row")
    await looking.page.get_by_role("menuitem", name="Rename").click()
    await find_nothing(looking.page, "renaming")
    await looking.page.keyboard.press("Escape")
    await looking.page.get_by_test_id("search").fill("marmalade")
    await expect(looking.page.get_by_test_id("hit").first).to_be_visible()
    await find_nothing(looking.page, "the search")
    await looking.page.get_by_test_id("search").press("Escape")
    await api.client.post(f"/v1/conversations/{id}/cancel")
    await looking.more("Delete", "Marmalade")
    await expect(looking.notes).to_be_visible()
    await find_nothing(looking.page, "a note")


async def test_axe_finds_nothing_in_dialogs_and_menus(looking: Person, api: Api) -> None:
    page = looking.page
    await looking.open(await rich(api))
    for processes, dialog in (("branches", "tree"), ("model", "settings")):
        await page.get_by_test_id(processes).click()
        await expect(page.get_by_test_id(dialog).get_by_role("button").nth(1)).to_be_visible()
        await find_nothing(page, dialog)
        await page.keyboard.press("Escape")
        await expect(page.get_by_test_id(dialog)).to_have_count(0)
    await page.keyboard.press("Control+/")
    await find_nothing(page, "the keys")
    await page.keyboard.press("Escape")
    for name, dialog in (("Prompts", "prompts"), ("Preferences", "preferences")):
        await page.get_by_role("button", name=name, exact=True).click()
        await expect(page.get_by_test_id(dialog)).to_be_visible()
        await find_nothing(page, dialog)
        await page.keyboard.press("Escape")
    await looking.field.fill("/")
    await expect(page.get_by_test_id("prompt-choices")).to_be_visible()
    await find_nothing(page, "the prompts at the field")
    await looking.field.fill("")
    await page.get_by_test_id("more").click()
    await find_nothing(page, "the menu")


async def test_axe_finds_nothing_in_a_guided_conversation(looking: Person, api: Api) -> None:
    asked = ("I want a skill that turns meeting notes into action items", "you decide everything")
    await looking.open(await api.begin(*asked, assistant="skill_creator"))
    await expect(looking.page.get_by_role("navigation", name="Progress")).to_be_visible()
    await find_nothing(looking.page, "a guided conversation")


async def test_axe_finds_nothing_when_something_is_wrong(looking: Person, api: Api) -> None:
    page = looking.page
    await page.goto(f"{looking.url}/c/nothing-of-that-name")
    await expect(page.get_by_test_id("gone")).to_be_visible()
    await find_nothing(page, "a conversation that is gone")
    await looking.open(await api.begin())
    await looking.write("Please stumble.")
    await expect(page.get_by_test_id("failure")).to_be_visible()
    await find_nothing(page, "an answer that failed")
    await page.get_by_test_id("failure").get_by_role("button", name="Regenerate").click()
    await looking.is_answered()
    await page.context.set_offline(True)
    await looking.write("Say hello.")
    await expect(page.get_by_test_id("pending")).to_contain_text("Waiting in this browser.")
    await find_nothing(page, "a message that cannot be sent")
    await page.get_by_test_id("new").click()
    await looking.write("Say hello again.")
    await expect(page.get_by_test_id("pending")).to_contain_text("Say hello again.")
    await find_nothing(page, "a conversation that was begun offline")
    await page.context.set_offline(False)
    await looking.is_answered()


async def test_axe_finds_nothing_in_what_ended_early_and_in_what_is_asked_again(looking: Person, api: Api) -> None:
    page, title = looking.page, f"Endings {new_id()}"
    await looking.open(await api.begin("Be filtered.", "Be too long.", title=title))
    await expect(page.get_by_test_id("ending")).to_have_count(2)
    await looking.write("hold never")
    await expect(looking.answers.last.locator(".tk-tool")).to_have_attribute("data-state", "running")
    await page.get_by_test_id("stop").click()
    await expect(page.get_by_test_id("stopped")).to_be_visible()
    await find_nothing(page, "answers that ended early")
    await looking.write("hurry")
    await expect(page.get_by_test_id("retrying")).to_be_visible()
    await find_nothing(page, "a model that is asked again")
    await looking.is_answered()
    await looking.more("Move to a folder", title)
    await find_nothing(page, "the choice of a folder")
    await page.get_by_role("textbox", name="Name of the folder").fill("Work")
    await page.get_by_role("button", name="Move", exact=True).click()
    await looking.more("Pin", title)
    await find_nothing(page, "a pinned conversation")
    await page.goto(f"{looking.url}/no/such/page")
    await expect(page.get_by_test_id("unknown")).to_be_visible()
    await find_nothing(page, "an unknown address")


async def test_axe_finds_nothing_while_somebody_tries_to_break_it(looking: Person) -> None:
    await looking.open()
    await looking.page.get_by_test_id("trial-card").get_by_role("button").click()
    await expect(looking.answers).to_have_attribute("data-state", "done")
    await looking.page.get_by_role("button", name="Compare").click()
    await expect(looking.page.get_by_test_id("trial")).to_contain_text("The same:")
    await find_nothing(looking.page, "the steps of the try")


@pytest.mark.parametrize("way", ["light", "dark"])
async def test_axe_finds_nothing_on_a_phone(new_context: NewContext, stage: Server, api: Api, way: str) -> None:
    context = await new_context(color_scheme=way, reduced_motion="reduce", **NARROW)
    person = Person(await context.new_page(), stage.url)
    await person.open()
    await find_nothing(person.page, "the first screen")
    await person.open(await rich(api))
    await open_all(person.page)
    await find_nothing(person.page, "a conversation")
    await person.page.get_by_role("button", name="Open the list").tap()
    await expect(person.page.get_by_test_id("new")).to_be_in_viewport(ratio=1)
    await find_nothing(person.page, "the list")


@pytest.mark.parametrize("way", ["light", "dark"])
async def test_axe_finds_nothing_at_the_door(new_context: NewContext, serve: Serve, way: str) -> None:
    server = serve("--auth", "keys")
    context = await new_context(color_scheme=way, reduced_motion="reduce")
    page = await context.new_page()
    await page.goto(server.url)
    await page.get_by_label("Your key").fill("tk_wrong")
    await find_nothing(page, "signing in")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    await find_nothing(page, "a key that is wrong")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_all_that_scrolls_can_be_reached_by_keyboard(
    new_context: NewContext, stage: Server, api: Api, size: dict[str, Any]
) -> None:
    person = Person(await (await new_context(reduced_motion="reduce", **size)).new_page(), stage.url)
    page, rule = person.page, "scrollable-region-focusable"
    id = await api.begin(f"Repeat {WIDE_THINGS}", "Show all blocks", "break the lamp")
    await person.open(id)
    await expect(person.answers.first.locator(".katex-display")).to_be_visible()
    await expect(person.answers.first.locator(".hljs-keyword")).to_be_visible()
    await open_all(page)
    await find_nothing(page, "a conversation", rule)
    await person.more("Settings")
    await expect(page.get_by_test_id("settings").get_by_role("radio").first).to_be_visible()
    await find_nothing(page, "the settings", rule)
    exported = await api.client.get(f"/v1/conversations/{id}/export", params={"format": "html"})
    await page.goto("about:blank")
    await page.set_content(exported.text)
    await open_all(page)
    await find_nothing(page, "the export as HTML, which is also the shared page", rule)


async def test_each_answer_is_announced_once_when_it_begins_and_once_when_it_ends(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    log = person.page.get_by_role("log")
    await expect(log).to_have_attribute("aria-live", "off")
    await expect(person.page.locator("[role=log] [aria-live], [role=log] [role=status]")).to_have_count(0)
    assert await person.page.evaluate(LISTEN) == 1
    await person.say("Write in Markdown")
    assert await person.page.evaluate("window.heard") == ["The assistant is answering.", "The answer is complete."]
    await person.say("draw")
    heard = await person.page.evaluate("window.heard")
    assert heard == ["The assistant is answering.", "The answer is complete."] * 2


async def test_what_was_deleted_is_announced_because_it_can_be_brought_back(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one.", title="To be deleted"))
    assert await person.page.evaluate(LISTEN) == 1
    await person.more("Delete")
    await expect(person.notes).to_be_visible()
    assert await person.page.evaluate("window.heard") == ["Deleted “To be deleted”."]


async def test_the_page_has_landmarks_and_names(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one.", title="A name"))
    page = person.page
    await expect(page.get_by_role("navigation", name="Conversations")).to_be_visible()
    await expect(page.get_by_role("main")).to_be_visible()
    await expect(page.get_by_role("banner")).to_be_visible()
    await expect(page.get_by_role("heading", level=1)).to_have_text("A name")
    await expect(page.get_by_role("article", name="You")).to_have_count(1)
    await expect(page.get_by_role("article", name="Stage")).to_have_count(1)
    await expect(page.locator("html")).to_have_attribute("lang", "en")


async def test_nothing_moves_for_who_wants_no_motion(new_context: NewContext, stage: Server, api: Api) -> None:
    for motion, moves in (("no-preference", True), ("reduce", False)):
        person = Person(await (await new_context(reduced_motion=motion)).new_page(), stage.url)
        await person.open(await api.begin())
        await person.write("hold never")
        await expect(person.answers.locator(".tk-tool")).to_have_attribute("data-state", "running")
        await expect(person.rows.locator(".mark").first).to_be_visible()
        assert bool(await person.page.evaluate(MOVING)) == moves
        await person.page.get_by_test_id("stop").click()
        await person.is_answered()


async def test_every_paragraph_goes_in_the_direction_of_its_language(person: Person, api: Api) -> None:
    hebrew = "מימין לשמאל right to left"
    await person.open(await api.begin(hebrew, "Say left.", title=hebrew))
    text = person.answers.first.get_by_test_id("answer-text").locator("p")
    await expect(text.first).to_be_visible()
    assert (await text.evaluate_all(DIRECTIONS))[:3] == ["rtl", "ltr", "rtl"]
    assert await person.said.locator(".bubble p").evaluate_all(DIRECTIONS) == ["rtl", "ltr"]
    assert await person.row(hebrew).get_by_role("link").evaluate_all(DIRECTIONS) == ["rtl"]
    assert await person.page.locator("h1.title").evaluate_all(DIRECTIONS) == ["rtl"]
    await person.field.fill("שלום")
    assert await person.field.evaluate("one => getComputedStyle(one).direction") == "rtl"


async def test_light_and_dark_can_be_chosen_and_are_remembered(person: Person) -> None:
    await person.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    before = await person.page.evaluate(ground)
    await person.page.get_by_role("button", name="Preferences").click()
    await person.page.get_by_role("radio", name="Dark").check(force=True)
    await expect(person.page.locator("body")).not_to_have_css("background-color", before)
    after = await person.page.evaluate(ground)
    await person.page.reload()
    await expect(person.page.locator("body")).to_have_css("background-color", after)
    await person.page.get_by_role("button", name="Preferences").click()
    await person.page.get_by_role("radio", name="System").check(force=True)
    await expect(person.page.locator("body")).to_have_css("background-color", before)


async def test_the_page_can_be_used_at_twice_its_size(new_context: NewContext, stage: Server, api: Api) -> None:
    person = Person(await (await new_context(viewport={"width": 640, "height": 400})).new_page(), stage.url)
    await person.open(await rich(api))
    assert await person.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    await expect(person.field).to_be_in_viewport(ratio=1)
    await person.say("Say hello.")
    await expect(person.answers.last).to_contain_text("hello.")
