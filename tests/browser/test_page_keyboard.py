"""Everything without a mouse: a whole conversation, every key of the list, focus that is seen and comes back."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect

from tests.browser.person import Api, Person

TABBED = """async () => {
    const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    await drawn();
    const element = document.activeElement;
    if (element === document.body) return null;
    const parts = ["outlineStyle", "outlineWidth", "outlineColor", "boxShadow", "borderColor", "backgroundColor"];
    const look = () => [element, element.parentElement, element.parentElement?.parentElement]
        .map((one) => one && parts.map((part) => getComputedStyle(one)[part]).join()).join("|");
    const box = element.getBoundingClientRect();
    const before = window.tabbed;
    const focused = look();
    element.blur();
    await drawn();
    const isSeen = look() !== focused;
    element.focus({ focusVisible: true });
    window.tabbed = element;
    return {
        name: element.getAttribute("aria-label") || element.textContent.trim().slice(0, 40) || element.id,
        isSeen,
        isInView: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.left >= 0 && box.right <= innerWidth,
        follows: !before || Boolean(before.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING),
    };
}"""
TRANSLATED = "document.querySelectorAll('[aria-label]').forEach(one => one.setAttribute('aria-label', 'Knopf'))"
TO_TOP = "document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')"
INSIDE = """(dialog) => {
    const at = document.activeElement;
    return at === document.body || dialog.contains(at);
}"""


async def stops(page: Page) -> list[dict[str, Any]]:
    """Walk with Tab from the beginning of the page to its end, and return every stop."""
    await page.evaluate(f"{TO_TOP}; window.tabbed = null")
    found: list[dict[str, Any]] = []
    while True:
        await page.keyboard.press("Tab")
        stop = await page.evaluate(TABBED)
        if stop is None or (found and not stop["follows"]):
            return found
        found.append(stop)


async def leave_field(page: Page) -> None:
    """Leave the field that is written in and choose a message, so that single keys work."""
    await page.keyboard.press("Escape")
    await expect(page.locator("[data-testid=messages] [data-seq]:focus-visible")).to_have_count(1)


async def test_a_whole_conversation_is_held_without_a_mouse(person: Person, api: Api) -> None:
    page, keys = person.page, person.page.keyboard
    await page.goto(person.url)
    await expect(person.field).to_be_focused()
    await keys.press("Shift+Tab")
    await page.get_by_test_id("choose-assistant").focus()
    for letter in "stage":
        await keys.press(letter)
    await expect(page.get_by_test_id("choose-assistant")).to_have_value("stage")
    await page.get_by_test_id("open-settings").focus()
    await keys.type("Say one.")
    await keys.press("Shift+Enter")
    await keys.type("And more.")
    await keys.press("Enter")
    await expect(person.answers).to_contain_text("one.")
    await person.is_answered()
    await expect(person.said).to_have_text(["Say one.\nAnd more."], use_inner_text=True)
    await expect(person.field).to_be_focused()
    await keys.type("draw")
    await keys.press("Enter")
    await expect(person.answers).to_have_count(2)
    await person.is_answered()
    await leave_field(page)
    await keys.press("r")
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("2/2")
    await person.is_answered()
    await expect(person.field).to_be_focused()
    await leave_field(page)
    await keys.press("[")
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("1/2")
    await keys.press("]")
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("2/2")
    await keys.press("e")
    await expect(page.get_by_role("textbox", name="Edit your message")).to_be_focused()
    await keys.press("Control+a")
    await keys.type("Say three.")
    await keys.press("Enter")
    await expect(person.answers.last).to_contain_text("three.")
    await person.is_answered()
    await expect(person.field).to_be_focused()
    await leave_field(page)
    await keys.press("t")
    tree = page.get_by_test_id("tree")
    leaf = tree.get_by_role("navigation").get_by_role("button").first
    for _ in range(6):
        if await leaf.evaluate("leaf => leaf === document.activeElement"):
            break
        await keys.press("Tab")
    await keys.press("Enter")
    await expect(tree).to_have_count(0)
    await expect(page.get_by_test_id("elsewhere")).to_be_visible()


async def test_an_answer_is_stopped_with_escape(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.write("hold never")
    await expect(person.answers.locator(".tk-tool")).to_be_visible()
    await person.page.keyboard.press("Escape")
    await person.is_answered()


async def test_every_key_of_the_list_does_what_it_says(person: Person, api: Api, context: BrowserContext) -> None:
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    below = await api.begin("Say below.")
    id = await api.begin("Say one.", "Say two.")
    page, keys = person.page, person.page.keyboard
    await person.open(id)
    await expect(person.rows.nth(1)).to_be_visible()
    await leave_field(page)
    await keys.press("?")
    listed = page.get_by_test_id("shortcuts")
    told = {text for row in await listed.locator("tr").all() for text in await row.locator("kbd").all_inner_texts()}
    assert told == set("?n/ijkercxtm[]↑↓BKO") | {"Enter", "Shift", "Esc", "Alt", "Ctrl"}
    await keys.press("Escape")
    await expect(listed).to_have_count(0)
    for key, place in (("k", 2), ("k", 1), ("j", 2), ("j", 3)):
        await keys.press(key)
        await expect(page.locator("[data-testid=messages] [data-seq]").nth(place)).to_be_focused()
    await keys.press("k")
    await keys.press("c")
    assert await person.copied() == "Say two."
    await keys.press("e")
    await expect(page.get_by_role("textbox", name="Edit your message")).to_have_value("Say two.")
    await keys.press("Escape")
    await expect(page.locator("[data-testid=messages] [data-seq]").nth(2)).to_be_focused()
    for key, dialog in (("t", "tree"), ("m", "settings")):
        await keys.press(key)
        await expect(page.get_by_test_id(dialog)).to_be_visible()
        await keys.press("Escape")
        await expect(page.get_by_test_id(dialog)).to_have_count(0)
    await keys.press("x")
    await expect(page.get_by_role("menuitem").first).to_be_focused()
    await keys.press("Escape")
    await keys.press("i")
    await expect(person.field).to_be_focused()
    await leave_field(page)
    for search in ("/", "Control+k"):
        await keys.press(search)
        await expect(page.get_by_test_id("search")).to_be_focused()
        await leave_field(page)
    await keys.press("Control+/")
    await expect(listed).to_be_visible()
    await keys.press("Escape")
    await expect(listed).to_have_count(0)
    await keys.press("Alt+ArrowDown")
    await expect(page).to_have_url(re.compile(f"/c/{below}$"))
    await keys.press("Alt+ArrowUp")
    await expect(page).to_have_url(re.compile(f"/c/{id}$"))
    await expect(person.answers).to_have_count(2)
    await leave_field(page)
    await keys.press("n")
    await expect(page).to_have_url(f"{person.url}/")
    await expect(person.field).to_be_focused()
    await person.open(id)
    await keys.press("Control+Shift+O")
    await expect(page).to_have_url(f"{person.url}/")


async def to_background(person: Person) -> None:
    """Click beside everything that was said."""
    await person.page.get_by_test_id("messages").click(position={"x": 5, "y": 5})


async def to_an_answer(person: Person) -> None:
    """Click on the words of an answer."""
    await person.answers.last.get_by_test_id("answer-text").click()


async def regenerate(person: Person) -> None:
    """Ask for another answer."""
    await person.answers.last.get_by_role("button", name="Regenerate").click()
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("2/2")
    await person.is_answered()


async def regenerate_by_key(person: Person) -> None:
    """Ask for another answer, without a mouse."""
    await leave_field(person.page)
    await person.page.keyboard.press("r")
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("2/2")
    await person.is_answered()


async def edit(person: Person) -> None:
    """Say something else in place of what was said."""
    await person.said.last.hover()
    await person.said.last.get_by_role("button", name="Edit").click()
    await person.page.get_by_role("textbox", name="Edit your message").fill("Say two.")
    await person.page.keyboard.press("Enter")
    await expect(person.answers.last).to_contain_text("two.")
    await person.is_answered()


async def call_an_edit_off(person: Person) -> None:
    """Begin to say something else, and leave it by Escape."""
    await person.said.last.hover()
    await person.said.last.get_by_role("button", name="Edit").click()
    await expect(person.page.get_by_role("textbox", name="Edit your message")).to_be_focused()
    await person.page.keyboard.press("Escape")


async def look_at_another_version(person: Person) -> None:
    """Ask for another answer and go back to the first one."""
    await regenerate(person)
    await person.answers.last.get_by_role("button", name="Previous version").click()
    await expect(person.answers.last.get_by_test_id("siblings")).to_have_text("1/2")


async def copy(person: Person) -> None:
    """Press a button that stays."""
    await person.answers.last.get_by_role("button", name="Copy as Markdown").click()


@pytest.mark.parametrize(
    "did",
    [to_background, to_an_answer, regenerate, regenerate_by_key, edit, call_an_edit_off, look_at_another_version, copy],
)
async def test_what_is_typed_goes_to_the_field_whatever_was_done_before(
    did: Callable[[Person], Awaitable[None]], person: Person, api: Api
) -> None:
    id = await api.begin("Say one.")
    await person.open(id)
    await did(person)
    await person.page.keyboard.type("nothing else, thanks? [no] /me")
    await expect(person.field).to_have_value("nothing else, thanks? [no] /me")
    await expect(person.page).to_have_url(f"{person.url}/c/{id}")


async def test_what_is_pasted_on_the_background_goes_to_the_field(
    person: Person, api: Api, context: BrowserContext
) -> None:
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    await person.open(await api.begin("Say one."))
    await person.page.evaluate("navigator.clipboard.writeText('from elsewhere')")
    await to_background(person)
    await person.page.keyboard.press("Control+v")
    await expect(person.field).to_have_value("from elsewhere")


async def test_what_is_typed_beside_an_edited_message_goes_into_it(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await leave_field(person.page)
    await person.page.keyboard.press("e")
    edited = person.page.get_by_role("textbox", name="Edit your message")
    await expect(edited).to_be_focused()
    await to_background(person)
    await person.page.keyboard.type("now")
    await expect(edited).to_have_value("Say one.now")


async def test_on_the_first_screen_every_letter_is_text(person: Person) -> None:
    await person.open()
    await person.page.get_by_role("heading", level=1).click()
    await expect(person.field).not_to_be_focused()
    await person.page.keyboard.type("n/m?")
    await expect(person.field).to_have_value("n/m?")


async def test_a_chosen_message_is_still_chosen_after_its_version_was_changed(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await regenerate_by_key(person)
    await leave_field(person.page)
    siblings = person.answers.get_by_test_id("siblings")
    for key, version in (("[", "1/2"), ("]", "2/2"), ("[", "1/2")):
        await person.page.keyboard.press(key)
        await expect(siblings).to_have_text(version)
        await expect(person.page.locator(".answer:focus-visible")).to_have_count(1)


async def test_keys_work_whatever_the_words_on_the_buttons_are(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await leave_field(person.page)
    for key, version in (("r", "2/2"), ("[", "1/2"), ("]", "2/2")):
        await person.page.evaluate(TRANSLATED)
        await person.page.keyboard.press(key)
        await expect(person.answers.get_by_test_id("siblings")).to_contain_text(version)
        await person.is_answered()
        if key == "r":
            await leave_field(person.page)
    await person.page.evaluate(TRANSLATED)
    await person.page.keyboard.press("x")
    await expect(person.page.get_by_role("menuitem").first).to_be_focused()


async def test_single_keys_can_be_switched_off(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    keys = person.page.keyboard
    await leave_field(person.page)
    await keys.press("?")
    switch = person.page.get_by_role("checkbox", name="Single keys work while a message is chosen")
    await switch.focus()
    await keys.press("Space")
    await keys.press("Escape")
    await expect(person.page.get_by_test_id("shortcuts")).to_have_count(0)
    await person.page.reload()
    await expect(person.answers).to_have_count(1)
    await leave_field(person.page)
    await keys.press("t")
    await expect(person.field).to_have_value("t")
    await expect(person.page.get_by_test_id("tree")).to_have_count(0)
    await keys.press("Control+k")
    await expect(person.page.get_by_test_id("search")).to_be_focused()


async def test_the_focus_is_seen_and_goes_through_the_page_in_order(person: Person, api: Api) -> None:
    await person.page.emulate_media(reduced_motion="reduce")
    for id in (None, await api.begin("Write in Markdown", "Show all blocks", title="To walk through")):
        await person.open(id)
        walked = await stops(person.page)
        names = [stop["name"] for stop in walked]
        assert [stop for stop in walked if not (stop["isSeen"] and stop["isInView"])] == []
        assert names[0] == "Skip to the message field"
        assert "composer" in names[-3:] or id is None
        expected = {"New conversation", "search", "Preferences"}
        expected |= {"Try it"} if id is None else {"Messages", "Copy", "Rank", "Branches", "More", "Ticker"}
        assert expected <= set(names), names


async def test_the_first_tab_leads_to_the_field(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await person.page.evaluate(TO_TOP)
    await person.page.keyboard.press("Tab")
    await expect(person.page.get_by_role("link", name="Skip to the message field")).to_be_focused()
    await expect(person.page.get_by_role("link", name="Skip to the message field")).to_be_in_viewport()
    await person.page.keyboard.press("Enter")
    await expect(person.field).to_be_focused()


async def stays_inside(page: Page, dialog: Locator, processes: Locator) -> None:
    """The focus goes round in a dialog, and comes back to what opened it."""
    await expect(dialog).to_be_visible()
    assert await dialog.evaluate("(dialog) => dialog.contains(document.activeElement)")
    for key in ["Tab"] * 12 + ["Shift+Tab"] * 12:
        await page.keyboard.press(key)
        assert await dialog.evaluate(INSIDE)
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(processes).to_be_focused()


async def test_dialogs_keep_the_focus_and_give_it_back(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    page = person.page
    openers = {
        "preferences": page.get_by_role("button", name="Preferences"),
        "tree": page.get_by_test_id("branches"),
        "settings": page.get_by_test_id("model"),
    }
    for name, processes in openers.items():
        await processes.focus()
        await page.keyboard.press("Enter")
        await stays_inside(page, page.get_by_test_id(name), processes)


async def test_a_menu_is_walked_with_arrows_and_gives_the_focus_back(person: Person, api: Api) -> None:
    await person.open(await api.begin("Write in Markdown", "Show all blocks"))
    more = person.page.get_by_test_id("more")
    await more.focus()
    keys = person.page.keyboard
    await keys.press("Enter")
    items = person.page.get_by_role("menuitem")
    await expect(items.first).to_be_focused()
    await person.page.get_by_test_id("messages").evaluate(
        "one => new Promise((seen) => { one.addEventListener('scroll', () => setTimeout(seen)); one.scrollTop = 0; })"
    )
    for key, place in (("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", -1), ("ArrowDown", 0), ("End", -1), ("Home", 0)):
        await keys.press(key)
        await expect(items.nth(place)).to_be_focused()
    await keys.press("Escape")
    await expect(items).to_have_count(0)
    await expect(more).to_be_focused()
    for key, focused in (
        ("Tab", person.page.get_by_test_id("messages")),
        ("Shift+Tab", person.page.get_by_test_id("branches")),
    ):
        await more.press("Enter")
        await keys.press("End")
        await keys.press(key)
        await expect(items).to_have_count(0)
        await expect(focused).to_be_focused()


async def test_a_conversation_is_deleted_and_brought_back_without_a_mouse(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one.", title="On and off"))
    keys = person.page.keyboard
    await leave_field(person.page)
    await keys.press("x")
    await expect(person.page.get_by_role("menuitem").first).to_be_focused()
    await keys.press("End")
    await keys.press("Enter")
    undo = person.notes.get_by_role("button", name=re.compile("Undo"))
    await expect(undo).to_be_visible()
    await undo.focus()
    await keys.press("Enter")
    await expect(person.row("On and off")).to_be_visible()


async def test_every_shortcut_can_have_other_keys_and_none_has_those_of_another(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    page, keys = person.page, person.page.keyboard
    await keys.press("Control+/")
    listed = page.get_by_test_id("shortcuts")
    await listed.get_by_test_id("key-new").click()
    await keys.press("Control+k")
    await expect(listed.get_by_role("alert")).to_have_text("Ctrl+K is taken: Search. Press other keys.")
    await listed.get_by_test_id("key-new").click()
    await keys.press("Control+j")
    await expect(listed.get_by_test_id("key-new")).to_have_text("CtrlJ")
    await listed.get_by_test_id("key-tree").click()
    await keys.press("y")
    await listed.get_by_test_id("key-more").click()
    await keys.press("Escape")
    await expect(listed.get_by_test_id("key-more")).to_have_text("x")
    await page.reload()
    await expect(person.answers).to_have_count(1)
    await leave_field(page)
    await keys.press("t")
    await expect(person.field).to_have_value("t")
    await person.field.fill("")
    await leave_field(page)
    await keys.press("y")
    await expect(page.get_by_test_id("tree")).to_be_visible()
    await keys.press("Escape")
    await keys.press("Control+j")
    await expect(page).to_have_url(f"{person.url}/")
    await keys.press("Control+/")
    await listed.get_by_role("button", name="Restore the usual keys").click()
    await expect(listed.get_by_test_id("key-tree")).to_have_text("t")


async def test_the_focus_is_where_the_next_act_is_after_stop_and_approval(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.write("hold never")
    await expect(person.answers.locator(".tk-tool")).to_be_visible()
    await person.page.get_by_test_id("stop").click()
    await person.is_answered()
    await expect(person.field).to_be_focused()
    await person.write("draw and remove a.txt")
    await person.page.get_by_test_id("approval").get_by_role("button", name="Allow").click()
    await person.is_answered()
    await expect(person.field).to_be_focused()
    await person.page.keyboard.type("next")
    await expect(person.field).to_have_value("next")
