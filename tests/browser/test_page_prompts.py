"""Prompts of one's own, chosen with a slash, and conversations that are not kept."""

from playwright.async_api import expect

from tests.browser.conftest import NewContext
from tests.browser.person import Api, Person
from tests.browser.server import Server
from tests.browser.waiting import until


async def test_a_prompt_of_ones_own_is_written_chosen_with_a_slash_and_there_on_another_device(
    person: Person, new_context: NewContext, stage: Server, api: Api
) -> None:
    page = person.page
    await person.open()
    await person.field.fill("/")
    await page.get_by_role("option", name="Write your own prompts …").click()
    dialog = page.get_by_test_id("prompts")
    for name, text in (("say it", "Say a prompt."), ("other", "Draw")):
        await dialog.get_by_label("Name").fill(name)
        await dialog.get_by_label("Text", exact=True).fill(text)
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_role("listitem").filter(has_text=text)).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(person.field).to_have_value("")
    await expect(person.row("threadkeep-prompts")).to_have_count(0)

    phone = Person(await (await new_context()).new_page(), stage.url)
    await phone.open()
    await phone.choose("Stage")
    await phone.field.press_sequentially("/")
    options = phone.page.get_by_test_id("prompt-choices").get_by_role("option")
    await expect(options).to_have_count(3)
    await phone.field.press_sequentially("sa")
    await expect(options).to_have_count(1)
    await phone.page.keyboard.press("Enter")
    await expect(phone.field).to_have_value("Say a prompt.")
    await expect(options).to_have_count(0)
    await phone.page.keyboard.press("Enter")
    await expect(phone.answers).to_contain_text("a prompt.")

    await phone.page.get_by_role("button", name="Prompts", exact=True).click()
    await phone.page.get_by_role("button", name="Delete other").click()
    await phone.page.get_by_role("button", name="Delete say-it").click()
    await expect(phone.page.get_by_test_id("prompts").get_by_role("listitem")).to_have_count(0)
    await phone.page.keyboard.press("Escape")
    assert (await api.read("threadkeep-prompts"))["metadata"] == {"prompts": []}


async def test_a_temporary_conversation_is_gone_when_it_is_left_and_can_be_kept(person: Person, api: Api) -> None:
    page = person.page
    for is_kept in (False, True):
        await person.open()
        await page.get_by_test_id("choose-temporary").click()
        await expect(page.get_by_test_id("temporary-note")).to_be_visible()
        await person.choose("Stage")
        await person.say("Say nothing of it.")
        id = page.url.rsplit("/", 1)[1]
        await expect(page.get_by_test_id("temporary")).to_be_visible()
        await expect(page.locator(f"nav a[href$='{id}']")).to_have_count(0)
        await page.reload()
        await expect(person.answers).to_contain_text("nothing of it.")
        if is_kept:
            await person.more("Keep this conversation")
            await expect(page.get_by_test_id("temporary")).to_have_count(0)
            await expect(page.locator(f"nav a[href$='{id}']")).to_have_count(1)
        await page.get_by_test_id("new").click()
        await expect(page.get_by_test_id("suggestions")).to_be_visible()
        if is_kept:
            assert (await api.read(id))["temporary"] is False
        else:
            await until(page, f"async () => (await fetch('/v1/conversations/{id}')).status === 404")


async def test_a_temporary_conversation_whose_tab_was_closed_goes_when_the_page_is_opened_again(
    person: Person, api: Api
) -> None:
    await person.open()
    await person.page.get_by_test_id("choose-temporary").click()
    await person.choose("Stage")
    await person.say("Say nothing of it.")
    id = person.page.url.rsplit("/", 1)[1]
    again = Person(await person.page.context.new_page(), person.url)
    await again.open()
    assert (await api.read(id))["temporary"] is True, "it is open in a tab"
    await person.page.close()
    await again.page.reload()
    await until(again.page, f"async () => (await fetch('/v1/conversations/{id}')).status === 404")
