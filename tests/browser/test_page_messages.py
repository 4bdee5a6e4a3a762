"""What an answer is made of on the page: prose, code, tool calls, blocks, what was looked for, and what it cost."""

import re

import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.axe import find_nothing
from tests.browser.person import AT_ONCE, Api, Person
from tests.browser.server import Server
from tests.browser.stage import ROWS

# What an answer consists of, from the top.
PARTS = """(answer) => [...answer.querySelectorAll(".tk-tool, .tk-block, [data-testid=answer-text]")].map((one) =>
    one.dataset.type ?? (one.matches(".tk-tool") ? "tool" : "text"))"""


async def test_markdown_is_drawn_as_prose(person: Person, api: Api) -> None:
    await person.open(await api.begin("Write in Markdown"))
    text = person.answers.get_by_test_id("answer-text")
    await expect(text.get_by_role("heading", name="A heading")).to_be_visible()
    await expect(text.locator("strong")).to_have_text("bold")
    await expect(text.get_by_role("link", name="a link")).to_have_attribute("href", "https://example.org/there")
    await expect(text.locator("ol li")).to_have_text(["first", "second"])
    await expect(text.get_by_role("row")).to_have_text([re.compile(word) for word in ("city", "Oslo", "Bern")])


SIDES = """([side, ...names]) => names.map((name) => document.querySelector(name).getBoundingClientRect()[side])"""


@pytest.mark.parametrize("width", [1440, 1010, 1000, 820])
async def test_title_thread_and_field_stand_on_one_axis(person: Person, api: Api, width: int) -> None:
    await person.page.set_viewport_size({"width": width, "height": 500})
    await person.open(await api.begin("Write in Markdown"))
    for sides in (["left", ".title", ".answer", ".composer"], ["right", ".bubble", ".composer"]):
        assert len(set(await person.page.evaluate(SIDES, sides))) == 1


async def test_code_is_coloured_and_copied(person: Person, api: Api, context: BrowserContext) -> None:
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    await person.open(await api.begin("Write in Markdown"))
    code = person.answers.locator("figure")
    await expect(code.locator(".hljs-keyword").first).to_have_text("def")
    await code.get_by_role("button", name="Copy").click()
    await expect(code.get_by_role("button", name="Copied")).to_be_visible()
    assert await person.copied() == 'def greet(name: str) -> str:\n    return f"Hello {name}"'


async def test_a_tool_call_is_open_while_it_runs_and_folded_when_it_is_done(
    person: Person, api: Api, stage: Server
) -> None:
    await person.open(await api.begin())
    await person.write("hold gate1")
    card = person.answers.locator(".tk-tool")
    await expect(card).to_have_attribute("data-state", "running")
    await expect(card).to_have_attribute("open", "")
    await expect(card.locator("dd")).to_have_text("gate1")
    (stage.folder / "gate1").touch()
    await person.is_answered()
    await expect(card).to_have_attribute("data-state", "done")
    await expect(card).not_to_have_attribute("open", "")
    await expect(card.locator("summary")).to_have_text(re.compile(r"hold\s*gate1\s*[\d.]+ (?:ms|s)"))
    await card.locator("summary").click()
    await expect(card).to_contain_text("gate1 is there")
    await expect(person.answers).to_contain_text("Well: gate1 is there.")


async def test_a_tool_call_that_failed_shows_its_error(person: Person, api: Api) -> None:
    await person.open(await api.begin("break the lamp"))
    card = person.answers.locator(".tk-tool")
    await expect(card).to_have_attribute("data-state", "failed")
    await expect(card.locator("summary")).to_contain_text("failed")
    await card.locator("summary").click()
    await expect(card.locator(".tk-error")).to_contain_text("the lamp is broken")


async def test_tool_cards_and_blocks_are_there_again_after_a_reload(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.say("Show all blocks")
    assert await person.answers.evaluate(PARTS) == [
        "tool",
        *("narrative", "ranked_list", "split_compare", "table", "chart"),
        *("text", "citation"),
    ]
    before = await person.answers.inner_text()
    await person.page.reload()
    await expect(person.answers).to_have_text(before, use_inner_text=True)
    assert (await person.answers.evaluate(PARTS))[-2:] == ["text", "citation"]


async def test_what_tools_show_stands_above_the_text_while_it_grows(person: Person, api: Api, stage: Server) -> None:
    await person.open(await api.begin())
    await person.write("Show all blocks and keep gate3")
    await expect(person.answers.locator("[data-type=chart] svg").first).to_be_visible()
    await expect(person.answers.locator(".tk-tool").last).to_have_attribute("data-state", "running")
    shown = ["narrative", "ranked_list", "split_compare", "table", "chart"]
    assert await person.answers.evaluate(PARTS) == ["tool", *shown, "tool"]
    await expect(person.answers.locator(".tk-tool").last).to_be_in_viewport()
    (stage.folder / "gate3").touch()
    await person.is_answered()
    assert await person.answers.evaluate(PARTS) == ["tool", *shown, "tool", "text", "citation"]


async def test_a_ranked_list_of_the_market_can_be_sorted(person: Person, api: Api) -> None:
    await person.open(await api.begin("What stocks benefit from rate cuts?", assistant="market"))
    table = person.answers.locator("[data-type=ranked_list]").get_by_role("table").first
    ranks = table.locator("tbody td:first-child")
    given = await ranks.all_inner_texts()
    assert given == [str(place + 1) for place in range(len(given))]
    ticker = table.get_by_role("button", name="Ticker")
    await ticker.click()
    tickers = table.locator("tbody td:nth-child(2)")
    rising = await tickers.all_inner_texts()
    assert rising == sorted(rising)
    await expect(table.get_by_role("columnheader", name="Ticker")).to_have_attribute("aria-sort", "ascending")
    await ticker.click()
    await expect(tickers).to_have_text(rising[::-1])
    await table.get_by_role("button", name="Rank").click()
    await expect(ranks).to_have_text(given)


async def test_a_comparison_of_the_market_stands_side_by_side(person: Person, api: Api) -> None:
    await person.open(await api.begin("Compare AAPL and MSFT", assistant="market"))
    compared = person.answers.locator("[data-type=split_compare]").first
    heads = compared.get_by_role("columnheader")
    await expect(heads).to_have_text([re.compile("AAPL"), re.compile("MSFT")])
    left, right = [await head.bounding_box() for head in await heads.all()]
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"] + 1


async def test_a_chart_is_a_drawing_with_its_numbers_in_a_table(person: Person, api: Api) -> None:
    await person.open(await api.begin("How did the revenue of NVDA develop?", assistant="market"))
    chart = person.answers.locator("[data-type=chart]").first
    drawing = chart.get_by_role("img")
    await expect(drawing).to_have_attribute("aria-label", re.compile("line chart .*values from"))
    assert await drawing.evaluate("drawing => drawing.localName") == "svg"
    assert await drawing.locator("path, polyline, rect, circle").count() > 0
    await chart.get_by_text("Numbers").click()
    rows = chart.get_by_role("table").get_by_role("row")
    assert await rows.count() > 2


async def test_the_shop_cites_and_tells_what_it_looked_for(person: Person, api: Api) -> None:
    asked = ("Which phones are under $500?", "Tell me more about the Samsung one")
    await person.open(await api.begin(*asked, assistant="shop"))
    answer = person.answers.last
    await expect(answer.get_by_role("group", name="Source").get_by_role("listitem")).not_to_have_count(0)
    query = answer.locator(".tk-query")
    await expect(query.locator("dl")).to_be_hidden()
    await query.locator("summary").click()
    await expect(query).to_contain_text("Tell me more about the Samsung one")
    await expect(query).to_contain_text(re.compile(r"Samsung Pixelia \w+"))


async def test_usage_tells_of_tokens_and_how_full_the_context_is(person: Person, api: Api) -> None:
    await person.open(await api.begin("Say hello."))
    usage = person.answers.locator(".tk-usage")
    await expect(usage.locator("summary")).to_have_text("Details")
    await expect(usage.locator("dl")).to_be_hidden()
    await usage.locator("summary").click()
    for name in ("Model", "Read", "Written", "Cost", "Context"):
        await expect(usage.get_by_text(name, exact=True)).to_be_visible()


async def test_what_was_recalled_tells_why_and_can_be_left_out_of_the_next_answer(person: Person, api: Api) -> None:
    said = ("My budget code is CC-1001.", "Say one.", "Say two.", "Which budget code is mine?")
    id = await api.begin(*said, assistant="forgetful")
    await person.open(id)
    recalled = person.answers.nth(3).get_by_test_id("recalled")
    await recalled.locator("summary").click()
    first = recalled.get_by_role("listitem").filter(has_text="CC-1001").first
    await expect(first).to_contain_text(re.compile("contains the words .*budget"))
    await first.get_by_role("button", name="Leave out of the next answer").click()
    await find_nothing(person.page, "what was recalled")
    await person.say("Which budget code is mine?")
    told = (await api.read(id))["messages"][-1]["tool_trace"]
    assert 1 not in [entry for item in told if item["kind"] == "recall" for entry in item["entries"]]
    await expect(first.get_by_role("button", name="Leave out of the next answer")).to_have_attribute(
        "aria-pressed", "false"
    )


async def test_usage_tells_what_fell_out_of_the_context(person: Person, api: Api) -> None:
    await person.open(await api.begin("My name is Alice.", "Hello!", "Thanks!", assistant="forgetful"))
    usage = person.answers.last.locator(".tk-usage")
    await usage.locator("summary").click()
    await expect(usage).to_contain_text("Left out")
    await expect(usage).to_contain_text(re.compile(r"everything before entry \d+|the oldest messages"))


async def test_a_turn_that_fails_says_so_and_can_be_asked_again(person: Person, api: Api) -> None:
    await person.open(await api.begin())
    await person.write("Please stumble.")
    failure = person.page.get_by_test_id("failure")
    await expect(failure).to_contain_text("The model failed. Try again, or choose another model.")
    await failure.get_by_role("button", name="Regenerate").click()
    await expect(person.answers).to_contain_text("On its feet again.")
    await person.is_answered()
    await expect(failure).to_have_count(0)
    await expect(person.said).to_have_text(["Please stumble."])


async def test_a_message_behind_a_running_answer_is_queued_and_answered(
    person: Person, api: Api, stage: Server
) -> None:
    id = await api.begin()
    await person.open(id)
    await person.write("hold gate2")
    await expect(person.answers.locator(".tk-tool")).to_be_visible()
    await person.write("Say hello.")
    await expect(person.page.get_by_test_id("pending")).to_contain_text("Queued")
    (stage.folder / "gate2").touch()
    await expect(person.answers).to_have_count(2)
    await person.is_answered()
    await expect(person.said).to_have_text(["hold gate2", "Say hello."])
    await expect(person.page.get_by_test_id("pending")).to_have_count(0)


async def test_what_another_device_says_and_hears_appears(person: Person, api: Api) -> None:
    id = await api.begin("Say one.")
    await person.open(id)
    await api.say(id, "Show all blocks", AT_ONCE)
    await expect(person.said).to_have_text(["Say one.", "Show all blocks"])
    await expect(person.answers.last.locator("[data-type=ranked_list] tbody tr")).to_have_count(len(ROWS))
