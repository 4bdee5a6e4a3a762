"""The list of conversations: by day, live, with marks, and what can be done with each of them."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext
from tests.browser.person import AT_ONCE, Api, Person
from tests.browser.server import PATIENCE, Server


async def test_conversations_are_grouped_by_day(person: Person, api: Api) -> None:
    await api.begin(title="Written now")
    shown = person.page.get_by_test_id("conversations")
    now = datetime.now(UTC)
    for days, heading in ((0, "Today"), (1, "Yesterday"), (4, "The last seven days"), (400, f"{now:%B %Y}")):
        await person.page.clock.set_fixed_time(now + timedelta(days=days))
        await person.open()
        group = shown.locator("section").filter(has=person.page.get_by_role("heading", name=heading, exact=True))
        await expect(group.get_by_role("link").get_by_text("Written now", exact=True)).to_be_visible()


async def test_what_another_device_begins_and_deletes_comes_and_goes(person: Person, api: Api) -> None:
    await person.open()
    await expect(person.row("From my phone")).to_have_count(0)
    id = await api.begin(title="From my phone")
    await expect(person.row("From my phone")).to_be_visible()
    await api.client.patch(f"/v1/conversations/{id}", json={"title": "From my other phone"})
    await expect(person.row("From my other phone")).to_be_visible()
    await api.client.delete(f"/v1/conversations/{id}")
    await expect(person.row("From my other phone")).to_have_count(0)


async def test_what_happens_while_the_list_is_read_is_not_lost(
    new_context: NewContext, stage: Server, api: Api
) -> None:
    # What a service worker asks for on behalf of a page cannot be held up here.
    person = Person(await (await new_context(service_workers="block")).new_page(), stage.url)
    await api.begin(title="Was always there")
    before = await api.begin(title="Has a name")
    is_read, may_come = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        if is_read.is_set():
            await route.abort()
            return
        answer = await route.fetch()
        is_read.set()
        async with asyncio.timeout(PATIENCE):
            await may_come.wait()
        await route.fulfill(response=answer)

    await person.page.route("**/v1/conversations?limit=60", late)
    await person.page.goto(person.url)
    async with asyncio.timeout(PATIENCE):
        await is_read.wait()
    await api.client.patch(f"/v1/conversations/{before}", json={"title": "Has another name"})
    await api.begin(title="Made meanwhile")
    await expect(person.row("Made meanwhile")).to_be_visible()
    await expect(person.row("Was always there")).to_have_count(0)
    may_come.set()
    await expect(person.row("Was always there")).to_be_visible()
    await expect(person.row("Made meanwhile")).to_be_visible()
    await expect(person.row("Has another name")).to_be_visible()


async def test_the_one_with_news_comes_first(person: Person, api: Api) -> None:
    old = await api.begin(title="The older")
    await api.begin(title="The newer")
    await person.open()
    await expect(person.rows.first.locator("a > span")).to_have_text("The newer")
    await api.say(old, "Say hello.")
    await expect(person.rows.first.locator("a > span")).to_have_text("The older")


async def test_running_and_waiting_ones_are_marked(person: Person, api: Api, stage: Server) -> None:
    running, waiting = await api.begin(title="Runs"), await api.begin(title="Waits")
    await person.open()
    await expect(person.row("Waits")).to_be_visible()
    await api.say(running, "hold gate", AT_ONCE)
    await expect(person.row("Runs").get_by_role("img", name="An answer is being written")).to_be_visible()
    await api.say(waiting, "remove a.txt", AT_ONCE)
    await expect(person.row("Waits").get_by_role("img", name="Waits for your approval")).to_be_visible()
    await person.page.reload()
    await expect(person.row("Runs").get_by_role("img", name="An answer is being written")).to_be_visible()
    await expect(person.row("Waits").get_by_role("img", name="Waits for your approval")).to_be_visible()
    (stage.folder / "gate").touch()
    await expect(person.row("Runs").get_by_role("img", name="Has something that you have not seen")).to_be_visible()


async def test_a_conversation_is_renamed_in_the_list(person: Person, api: Api) -> None:
    id = await api.begin(title="First name")
    await person.open()
    await person.more("Rename", "First name")
    field = person.page.get_by_role("textbox", name="Title")
    await expect(field).to_be_focused()
    await field.fill("Second name")
    await field.press("Enter")
    await expect(person.row("Second name")).to_be_visible()
    assert (await api.read(id))["title"] == "Second name"
    await person.more("Rename", "Second name")
    await field.fill("Third name")
    await field.press("Escape")
    await expect(person.row("Second name")).to_be_visible()


async def test_a_conversation_is_renamed_at_its_head(person: Person, api: Api) -> None:
    id = await api.begin("Say hello.")
    await person.open(id)
    await person.page.get_by_test_id("title").click()
    field = person.page.get_by_role("textbox", name="Title")
    await field.fill("Greetings")
    await field.press("Enter")
    await expect(person.page.get_by_test_id("title")).to_have_text("Greetings")
    await expect(person.row("Greetings")).to_be_visible()
    assert (await api.read(id))["title"] == "Greetings"


async def test_a_conversation_goes_into_the_archive_and_out_again(person: Person, api: Api) -> None:
    id = await api.begin(title="For later")
    await person.open(id)
    await person.more("Archive")
    await expect(person.row("For later")).to_have_count(0)
    await person.page.get_by_role("button", name="Archived", exact=True).click()
    await expect(person.row("For later")).to_be_visible()
    assert (await api.read(id))["archived"] is True
    await person.more("Restore from archive", "For later")
    await expect(person.row("For later")).to_have_count(0)
    await person.page.get_by_role("button", name="Back to all").click()
    await expect(person.row("For later")).to_be_visible()


async def test_a_deleted_conversation_can_be_brought_back_for_a_while(person: Person, api: Api) -> None:
    id = await api.begin("Say hello.", title="A mistake")
    await person.open(id)
    await person.more("Delete")
    await expect(person.row("A mistake")).to_have_count(0)
    await expect(person.page).to_have_url(f"{person.url}/")
    assert (await api.client.get(f"/v1/conversations/{id}")).status_code == 404
    note = person.notes.filter(has_text="Deleted “A mistake”.")
    await note.get_by_role("button", name="Undo").click()
    await expect(note).to_have_count(0)
    await expect(person.row("A mistake")).to_be_visible()
    await person.row("A mistake").get_by_role("link").click()
    await expect(person.answers).to_contain_text("hello.")


async def test_the_way_back_is_offered_for_half_a_minute(person: Person, api: Api) -> None:
    await api.begin(title="Really gone")
    await person.page.clock.install()
    await person.open()
    await person.more("Delete", "Really gone")
    note = person.notes.filter(has_text="Really gone")
    await expect(note).to_be_visible()
    await person.page.clock.run_for(25_000)
    await expect(note.get_by_role("button", name="Undo")).to_be_visible()
    await person.page.clock.run_for(6_000)
    await expect(note).to_have_count(0)
    await expect(person.row("Really gone")).to_have_count(0)


async def test_a_title_without_a_letter_is_none(person: Person, api: Api) -> None:
    id = await api.begin(title="  ")
    await person.open(id)
    await expect(person.page.locator(f"nav a[href$='{id}']")).to_have_accessible_name("New conversation")


async def test_the_list_is_filtered_by_title(person: Person, api: Api) -> None:
    for title in ("Apples and pears", "Pears only", "Plums"):
        await api.begin(title=title)
    await person.open()
    await expect(person.row("Plums")).to_be_visible()
    await person.page.get_by_test_id("search").fill("pEARs")
    await expect(person.rows.locator("a > span")).to_have_text(["Pears only", "Apples and pears"])
    await person.page.get_by_test_id("search").press("Escape")
    await expect(person.row("Plums")).to_be_visible()


async def to_the_end(page: Page) -> None:
    """Scroll down until there is nothing more to load."""
    await page.get_by_test_id("conversations").evaluate(
        "list => new Promise((done) => { const on = () => { list.scrollTo(0, list.scrollHeight);"
        " list.querySelector('.rows[aria-busy=false]') ? done() : requestAnimationFrame(on); };"
        " on(); requestAnimationFrame(() => requestAnimationFrame(on)); })"
    )


async def test_a_long_list_is_loaded_in_parts_and_only_what_is_in_view_is_drawn(
    new_context: NewContext, api: Api, stage: Server
) -> None:
    put_aside = await api.begin(title="Put aside")
    await api.client.patch(f"/v1/conversations/{put_aside}", json={"archived": True})
    for number in range(70):
        await api.begin(title=f"One of many {number}")
    person = Person(await (await new_context()).new_page(), stage.url)
    await person.open()
    await expect(person.row("One of many 69")).to_be_visible()
    await expect(person.row("One of many 0")).to_have_count(0)
    await person.page.get_by_role("button", name="Archived", exact=True).click()
    await expect(person.row("Put aside")).to_be_visible()
    await person.page.get_by_role("button", name="Back to all").click()
    await to_the_end(person.page)
    await expect(person.row("One of many 0")).to_be_visible()
    await expect(person.row("One of many 69")).to_have_count(0)
    assert await person.rows.count() < 70
    await person.page.get_by_test_id("conversations").evaluate("list => list.scrollTo(0, 0)")
    await expect(person.row("One of many 69")).to_be_visible()
    await person.page.get_by_test_id("collapse").click()
    await expect(person.row("One of many 69")).to_be_hidden()
    await person.page.reload()
    await expect(person.field).to_be_visible()
    await expect(person.row("One of many 69")).to_be_hidden()
    await person.page.get_by_test_id("open-list").click()
    await expect(person.row("One of many 69")).to_be_visible()


async def test_keys_go_through_the_list_as_it_is_shown(person: Person, api: Api) -> None:
    ids = {title: await api.begin("Say one.", title=title) for title in ("Quince", "Quince jam", "Quince tea")}
    await api.client.patch(f"/v1/conversations/{ids['Quince']}", json={"pinned": True})
    await person.open(ids["Quince tea"])
    await person.page.get_by_test_id("search").fill("quince")
    await expect(person.rows.locator("a > span")).to_have_text(["Quince", "Quince tea", "Quince jam"])
    await person.page.keyboard.press("Alt+ArrowUp")
    await expect(person.page).to_have_url(f"{person.url}/c/{ids['Quince']}")


async def test_the_list_is_made_wider_by_the_pointer_and_by_keys_and_stays_so(person: Person) -> None:
    await person.open()
    edge = person.page.get_by_role("separator", name="Width of the list")
    usual = int(await edge.get_attribute("aria-valuenow") or 0)
    await edge.press("ArrowRight")
    await expect(edge).to_have_attribute("aria-valuenow", str(usual + 16))
    box = await edge.bounding_box()
    assert box
    await person.page.mouse.move(box["x"] + 4, 300)
    await person.page.mouse.down()
    await person.page.mouse.move(400, 300)
    await person.page.mouse.up()
    await expect(edge).to_have_attribute("aria-valuenow", "400")
    await person.page.reload()
    await expect(edge).to_have_attribute("aria-valuenow", "400")
    sidebar = await person.page.get_by_role("navigation").bounding_box()
    assert sidebar
    assert sidebar["width"] == 400


@pytest.mark.parametrize("size", [(1280, 860), (844, 390), (320, 256)])
async def test_every_entry_of_every_menu_can_be_reached(
    new_context: NewContext, api: Api, stage: Server, size: tuple[int, int]
) -> None:
    width, height = size
    ids = [await api.begin(title=f"Row {number} of {width}") for number in range(16)]
    ids.append(await api.begin(title=f"A very long title of {width} " * 18))
    person = Person(await (await new_context(viewport={"width": width, "height": height})).new_page(), stage.url)
    page = person.page
    await person.open(ids[-1])

    async def all_in_view(count: int) -> None:
        items = page.get_by_role("menuitem")
        await expect(items).to_have_count(count)
        for _ in range(count):
            await expect(page.locator("[role=menuitem]:focus")).to_be_in_viewport(ratio=0.95)
            await page.keyboard.press("ArrowDown")
        sheet = await page.get_by_role("menu").bounding_box()
        assert sheet
        assert 0 <= sheet["y"] <= height - sheet["height"]
        assert 0 <= sheet["x"] <= width - sheet["width"]
        await page.keyboard.press("Escape")
        await expect(items).to_have_count(0)

    await page.get_by_test_id("more").click()
    await find_nothing(page, "the menu", "scrollable-region-focusable")
    await all_in_view(11)
    if width < 768:
        await page.get_by_role("button", name="Open the list").click()
    for number in (0, 15):
        row = person.row(f"Row {number} of {width}")
        await row.scroll_into_view_if_needed()
        await row.hover()
        await row.get_by_role("button").click()
        await all_in_view(5)
    if width < 768:
        await page.keyboard.press("Escape")
    await person.more("Delete")
    await expect(page.get_by_test_id("suggestions")).to_be_visible()
    notes = page.get_by_role("region", name="Notes")
    note, send = await notes.bounding_box(), await page.get_by_test_id("send").bounding_box()
    assert note
    assert send
    assert note["y"] + note["height"] <= send["y"]
    await person.notes.get_by_role("button", name="Undo").click()
    await expect(person.notes).to_have_count(0)
    await expect(person.field).to_be_focused()
