"""Stopping, answering again, editing, walking between versions, and the tree of branches."""

import re

from playwright.async_api import expect

from tests.browser.person import Api, Person
from tests.browser.server import Server

PACE, WORKERS = 0.02, 2


async def test_an_answer_is_stopped_and_what_was_written_is_kept(person: Person, api: Api) -> None:
    id = await api.begin()
    await person.open(id)
    await person.write("Tell a long story")
    text = person.page.get_by_test_id("answer-text")
    await expect(text).to_contain_text("word5")
    await person.page.get_by_test_id("stop").click()
    await person.is_answered()
    await expect(person.page.get_by_test_id("stopped")).to_be_visible()
    stored = (await api.read(id))["messages"][-1]
    assert stored["status"] == "interrupted"
    await expect(text).to_have_text(stored["content"])
    await person.say("Say thanks.")
    await expect(person.answers.last).to_contain_text("thanks.")


async def test_a_tool_that_runs_is_stopped_too(person: Person, api: Api, stage: Server) -> None:
    await person.open(await api.begin())
    await person.write("hold never")
    await expect(person.answers.locator(".tk-tool")).to_have_attribute("data-state", "running")
    await person.page.get_by_test_id("stop").click()
    await person.is_answered()
    await expect(person.answers.locator(".tk-tool")).not_to_have_attribute("data-state", "running")


async def test_an_answer_is_made_again_beside_the_old_one(person: Person, api: Api) -> None:
    await person.open(await api.begin("draw"))
    first = await person.answers.get_by_test_id("answer-text").inner_text()
    for place in (2, 3):
        await person.answers.get_by_role("button", name="Regenerate: makes a branch").click()
        await expect(person.answers.get_by_test_id("siblings")).to_have_text(f"{place}/{place}")
        await person.is_answered()
    texts = person.answers.get_by_test_id("answer-text")
    third = await texts.inner_text()
    back = person.page.get_by_role("button", name="Previous version")
    await back.click()
    await expect(person.answers.get_by_test_id("siblings")).to_have_text("2/3")
    await expect(texts).not_to_have_text(third)
    await back.click()
    await expect(texts).to_have_text(first)
    await expect(back).to_be_disabled()
    await expect(person.said).to_have_text(["draw"])
    for place in (2, 3):
        await person.page.get_by_role("button", name="Next version").click()
        await expect(person.answers.get_by_test_id("siblings")).to_have_text(f"{place}/3")
    await expect(texts).to_have_text(third)


async def test_an_edited_message_is_a_branch_and_the_old_one_stays(person: Person, api: Api) -> None:
    id = await api.begin("Say one.", "Say two.")
    await person.open(id)
    await person.said.first.hover()
    await person.said.first.get_by_role("button", name="Edit this message: makes a branch").click()
    field = person.page.get_by_role("textbox", name="Edit your message")
    await expect(field).to_have_value("Say one.")
    await field.fill("Say three.")
    await field.press("Enter")
    await expect(person.answers).to_have_count(1)
    await expect(person.answers).to_contain_text("three.")
    await person.is_answered()
    await expect(person.said).to_have_text([re.compile(r"Say three\.")])
    await expect(person.said.get_by_test_id("siblings")).to_have_text("2/2")
    await person.page.get_by_role("button", name="Previous version").click()
    await expect(person.answers).to_have_count(2)
    await expect(person.answers.last).to_contain_text("two.")
    assert (await api.read(id))["messages"][0]["content"] == "Say three."


async def test_an_edit_can_be_called_off(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say one."))
    await person.said.hover()
    await person.said.get_by_role("button", name="Edit this message: makes a branch").click()
    await person.page.get_by_role("textbox", name="Edit your message").fill("Say nothing.")
    await person.page.get_by_role("button", name="Cancel").click()
    await expect(person.said).to_have_text(["Say one."])
    await expect(person.page.get_by_test_id("siblings")).to_have_count(0)


async def test_looking_at_a_branch_changes_nothing_and_writing_continues_it(person: Person, api: Api) -> None:
    id = await api.begin("Say one.")
    await api.say(id, "Say other.", parent=None)
    head = (await api.read(id))["head"]
    await person.open(id)
    await person.page.get_by_role("button", name="Previous version").click()
    elsewhere = person.page.get_by_test_id("elsewhere")
    await expect(elsewhere).to_contain_text("You are looking at another branch.")
    assert (await api.read(id))["head"] == head
    await person.say("Say more.")
    await expect(person.said).to_have_text([re.compile(r"Say one\."), "Say more."])
    await expect(elsewhere).to_have_count(0)
    assert (await api.read(id))["head"] > head


async def test_another_branch_is_made_the_current_one(person: Person, api: Api) -> None:
    id = await api.begin("Say one.")
    first = (await api.read(id))["head"]
    await api.say(id, "Say other.", parent=None)
    await person.open(id)
    await person.page.get_by_role("button", name="Previous version").click()
    await person.page.get_by_role("button", name="Make this the current one").click()
    await expect(person.page.get_by_test_id("elsewhere")).to_have_count(0)
    assert (await api.read(id))["head"] == first


async def test_the_tree_shows_every_branch_and_opens_one(person: Person, api: Api) -> None:
    id = await api.begin("Say one.", "Say two.")
    await api.say(id, "Say other.", parent=None)
    await person.open(id)
    await person.page.get_by_test_id("branches").click()
    tree = person.page.get_by_test_id("tree")
    leaves = tree.get_by_role("navigation", name="Branches").get_by_role("button")
    await expect(leaves).to_have_count(2)
    await expect(tree.locator("[aria-current=true]")).to_contain_text("other.")
    await leaves.filter(has_text="two.").click()
    await expect(tree).to_have_count(0)
    await expect(person.answers.last).to_contain_text("two.")
    await person.page.get_by_role("button", name="Show the newest").click()
    await expect(person.answers.last).to_contain_text("other.")


async def test_pressing_next_version_twice_fast_goes_two_versions_on(person: Person, api: Api) -> None:
    id = await api.begin("Say one.")
    for word in ("two", "three"):
        await api.say(id, f"Say {word}.", parent=None)
    await person.open(id)
    before = person.page.get_by_role("button", name="Previous version")
    await before.evaluate("(button) => { button.click(); setTimeout(() => button.click()); }")
    await expect(person.said).to_have_text([re.compile(r"Say one\.")])
    await expect(person.page.get_by_test_id("siblings")).to_have_text("1/3")
