"""What answers are made of, drawn in a real browser: prose, tool cards, blocks, steps, usage, queries, branches."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.harness import Harness
from tests.browser.waiting import until
from tests.integration.serving import serving

GROW = """async (text) => {
    const { html, render } = await import("/static/preact.js");
    const { Markdown } = await import("/static/render/markdown.js");
    const root = document.getElementById("root");
    const kept = new Set();
    for (let end = 1; end <= text.length; end += 3) {
        render(html`<${Markdown} text=${text.slice(0, end)} streaming=${true} />`, root);
        await new Promise(requestAnimationFrame);
        await new Promise((resolve) => setTimeout(resolve));
        const first = root.querySelector(".tk-md > div");
        if (first) kept.add(first);
    }
    render(html`<${Markdown} text=${text} streaming=${false} />`, root);
    const grown = root.querySelector(".tk-md").innerHTML;
    render(null, root);
    render(html`<${Markdown} text=${text} />`, root);
    return [grown === root.querySelector(".tk-md").innerHTML, kept.size];
}"""
IS_DRAWN = """(parts) => !document.querySelector(".tk-md").ariaBusy && document.querySelectorAll(parts).length > 1"""
BROKEN_WORDS = """() => [...document.querySelectorAll("td, th")].flatMap((cell) => {
    const text = cell.firstChild;
    return [...text.data.matchAll(/[^ ]+/g)].filter((word) => {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return range.getClientRects().length > 1;
    }).map((word) => word[0]);
})"""
PROSE = """# Title

First **bold** and `code` with [a link](https://example.org/?a=1&b=2).

| a | b |
|--:|---|
| 1 | x |

- one
  - two

```text
def f(): ...
```

[r]: https://example.org/r

See [r], <b>this</b> and ~~that~~.
"""
HALVES = [
    ("*half slan", "<p><em>half slan</em></p>"),
    ("so (_half slan", "<p>so (<em>half slan</em></p>"),
    ("a *b* c 17 * 23 and snake_ca", "<p>a <em>b</em> c 17 * 23 and snake_ca</p>"),
    ("text\n-", "<p>text</p>"),
    ("text\n---", "<p>text</p>"),
    ("so **bold", "<p>so <strong>bold</strong></p>"),
    ("so **bold*", "<p>so <strong>bold</strong></p>"),
    ("run `code", "<p>run <code>code</code></p>"),
    ("see [it](https://exam", "<p>see it</p>"),
    ("1.", ""),
    ("a\n\n##", "<p>a</p>"),
]
ROWS = [
    {"ticker": "DHI", "name": "Horton", "score": 0.8, "cap": 48_000},
    {"ticker": "NVDA", "name": "Nvidia", "score": 0.94, "cap": None},
    {"ticker": "AAPL", "name": "Apple", "score": 0.5, "cap": 3_000},
]
ODD: list[Any] = [None, 0, "", "text", [], {}, [[]], [None], {"a": {"b": [1]}}, -1.5, True, "1e999", "𝒳" * 50]


@pytest_asyncio.fixture(loop_scope="session")
async def parts(page: Page) -> AsyncIterator[Harness]:
    """An empty page; at its end nothing was run, asked for or said by what was drawn."""
    async with serving() as server:
        harness = Harness(page, server.url)
        await harness.open()
        yield harness
        await harness.check()


async def plain(parts: Harness) -> str:
    """Return the HTML of the prose that is shown, without what only serves its look."""
    return str(
        await parts.page.evaluate(
            """() => [...document.querySelectorAll(".tk-md > div")].map((box) => box.innerHTML.trim()).join("\\n")
                .replaceAll(' dir="auto"', "").replaceAll(/\\n/g, "")"""
        )
    )


async def test_markdown_becomes_prose(parts: Harness) -> None:
    await parts.draw("Markdown", text=PROSE)
    root = parts.page.locator("#root")
    await expect(root.get_by_role("heading", name="Title", level=2)).to_be_visible()
    link = root.get_by_role("link", name="a link")
    await expect(link).to_have_attribute("href", "https://example.org/?a=1&b=2")
    await expect(link).to_have_attribute("target", "_blank")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(root.get_by_role("cell", name="1")).to_have_attribute("align", "right")
    await expect(root.locator("li li")).to_have_text("two")
    await expect(root.locator("b")).to_have_text("this")
    assert await root.locator("p:not([dir=auto]), li:not([dir=auto]), td:not([dir=auto])").count() == 0


async def test_an_image_is_a_link_and_html_is_text(parts: Harness) -> None:
    await parts.draw(
        "Markdown", text="![A map](https://elsewhere.example/map.png)\n\n<div class='x'>raw</div> <iframe>"
    )
    root = parts.page.locator("#root")
    await expect(root.get_by_role("link", name="A map")).to_have_attribute("href", "https://elsewhere.example/map.png")
    await expect(root).to_contain_text("<div class='x'>raw</div> <iframe>")
    assert await root.locator("img, iframe").count() == 0


async def test_a_growing_text_ends_as_if_it_had_come_at_once_and_keeps_its_beginning(parts: Harness) -> None:
    assert await parts.page.evaluate(GROW, PROSE) == [True, 1]


@pytest.mark.parametrize(("text", "shown"), HALVES)
async def test_half_a_mark_is_not_shown_while_a_text_grows(parts: Harness, text: str, shown: str) -> None:
    await parts.draw("Markdown", text=text, streaming=True)
    assert await plain(parts) == shown


async def test_a_table_is_one_from_its_first_line_on(parts: Harness) -> None:
    await parts.draw("Markdown", text="Look:\n\n| a | b", streaming=True)
    await expect(parts.page.get_by_role("columnheader")).to_have_text(["a", "b"])


async def test_code_has_its_language_colours_and_a_button_to_copy_it(parts: Harness) -> None:
    await parts.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await parts.draw("Markdown", text='```py\nprint("<b>")  # x\n```')
    code = parts.page.locator("figure code")
    await expect(parts.page.locator("figcaption span")).to_have_text("py")
    await expect(code.locator(".hljs-string")).to_have_text('"<b>"')
    await parts.page.get_by_role("button", name="Copy").click()
    await expect(parts.page.get_by_role("button", name="Copied")).to_be_visible()
    assert await parts.page.evaluate("navigator.clipboard.readText()") == 'print("<b>")  # x'


async def test_the_highlighter_is_loaded_when_there_is_code_only(parts: Harness) -> None:
    loaded: list[str] = []
    parts.page.on("request", lambda request: loaded.append(request.url))
    await parts.draw("Markdown", text="Just `words`.")
    assert not any("highlightjs" in url for url in loaded)
    await parts.draw("Markdown", text='```json\n{"a": 1}\n```')
    await expect(parts.page.locator(".hljs-attr")).to_have_text('"a"')
    assert any("highlightjs" in url for url in loaded)


async def test_a_tool_card_is_open_while_it_runs_and_folded_when_it_is_done(parts: Harness) -> None:
    call = {"id": "1", "name": "get_budget", "args": {"cost_center": "CC-1001"}}
    card = parts.page.locator("details")
    await parts.draw("ToolCard", call=call, result=None)
    await expect(card).to_have_attribute("open", "")
    await expect(card.locator("dd")).to_have_text("CC-1001")
    result = {"content": '{"budget": 50000, "items": [1]}', "duration_ms": 1240}
    await parts.draw("ToolCard", call=call, result=result)
    await expect(card).not_to_have_attribute("open", "")
    await expect(card.locator("summary")).to_contain_text("1.2 s")
    await card.locator("summary").focus()
    await parts.page.keyboard.press("Enter")
    await expect(card.locator("pre")).to_contain_text('"budget": 50000,\n')


async def test_a_failed_call_says_so(parts: Harness) -> None:
    result = {"content": "", "duration_ms": 90_000, "error": "No answer in time."}
    await parts.draw("ToolCard", call={"id": "1", "name": "look", "args": {}}, result=result)
    await expect(parts.page.locator("summary")).to_contain_text("failed after 1 min 30 s")
    await parts.page.locator("summary").click()
    await expect(parts.page.get_by_text("No answer in time.")).to_be_visible()


async def test_a_long_result_is_folded_and_its_markdown_left_alone(parts: Harness) -> None:
    content = "\n".join(f"**line** {number}" for number in range(100))
    await parts.draw("ToolCard", call={"id": "1", "name": "read", "args": {}}, result={"content": content})
    await parts.page.locator("summary").click()
    text = parts.page.locator("pre")
    await expect(text).to_contain_text("**line** 0")
    await expect(text).not_to_contain_text("**line** 99")
    await parts.page.get_by_role("button", name="Show all").click()
    await expect(text).to_contain_text("**line** 99")


async def test_a_ranked_list_can_be_sorted_by_every_column(parts: Harness) -> None:
    await parts.draw("Blocks", blocks=[{"type": "ranked_list", "title": "Best", "rows": ROWS}])
    table = parts.page.get_by_role("table", name="Best")
    tickers = table.locator("tbody td:nth-child(2)")
    await expect(tickers).to_have_text(["DHI", "NVDA", "AAPL"])
    expected = {
        "Ticker": [["AAPL", "DHI", "NVDA"], ["NVDA", "DHI", "AAPL"]],
        "Name": [["AAPL", "DHI", "NVDA"], ["NVDA", "DHI", "AAPL"]],
        "Score": [["NVDA", "DHI", "AAPL"], ["AAPL", "DHI", "NVDA"]],
        "Cap": [["DHI", "AAPL", "NVDA"], ["AAPL", "DHI", "NVDA"]],
        "Rank": [["DHI", "NVDA", "AAPL"], ["AAPL", "NVDA", "DHI"]],
    }
    for name, orders in expected.items():
        for order in orders:
            await table.get_by_role("button", name=name).press("Enter")
            await expect(tickers).to_have_text(order)
    await expect(table.locator("th").first).to_have_attribute("aria-sort", "descending")
    assert await table.locator("th[aria-sort=none]").count() == 4


async def test_two_objects_are_compared_line_by_line(parts: Harness) -> None:
    block = {"type": "split_compare", "leftTitle": "A", "rightTitle": "B", "left": {"size": 1}, "right": {"own": "x"}}
    await parts.draw("Blocks", blocks=[block])
    await expect(parts.page.get_by_role("columnheader")).to_have_text(["A", "B"])
    await expect(parts.page.get_by_role("rowheader")).to_have_text(["Size", "Own"])
    await expect(parts.page.get_by_role("row", name="Own – x")).to_be_visible()


async def test_panels_stand_side_by_side_and_above_each_other_on_a_phone(parts: Harness) -> None:
    block = {"type": "split_compare", "leftTitle": "Bull", "rightTitle": "Bear", "left": "**Up**", "right": ["Down"]}
    await parts.draw("Blocks", blocks=[block])
    places = "[...document.querySelectorAll('.tk-panels > div')].map((panel) => panel.getBoundingClientRect().top)"
    left, right = await parts.page.evaluate(places)
    assert left == right
    await parts.page.set_viewport_size({"width": 390, "height": 800})
    left, right = await parts.page.evaluate(places)
    assert left < right


@pytest.mark.parametrize("kind", ["line", "area", "bar", "scatter", "pie", "strange"])
async def test_a_chart_is_drawn_with_its_numbers_below(parts: Harness, kind: str) -> None:
    series = [{"name": "x", "points": [["2024-01", 1], ["2024-02", 3]]}, {"name": "y", "values": [2, "oops"]}]
    labels = ["2024-01", "2024-02"]
    await parts.draw(
        "Blocks", blocks=[{"type": "chart", "chart": kind, "series": series, "labels": labels, "unit": "%"}]
    )
    drawing = parts.page.get_by_role("img", name="chart: x, y, 2024-01 to 2024-02, values from 1 to 3 %")
    await expect(drawing).to_be_visible()
    await expect(drawing).to_contain_text("2024-01")
    await parts.page.get_by_text("Numbers").click()
    await expect(parts.page.get_by_role("row", name="2024-02 3")).to_be_visible()


async def test_parts_of_a_whole_are_a_ring_with_shares(parts: Harness) -> None:
    values, labels = [40, 25, 15, 8, 6, 3, 2, 1, 0], [f"part {letter}" for letter in "abcdefghi"]
    block = {"type": "chart", "chart": "pie", "series": [{"name": "x", "values": values}], "labels": labels}
    await parts.draw("Blocks", blocks=[{**block, "title": "All", "unit": "tons"}])
    spoken = "pie chart “All”: part a 40%, part b 25%, part c 15%, part d 8%, part e 6%, 3 others 6%"
    drawing = parts.page.get_by_role("img", name=spoken)
    await expect(drawing.locator("path")).to_have_count(6)
    await expect(drawing).to_contain_text("100tons")
    await parts.page.locator(".tk-parts tr").first.hover()
    await expect(drawing).to_contain_text("40part a")
    await parts.page.get_by_text("Numbers").click()
    await expect(parts.page.get_by_role("row", name="part h 1")).to_be_visible()


@pytest.mark.parametrize("values", [[5], [0, 7], [1e300, 1e300], [5e-324]])
async def test_a_whole_may_have_one_part_and_any_size(parts: Harness, values: list[float]) -> None:
    block = {"type": "chart", "chart": "donut", "series": [{"values": values}]}
    await parts.draw("Blocks", blocks=[block])
    outlines = await parts.page.locator(".tk-part").evaluate_all("all => all.map((one) => one.getAttribute('d'))")
    assert len(outlines) == sum(value > 0 for value in values)
    assert not any(word in outline for outline in outlines for word in ("NaN", "Infinity"))


@pytest.mark.parametrize("values", [[3, -1], [0, 0]])
async def test_what_is_no_whole_is_drawn_as_bars(parts: Harness, values: list[float]) -> None:
    await parts.draw("Blocks", blocks=[{"type": "chart", "chart": "pie", "series": [{"values": values}]}])
    await expect(parts.page.get_by_role("img", name="bar chart")).to_be_visible()


async def test_citations_that_follow_one_another_are_one_list(parts: Harness) -> None:
    cited = [
        {"type": "citation", "source": "10-K", "title": "Report", "url": "https://example.org/k", "text": "It grew."},
        {"type": "citation", "source": "notes.txt", "url": "javascript:alert(1)"},
    ]
    await parts.draw("Blocks", blocks=[{"type": "gauge", "all": 7}, *cited])
    await expect(parts.page.get_by_role("listitem")).to_have_count(2)
    await expect(parts.page.get_by_role("link")).to_have_count(1)


async def test_a_table_and_a_block_of_another_type(parts: Harness) -> None:
    table = {"type": "table", "columns": ["Centre"], "rows": [["CC-1", 50_000], {"Centre": "CC-2"}, "odd"]}
    await parts.draw("Blocks", blocks=[table, {"type": "gauge", "at": 7, "deep": {"x": [1]}}])
    await expect(parts.page.get_by_role("row", name="CC-1 50,000")).to_be_visible()
    await expect(parts.page.get_by_role("row", name="odd")).to_be_visible()
    await expect(parts.page.locator("[data-type=gauge]")).to_contain_text('"at": 7')


async def test_blocks_with_odd_fields_are_drawn_all_the_same(parts: Harness) -> None:
    fields = ["text", "rows", "columns", "series", "labels", "chart", "left", "right", "leftTitle", "title", "source"]
    kinds = ["narrative", "ranked_list", "split_compare", "table", "chart", "citation", "", "__proto__", None]
    odd = [{"type": kind, **dict.fromkeys(fields, value)} for kind in kinds for value in ODD]
    points = [{"type": "chart", "chart": "line", "series": [{"points": value, "name": value}]} for value in ODD]
    wild = [[[1, 1e308], [2, -1e308]], [[1, 5e-324]], [["a", 1]] * 3000, [[1e18, 1], [-1e18, 2]], [{"x": 1, "y": 2}]]
    points += [
        {"type": "chart", "chart": kind, "series": [{"points": one}]} for kind in ("line", "bar") for one in wild
    ]
    await parts.draw("Blocks", blocks=[*ODD, *odd, *points])
    drawn = parts.page.locator(".tk-block")
    citations = len(ODD)
    objects = sum(isinstance(one, dict) for one in ODD)
    await expect(drawn).to_have_count(objects + len(odd) - citations + 1 + len(points))
    assert "NaN" not in await parts.page.locator("#root").inner_html()


async def test_steps_mark_where_a_guided_conversation_stands(parts: Harness) -> None:
    states = ["gathering_purpose", "generating", "completed", "error"]
    await parts.draw("Steps", state={"state": "generating"}, states=states)
    steps = parts.page.get_by_role("listitem")
    await expect(steps).to_have_count(3)
    await expect(parts.page.locator("[aria-current=step]")).to_contain_text("Generating")
    await parts.draw("Steps", state={"state": "error"}, states=states)
    await expect(parts.page.locator(".tk-error")).to_have_text("Error")


async def test_usage_tells_of_tokens_and_of_what_was_left_out(parts: Harness) -> None:
    trace = [
        {"kind": "context", "first": 12, "masked": 30, "tokens": 7_400, "budget": 8_000, "dropped": True},
    ]
    usage = {"input_tokens": 5_210, "output_tokens": 312, "cached_tokens": 4_096}
    await parts.draw("Usage", message={"usage": usage, "tool_trace": trace})
    root = parts.page.locator("#root")
    await root.get_by_text("Details · older part left out").click()
    for told in (
        "5,210 (4,096 from the cache)",
        "7,400 of 8,000 tokens",
        "everything before entry 12",
    ):
        await expect(root).to_contain_text(told)


async def test_a_rewritten_query_is_there_on_demand(parts: Harness) -> None:
    item = {"kind": "query", "question": "more about it?", "rewritten": "Galaxy A54 details", "passages": ["a passage"]}
    await parts.draw(
        "RewrittenQuery",
        "query",
        trace=[{"kind": "context"}, {"kind": "query", "route": "respond", "question": "hello"}, item],
    )
    await expect(parts.page.locator("summary")).to_have_count(1)
    await parts.page.get_by_text("Looked up").click()
    await expect(parts.page.get_by_text("more about it?")).to_be_visible()
    await expect(parts.page.get_by_text("a passage")).to_be_visible()


async def test_branches_are_a_tree_of_buttons(parts: Harness) -> None:
    again = {"entry": 2, "branch": 4, "preview": "Which **one**?", "role": "user"}
    more = {"entry": 6, "branch": 8, "preview": "Well", "role": "assistant"}
    branches = [
        {"head": 4, "fork": None, "parted": None, "is_current": False, "preview": "*first*", "role": "assistant"},
        {"head": 8, "fork": 2, "parted": again, "is_current": True, "preview": "second", "updated_at": "2020-02-03"},
        {"head": 11, "fork": 6, "parted": more, "is_current": False, "preview": "", "role": "user"},
    ]
    await parts.draw("TreeView", "tree", tree={"head": 8, "version": 1, "branches": branches})
    await expect(parts.page.locator("li li li button")).to_contain_text("(no words)")
    await expect(parts.page.locator("li li li button")).to_contain_text("branches off after “Well”")
    await expect(parts.page.locator("li li li button")).to_have_attribute("title", "(no words)")
    await expect(parts.page.locator("[aria-current=true]")).to_contain_text("another answer to “Which one?”")
    await expect(parts.page.locator("[aria-current=true]")).to_contain_text("2020")
    await parts.page.get_by_role("button", name="first").press("Enter")
    assert await parts.page.evaluate("window.chosen") == [4]


async def test_a_table_breaks_no_word_scrolls_inside_itself_and_is_copied(parts: Harness) -> None:
    await parts.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    head = "| Product | Price | Units sold in the year | Region | Kind |\n|---|--:|--:|---|---|\n"
    rows = "| Electromagnetic cooker | 1,200 | 12,345,678 | Scandinavia | =1+1 \\| x |\n| Toaster | -3 | 1 | a | b |"
    await parts.draw("Markdown", text=head + rows)
    await parts.page.set_viewport_size({"width": 390, "height": 844})
    assert await parts.page.evaluate(BROKEN_WORDS) == []
    assert await parts.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    assert await parts.page.locator(".tk-scroll").evaluate("box => box.scrollWidth > box.clientWidth")
    copied = "navigator.clipboard.readText()"
    await parts.page.get_by_role("button", name="Copy table as CSV").click()
    await expect(parts.page.get_by_role("button", name="Copied")).to_be_visible()
    first = 'Electromagnetic cooker,"1,200","12,345,678",Scandinavia,\'=1+1 | x'
    csv = f"Product,Price,Units sold in the year,Region,Kind\r\n{first}\r\nToaster,-3,1,a,b"
    assert await parts.page.evaluate(copied) == csv
    await parts.page.get_by_role("button", name="Copy table as Markdown").click()
    await expect(parts.page.get_by_role("button", name="Copied")).to_have_count(2)
    plain_head = head.replace("--:", "---").replace("|---|---|---|---|---|", "| --- | --- | --- | --- | --- |")
    assert await parts.page.evaluate(copied) == plain_head + rows
    await parts.draw(
        "Blocks", blocks=[{"type": "ranked_list", "rows": [{"name": str(n), "cap": n} for n in range(60)]}]
    )
    await parts.page.get_by_role("button", name="Copy table as CSV").click()
    await expect(parts.page.get_by_role("button", name="Copied")).to_be_visible()
    assert (await parts.page.evaluate(copied)).endswith("\r\n59,59")


async def test_a_very_long_text_is_drawn_bit_by_bit_and_whole(parts: Harness) -> None:
    words = "Some **bold** words, see [r]. " + "More words that fill the lines. " * 20
    section = "## Part {0}\n\n" + words + "\n\n- one\n- two\n\n```py\nx = {0}\n```\n\n| a |\n|---|\n| {0} |\n\n"
    text = "".join(section.format(number) for number in range(500)) + "[r]: https://example.org/r\n"
    assert len(text) > 350_000
    await parts.draw("Markdown", text=text)
    box = parts.page.locator(".tk-md")
    assert await box.get_attribute("aria-busy") == "true"
    assert 1 < await box.locator("h2").count() < 500
    await until(parts.page, "() => !document.querySelector('.tk-md').ariaBusy")
    for selector, count in (("h2", 500), ("li", 1_000), ("pre", 500), ("td", 500)):
        assert await box.locator(selector).count() == count
    assert await box.locator("p a[href='https://example.org/r']").count() == 500


async def test_a_block_of_any_length_is_drawn_in_parts_that_lose_nothing(parts: Harness) -> None:
    for text, selector in (
        ("\n".join(f"{number}. item" for number in range(1, 3_001)), "li"),
        ("| a | b |\n|---|---|\n" + "\n".join(f"| x{number} | x |" for number in range(3_000)), "tbody tr"),
        ("```py\n" + "\n".join(f"line({number})" for number in range(9_000)) + "\n```", "pre"),
        ("- a\n" + "\n".join(f"  - inner{number}" for number in range(5_000)), "li:not(:has(li))"),
        ("words and " * 20_000, "p"),
    ):
        words = [word for word in text.replace("|", " ").split() if word[0].isalpha() and word not in ("a", "b")]
        known, shown = set(words), parts.page.locator(f".tk-md {selector}")
        for growing in (True, False):
            await parts.draw("Markdown", text=text, streaming=growing)
            await until(parts.page, IS_DRAWN, f".tk-md {selector}")
            drawn = await shown.evaluate_all("all => all.map((one) => one.innerText).join(' ')")
            assert [word for word in drawn.split() if word in known] == words
