"""The settings of a conversation: chosen before it begins, looked at and changed while it goes on."""

import json

from playwright.async_api import Page, expect

from tests.browser.conftest import Serve
from tests.browser.person import Api, Person
from threadkeep.testing.openai_server import Played, openai_server


async def test_a_conversation_begins_with_what_was_chosen_on_the_first_screen(person: Person, api: Api) -> None:
    page = person.page
    await person.open()
    await page.get_by_test_id("open-settings").click()
    sheet = page.get_by_test_id("settings")
    await sheet.get_by_role("combobox", name="Assistant").select_option(label="Forgetful")
    await expect(sheet).to_contain_text("The model sees the newest 2 messages")
    await sheet.get_by_role("combobox", name="Assistant").select_option(label="Stage")
    await sheet.get_by_label("Instructions").fill("Answer in rhymes.")
    await expect(sheet.get_by_role("heading", name="anthropic")).to_be_visible()
    await sheet.get_by_role("searchbox", name="Search models").fill("ONE")
    await expect(sheet.get_by_role("radio")).to_have_count(1)
    await sheet.get_by_role("radio", name="gpt-one").check()
    await sheet.get_by_label("Temperature").fill("0.3")
    await sheet.get_by_role("button", name="Save").click()
    await expect(page.get_by_test_id("choose-model")).to_have_value("openai:gpt-one")
    await expect(page.get_by_test_id("answers")).to_contain_text("with instructions")
    await page.get_by_test_id("open-settings").click()
    await expect(sheet.get_by_label("Temperature")).to_have_value("0.3")
    await sheet.get_by_role("radio", name="demo scripted").check()
    await expect(sheet.get_by_label("Temperature")).to_have_count(0)
    await sheet.get_by_role("button", name="Save").click()
    await person.say("Say hello.")
    stored = await api.read(page.url.rsplit("/", 1)[1])
    assert (stored["assistant"], stored["model"], stored["system"]) == ("stage", "demo", "Answer in rhymes.")
    assert stored["metadata"] == {"model_options": {"temperature": 0.3}}


async def test_the_settings_of_a_conversation_are_changed_and_nothing_else(person: Person, api: Api) -> None:
    page = person.page
    id = await api.begin("Say hello.", system="Be brief.", metadata={"mine": 1})
    await person.open(id)
    await person.more("Settings")
    sheet = page.get_by_test_id("settings")
    await expect(sheet.get_by_test_id("instructions")).to_have_text("Be brief.")
    await expect(sheet.get_by_role("textbox")).to_have_count(0)
    await sheet.get_by_role("combobox", name="Assistant").select_option(label="Forgetful")
    await sheet.get_by_role("button", name="Save").click()
    await expect(page.get_by_test_id("assistant")).to_have_text("Forgetful")
    stored = await api.read(id)
    assert (stored["assistant"], stored["model"], stored["metadata"]) == ("forgetful", None, {"mine": 1})
    await page.get_by_test_id("model").click()
    await sheet.get_by_role("radio", name="gpt-two").check()
    await sheet.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_test_id("model")).to_have_text("demo · scripted")
    await page.get_by_test_id("model").click()
    await sheet.get_by_role("radio", name="claude-six").check()
    await sheet.get_by_role("button", name="Save").click()
    await expect(person.notes).to_contain_text("anthropic")
    await expect(page.get_by_test_id("model")).to_have_text("demo · scripted")


async def test_the_models_are_those_that_the_provider_lists(page: Page, serve: Serve) -> None:
    names = [f"gpt-{number}" for number in range(10)]
    body = json.dumps({"data": [{"id": name} for name in [*names, "text-embedding"]]}).encode()
    async with openai_server(Played((body,), headers={"Content-Type": "application/json"}, chunked=False)) as provider:
        variables = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": provider.url}
        person = Person(page, serve(variables=variables).url)
        await person.open()
        await page.get_by_test_id("open-settings").click()
        sheet = page.get_by_test_id("settings")
        await expect(sheet.get_by_role("heading", name="openai")).to_be_visible()
        await sheet.get_by_role("searchbox", name="Search models").fill("-7")
        await expect(sheet.get_by_role("radio")).to_have_count(1)
        await expect(sheet.get_by_role("radio", name="gpt-7")).to_be_visible()
    assert provider.paths == ["/v1/models"]
