"""A tool call that waits for a person: allowed, refused with a reason, or found waiting the next day."""

from playwright.async_api import expect

from tests.browser.person import Api, Person


async def test_a_call_that_is_allowed_runs(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.write("remove a.txt")
    asked = person.page.get_by_role("group", name="Allow remove_file?")
    await expect(asked).to_be_visible()
    card = person.answers.locator(".tk-tool")
    await expect(card.locator("summary")).to_contain_text("waits for you")
    await expect(card.locator("dd")).to_have_text("a.txt")
    await expect(person.page.get_by_test_id("announced")).to_have_text("A tool call waits for your approval.")
    await asked.get_by_role("button", name="Allow").click()
    await person.is_answered()
    await expect(person.answers).to_contain_text("Done: a.txt is gone.")
    await expect(card).to_have_attribute("data-state", "done")


async def test_a_call_that_is_refused_does_not_run_and_the_reason_is_told(person: Person, api: Api) -> None:
    id = await api.begin()
    await person.open(id)
    await person.write("remove b.txt")
    asked = person.page.get_by_test_id("approval")
    await asked.get_by_role("button", name="Reason").click()
    await asked.get_by_role("textbox", name="Reason").fill("I still need it.")
    await asked.get_by_role("button", name="Refuse").click()
    await person.is_answered()
    card = person.answers.locator(".tk-tool")
    await expect(card).to_have_attribute("data-state", "refused")
    await card.locator("summary").click()
    await expect(card).to_contain_text("I still need it.")
    assert "b.txt is gone" not in str((await api.read(id))["messages"])


async def test_a_call_still_waits_after_a_reload_and_is_decided_in_one_place_for_all(person: Person, api: Api) -> None:
    id = await api.begin()
    await person.open(id)
    await person.write("remove c.txt")
    await expect(person.page.get_by_test_id("approval")).to_be_visible()
    await person.page.reload()
    asked = person.page.get_by_test_id("approval")
    await expect(asked).to_be_visible()
    call = (await api.read(id))["messages"][-1]["tool_calls"][0]["id"]
    decided = await api.client.post(f"/v1/conversations/{id}/approve", json={"tool_call_id": call, "approved": True})
    decided.raise_for_status()
    await expect(asked).to_have_count(0)
    await expect(person.answers).to_contain_text("Done: c.txt is gone.")


async def test_only_the_call_that_needs_a_person_is_offered_also_after_a_reload(person: Person, api: Api) -> None:
    id = await api.begin()
    await person.open(id)
    await person.write("draw and remove f.txt")
    cards, asked = person.answers.locator(".tk-tool"), person.page.get_by_test_id("approval")
    for _ in range(2):
        await expect(asked).to_have_count(1)
        await expect(cards.nth(1).get_by_test_id("approval")).to_be_visible()
        await expect(cards.nth(0).locator("summary")).to_contain_text("waits for the others")
        await person.page.reload()
    (turn,) = (await api.read(id))["turns"]
    assert turn["calls"] == [(await api.read(id))["messages"][-1]["tool_calls"][1]["id"]]
    await asked.get_by_role("button", name="Allow").click()
    await person.is_answered()
    await expect(cards.nth(0)).to_have_attribute("data-state", "done")
    await expect(cards.nth(1)).to_have_attribute("data-state", "done")


async def test_a_call_is_decided_with_the_keyboard(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.write("remove d.txt")
    allow = person.page.get_by_test_id("approval").get_by_role("button", name="Allow")
    await allow.focus()
    await person.page.keyboard.press("Shift+Tab")
    await expect(person.page.get_by_role("button", name="Refuse")).to_be_focused()
    await person.page.keyboard.press("Tab")
    await person.page.keyboard.press("Enter")
    await expect(person.answers).to_contain_text("Done: d.txt is gone.")


async def test_a_waiting_call_is_stopped_with_its_turn(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.write("remove e.txt")
    await expect(person.page.get_by_test_id("approval")).to_be_visible()
    await person.page.get_by_test_id("stop").click()
    await person.is_answered()
    await expect(person.page.get_by_test_id("approval")).to_have_count(0)
