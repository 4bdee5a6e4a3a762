"""Full-text search: snippets with the words marked, and hits that open the right branch at the right message."""

import re

from playwright.async_api import expect

from tests.browser.person import Api, Person

FILLING = tuple(f"Say filling number {number}." for number in range(40))
IS_SEEN = """(message) => {
    const [box, log] = [message, message.closest("[role=log]")].map((one) => one.getBoundingClientRect());
    return box.bottom > log.top && box.top < log.bottom;
}"""


async def test_hits_show_the_words_that_were_found(person: Person, api: Api) -> None:
    await api.begin("Say that the heron stood in the reeds 🦆 at dawn.", title="Birds")
    await api.begin("Say nothing of interest.", title="Nothing")
    await person.open()
    await person.page.get_by_test_id("search").fill("heron dawn")
    hits = person.page.get_by_test_id("hit")
    await expect(hits).to_have_count(2)
    await expect(hits.first.locator("strong")).to_have_text("Birds")
    assert {"heron", "dawn"} == set(await hits.first.locator("mark").all_inner_texts())
    await expect(hits.first.get_by_role("link")).to_have_attribute("title", re.compile("^Birds\n.*heron"))


async def test_a_hit_far_up_opens_there_and_is_marked(person: Person, api: Api) -> None:
    await api.begin("Say wolverine.", *FILLING, title="Long")
    await person.open()
    await person.page.get_by_test_id("search").fill("wolverine")
    await person.page.get_by_test_id("hit").filter(has_text="Say").click()
    message = person.said.filter(has_text="Say wolverine.")
    await expect(message).to_be_focused()
    assert await message.evaluate(IS_SEEN)
    await expect(person.page.get_by_test_id("elsewhere")).to_have_count(0)


async def test_a_hit_on_another_branch_opens_that_branch_and_moves_nothing(person: Person, api: Api) -> None:
    id = await api.begin("Say begin.", "Say pangolin.", *FILLING[:3], title="Two ways")
    entry = (await api.read(id))["messages"][2]
    await api.say(id, "Say otherwise.", parent=entry["parent"])
    head = (await api.read(id))["head"]
    await person.open(id)
    await expect(person.said).to_have_count(2)
    await person.page.get_by_test_id("search").fill("pangolin")
    await person.page.get_by_test_id("hit").filter(has_text="Say").click()
    message = person.said.filter(has_text="Say pangolin.")
    await expect(message).to_be_focused()
    assert await message.evaluate(IS_SEEN)
    await expect(person.said).to_have_count(5)
    await expect(person.page.get_by_test_id("elsewhere")).to_contain_text("You are looking at another branch.")
    assert (await api.read(id))["head"] == head
    await person.page.reload()
    await expect(message).to_be_visible()


async def test_nothing_found_is_said_and_the_list_comes_back(person: Person, api: Api) -> None:
    await api.begin(title="Still here")
    await person.open()
    await person.page.get_by_test_id("search").fill("xylophonist")
    await expect(person.page.get_by_test_id("hits")).to_contain_text("Nothing was found.")
    await person.page.get_by_test_id("search").press("Escape")
    await expect(person.row("Still here")).to_be_visible()


async def test_searching_by_keyboard_leaves_the_page_where_it_is(person: Person) -> None:
    await person.open()
    before = await person.field.bounding_box()
    await person.page.keyboard.press("Control+k")
    await expect(person.page.get_by_test_id("search")).to_be_focused()
    assert await person.field.bounding_box() == before


async def test_on_a_phone_the_list_slides_in_and_the_field_takes_the_keyboard(person: Person) -> None:
    await person.page.set_viewport_size({"width": 390, "height": 844})
    await person.open()
    await person.page.keyboard.press("Control+k")
    await expect(person.page.get_by_test_id("search")).to_be_focused()
