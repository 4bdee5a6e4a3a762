"""A guided conversation: where it stands is shown as steps, live, again after a reload, and on another device."""

from zipfile import ZipFile

from playwright.async_api import expect

from tests.browser.person import Api, Person

WISH = "I want a skill that turns meeting notes into action items"
WIDER = """(steps) => steps.filter((step) => {
    const name = step.querySelector(".tk-step-name");
    const isCut = getComputedStyle(name).overflow === "hidden";
    return !isCut && name.getBoundingClientRect().width > step.getBoundingClientRect().width;
}).map((step) => step.innerText)"""


async def test_the_state_is_shown_as_steps_that_go_on_with_the_conversation(person: Person, api: Api) -> None:
    id = await person.begin("Hello there", "Skill creator")
    steps = person.page.get_by_role("navigation", name="Progress")
    now = steps.locator("[aria-current=step]")
    await expect(now).to_contain_text("Gathering purpose")
    await expect(steps).to_contain_text("step 1 of 7")
    await person.say(WISH)
    await expect(now).to_contain_text("Gathering details")
    await expect(steps.get_by_role("listitem").first).to_contain_text("done")
    await person.page.reload()
    await expect(now).to_contain_text("Gathering details")
    await api.say(id, "you decide everything")
    await api.say(id, "yes")
    await expect(now).to_contain_text("Selecting storage")
    await expect(person.answers).to_have_count(4)
    await person.say("yes")
    await expect(steps).to_contain_text("step 7 of 7")
    await expect(steps.locator("[data-is=done]")).to_have_count(7)
    assert (await api.read(id))["state"]["state"] == "completed"
    async with person.page.expect_download() as waiting:
        await person.answers.last.get_by_role("link", name=".zip").click()
    with ZipFile(await (await waiting.value).path()) as archive:
        assert archive.namelist() == ["turn-meeting-notes/SKILL.md"]
    for width in (390, 768, 844, 1024, 1280, 1920):
        await person.page.set_viewport_size({"width": width, "height": 700})
        assert await steps.get_by_role("listitem").evaluate_all(WIDER) == [], width


async def test_other_conversations_have_no_steps(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say hello."))
    await expect(person.answers).to_contain_text("hello.")
    await expect(person.page.get_by_role("navigation", name="Progress")).to_have_count(0)
