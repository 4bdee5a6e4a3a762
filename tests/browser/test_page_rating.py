"""What somebody thinks of an answer, and what it took."""

from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import Serve
from tests.browser.person import Api, Person, calling
from tests.browser.waiting import patiently


async def test_an_answer_gets_a_thumb_and_a_comment_that_are_stored(person: Person, api: Api) -> None:
    id = await api.begin("Say one.", "Write in Markdown", metadata={"mine": 1})
    await person.open(id)
    answer = person.answers.first
    good = answer.get_by_role("button", name="Good answer")
    bad = answer.get_by_role("button", name="Bad answer")
    await person.page.set_viewport_size({"width": 900, "height": 330})
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "true")
    await expect(answer.get_by_role("button", name="Save")).to_be_in_viewport(ratio=1)
    await bad.click()
    await expect(bad).to_have_attribute("aria-pressed", "true")
    await expect(good).to_have_attribute("aria-pressed", "false")
    await find_nothing(person.page, "a comment")
    await answer.get_by_role("textbox", name="What was bad about it").fill("Too short.")
    await answer.get_by_role("button", name="Save").click()
    await expect(answer.get_by_role("button", name="Your comment")).to_be_visible()
    stored = await api.read(id)
    assert stored["messages"][1]["feedback"] == {"rating": "down", "comment": "Too short."}
    assert stored["metadata"] == {"mine": 1}

    await person.page.reload()
    await expect(bad).to_have_attribute("aria-pressed", "true")
    await bad.click()
    await expect(bad).to_have_attribute("aria-pressed", "false")

    async def is_forgotten() -> bool:
        return "feedback" not in (await api.read(id))["messages"][1]

    await patiently(is_forgotten)


@pytest.mark.usefixtures("no_worker")
async def test_two_devices_rate_without_losing_what_the_other_said(person: Person, api: Api) -> None:
    id = await api.begin("Say one.", "Say two.")
    await person.open(id)
    first, _, last = [message["seq"] for message in (await api.read(id))["messages"]][1:]

    async def be_slower(route: Route) -> None:
        others = {"rating": "down", "comment": "Not so good."}
        (await api.client.post(f"/v1/conversations/{id}/messages/{first}/feedback", json=others)).raise_for_status()
        await route.continue_()

    await person.page.route(f"**/v1/conversations/{id}/messages/{last}/feedback", be_slower)
    good = person.answers.last.get_by_role("button", name="Good answer")
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "true")
    bad = person.answers.first.get_by_role("button", name="Bad answer")
    await expect(bad).to_have_attribute("aria-pressed", "true")
    feedback = {message["seq"]: message.get("feedback") for message in (await api.read(id))["messages"]}
    assert feedback[first] == {"rating": "down", "comment": "Not so good."}
    assert feedback[last] == {"rating": "up", "comment": None}


async def test_the_tokens_of_a_turn_and_of_a_conversation_are_shown(person: Person, api: Api) -> None:
    id = await api.begin("Draw a card.", "Say one.")
    await person.open(id)
    messages = (await api.read(id))["messages"]
    used = [message["usage"] for message in messages if message["usage"]]
    assert len(used) == 3
    details = person.answers.first.locator(".tk-usage")
    await details.locator("summary").click()
    for name, sum_of_turn in (("Read", "input_tokens"), ("Written", "output_tokens")):
        row = details.locator("dl > div").filter(has=person.page.get_by_text(name, exact=True))
        await expect(row.locator("dd")).to_contain_text(f"{sum(one[sum_of_turn] for one in used[:2]):,}")
    await person.more("Settings")
    read, written = (sum(one[name] for one in used) for name in ("input_tokens", "output_tokens"))
    spent = person.page.get_by_test_id("spent")
    await expect(spent).to_contain_text(f"Tokens of this branch: {read:,} read, {written:,} written.")


async def test_where_prices_are_set_answers_and_conversations_tell_what_they_cost(
    page: Page, serve: Serve, tmp_path: Path
) -> None:
    settings = tmp_path / "prices.toml"
    settings.write_text('[prices."demo"]\ninput = 100000\noutput = 200000\ncurrency = "EUR"\n')
    server = serve("--config", str(settings))
    async with calling(server.url) as api:
        id = await api.begin("Hello!", assistant="chat")
        usage = (await api.client.get(f"/v1/conversations/{id}")).json()["messages"][-1]["usage"]
    cost = f"€{usage['input_tokens'] / 10 + usage['output_tokens'] / 5:.2f}"
    person = Person(page, server.url)
    await page.goto(f"{server.url}/c/{id}")
    await person.answers.locator(".tk-usage summary").click()
    await expect(person.answers.locator(".tk-usage dl")).to_contain_text(f"Cost{cost}")
    await find_nothing(page, "what an answer cost")
    await page.get_by_test_id("model").click()
    await expect(page.get_by_test_id("spent")).to_contain_text(f"Cost: {cost}.")
