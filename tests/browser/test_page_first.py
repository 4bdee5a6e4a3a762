"""The first screen: write at once, choose who answers, see which model that is, and try to break everything."""

import re

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.conftest import Serve
from tests.browser.person import Api, Person


async def test_a_person_starts_talking_at_once(person: Person) -> None:
    await person.open()
    await expect(person.field).to_be_focused()
    await person.page.keyboard.type("My name is Alice.")
    await person.page.keyboard.press("Enter")
    await expect(person.said).to_have_text(["My name is Alice."])
    await expect(person.answers).to_contain_text("Nice to meet you, Alice!")
    await expect(person.page).to_have_url(re.compile("/c/[^/]+$"))
    await expect(person.page).to_have_title(re.compile("Alice.* · Threadkeep$"))
    await expect(person.rows.filter(has_text="Alice")).to_have_attribute("data-open", "true")


async def test_the_chosen_assistant_says_what_it_is_and_suggests_four_things_at_most(person: Person, api: Api) -> None:
    await api.begin("Say hello.", title="The last one")
    offered = (await api.client.get("/v1/assistants")).json()["data"]
    await person.open()
    suggestions = person.page.get_by_test_id("suggestions")
    for assistant in offered:
        await person.page.get_by_test_id("choose-assistant").select_option(assistant["name"])
        await expect(suggestions).to_contain_text(assistant["description"])
        await expect(suggestions.get_by_test_id("example")).to_have_text(assistant["examples"][:4])
    recent = person.page.get_by_test_id("recent").get_by_role("link")
    await expect(recent.first).to_contain_text("The last one")
    assert await recent.count() <= 5
    await recent.first.click()
    await expect(person.answers).to_contain_text("hello.")


async def test_an_example_is_put_into_the_field_and_sent_by_the_person(person: Person, api: Api) -> None:
    await person.open()
    await person.choose("Market")
    await person.field.fill("mine")
    await person.page.get_by_test_id("example").filter(has_text="Which banks have the highest margins?").click()
    await expect(person.field).to_have_value("Which banks have the highest margins?")
    await expect(person.field).to_be_focused()
    await person.page.keyboard.press("Control+z")
    await expect(person.field).to_have_value("mine")
    await person.page.get_by_test_id("example").filter(has_text="Which banks have the highest margins?").click()
    await expect(person.page).to_have_url(f"{person.url}/")
    await person.page.keyboard.press("Enter")
    await expect(person.said).to_have_text(["Which banks have the highest margins?"])
    await expect(person.answers.get_by_role("table").first).to_be_visible()
    await person.is_answered()
    assert (await api.read(person.page.url.rsplit("/", 1)[1]))["assistant"] == "market"


async def test_the_chosen_assistant_answers(person: Person, api: Api) -> None:
    id = await person.begin("Say something nice.", "Stage")
    await expect(person.answers).to_contain_text("something nice.")
    assert (await api.read(id))["assistant"] == "stage"


async def test_the_scripted_model_is_named_as_such_everywhere(person: Person) -> None:
    await person.open()
    await expect(person.page.get_by_test_id("answers")).to_have_text(re.compile("Answers are scripted"))
    await expect(person.page.get_by_test_id("choose-model").locator("option:checked")).to_have_text("demo · scripted")
    await person.choose("Stage")
    await person.say("Say hello.")
    await expect(person.page.get_by_test_id("model")).to_have_text("demo · scripted")
    await expect(person.answers.locator("footer")).to_contain_text("demo · scripted")


@pytest.mark.usefixtures("no_worker")
async def test_the_page_says_what_to_install_for_the_model_whose_key_is_set(person: Person) -> None:
    missing = "OPENAI_API_KEY is set, but its package is missing (pip install 'threadkeep[openai]')"

    async def tell(route: Route) -> None:
        answer = await route.fetch()
        models = await answer.json()
        await route.fulfill(response=answer, json={**models, "default": {**models["default"], "missing": missing}})

    await person.page.route("**/v1/models", tell)
    await person.open()
    await expect(person.page.get_by_test_id("answers")).to_contain_text(f"Answers are scripted: {missing}")


async def test_a_conversation_that_is_not_there_is_said_to_be_gone(person: Person) -> None:
    await person.page.goto(f"{person.url}/c/nothing-of-that-name")
    await expect(person.page.get_by_role("heading", name="There is no such conversation.")).to_be_visible()
    await person.page.get_by_test_id("new").click()
    await expect(person.page.get_by_role("heading", name="What would you like to talk about?")).to_be_visible()


async def test_the_card_that_invites_to_break_it_goes_through_reload_kill_and_resume(page: Page, serve: Serve) -> None:
    person = Person(page, serve("--killable", pace=0.05).url)
    await person.open()
    await page.get_by_test_id("trial-card").get_by_role("button").click()
    steps = page.get_by_test_id("trial").get_by_role("listitem")
    await expect(steps).to_have_count(4)
    text = page.get_by_test_id("answer-text")
    await expect(text).to_contain_text("scripted")
    await page.get_by_role("button", name="Reload now").click()
    await expect(steps.nth(0)).to_have_attribute("data-done", "true")
    await expect(steps.nth(2)).to_have_attribute("data-done", "false")
    await expect(text).to_contain_text("scripted")
    await page.get_by_role("button", name="Stop the server now").click()
    await expect(page.get_by_test_id("status")).to_contain_text("reconnecting in")
    await expect(steps.nth(1)).to_have_attribute("data-done", "true")
    await person.write("My name is Alice.")
    await expect(page.get_by_test_id("pending")).to_contain_text("Waiting in this browser.")
    await expect(person.answers.last).to_contain_text("Nice to meet you, Alice!")
    await person.is_answered()
    await expect(steps.nth(2)).to_have_attribute("data-done", "true")
    await expect(steps.nth(3)).to_have_attribute("data-done", "false")
    await page.get_by_role("button", name="Compare").click()
    await expect(page.get_by_test_id("trial")).to_contain_text("The same:")
    await expect(steps.and_(page.locator("[data-done=true]"))).to_have_count(4)
    await page.get_by_role("button", name="Stop trying").click()
    await expect(page.get_by_test_id("trial")).to_have_count(0)


async def test_a_new_try_does_not_show_the_result_of_the_last_one(person: Person) -> None:
    await person.open()
    trial = person.page.get_by_test_id("trial")
    for _ in range(2):
        await person.page.get_by_test_id("trial-card").get_by_role("button").click()
        await expect(trial).to_be_visible()
        await expect(trial).not_to_contain_text("The same:")
        await person.is_answered()
        await person.page.get_by_role("button", name="Compare").click()
        await expect(trial).to_contain_text("The same:")
        await person.page.get_by_test_id("new").click()
