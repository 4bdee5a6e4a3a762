"""Hostile text in every place that can show one: it is read, and nothing else. There are well over 300 of them."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.harness import Harness
from tests.browser.xss_payloads import PAYLOADS
from tests.integration.serving import serving
from threadkeep.testing.scripted_model import ScriptedModel, says

BATCHES = 8
CONVERSATIONS, TURNS = 6, 20
LIVE = """() => [...document.querySelectorAll("*")].flatMap((element) => element.getAttributeNames()
    .filter((name) => /^on|^(?:style|srcset|srcdoc|action|formaction|ping|background)$/.test(name))
    .filter((name) => name !== "style" || !element.matches(".shell, .rows")) // whose sizes the page sets
    .map((name) => `${element.localName} ${name}`)).concat(
        [...document.querySelectorAll("body script, body style, iframe, object, embed, main img, meta[http-equiv]")]
            .map((element) => element.outerHTML))"""
DEEP = 1_000
NESTED = {
    "tags": "<b>" * DEEP + "x",
    "closed tags": "<b><i>" * DEEP + "x" + "</i></b>" * DEEP,
    "emphasis": "*a " * DEEP + "x" + " a*" * DEEP,
    "crossed out": "~~a " * DEEP + "x" + " a~~" * DEEP,
    "quotes": "> " * 10 * DEEP + "x",
    "lists": "- " * 10 * DEEP + "x",
    "indented lists": "\n".join(f"{'  ' * level}- x" for level in range(150)),
    **{
        name: f"```{name}\n{mark * DEEP}\n```" for name, mark in (("haskell", "{- "), ("ocaml", "(* "), ("rust", "/* "))
    },
}
DEPTH = """() => {
    const depths = new Map();
    for (const one of document.querySelectorAll("#root *")) depths.set(one, (depths.get(one.parentNode) ?? 0) + 1);
    return Math.max(...depths.values());
}"""
SHOW = (Path(__file__).parent / "hostile_text.js").read_text(encoding="utf-8")


def is_script(said: str) -> bool:
    """Whether the browser tells of a script that it has blocked."""
    return "script-src" in said and "inline event handler" not in said


@pytest.mark.parametrize("batch", range(BATCHES))
async def test_hostile_text_is_text_wherever_it_is_shown(page: Page, batch: int) -> None:
    async with serving() as server:
        harness = Harness(page, server.url)
        await harness.open()
        assert await page.evaluate(SHOW, [PAYLOADS[batch::BATCHES], False]) == []
        assert await page.evaluate("Object.prototype.ran") is None
        await harness.check()


async def test_the_sanitiser_holds_alone_if_markdown_let_everything_through(browser: Browser) -> None:
    async with serving() as server, await browser.new_page() as page:
        blocked: list[str] = []
        # The browser complains of styles, of a base and (Chromium 156.0.8078.79 and newer) of handlers even where the
        # sanitiser reads them in a document of its own. That none of them is left is seen in what is shown.
        page.on("console", lambda said: blocked.append(said.text) if is_script(said.text) else None)
        harness = Harness(page, server.url)
        await harness.open()
        assert await page.evaluate(SHOW, [PAYLOADS, True]) == []
        assert blocked == []
        await harness.check()


async def test_titles_questions_and_answers_on_the_page_itself(page: Page) -> None:
    hostile = [PAYLOADS[place::CONVERSATIONS][:TURNS] for place in range(CONVERSATIONS)]
    model = ScriptedModel(*(says(text) for texts in hostile for text in texts))
    async with serving(model=model) as server:
        harness = Harness(page, server.url)
        await harness.watch()
        for texts in hostile:
            path = await server.conversation(title=texts[0][:500])
            for text in texts:
                (await server.say(path, text)).raise_for_status()
            await page.goto(f"{server.url}/c/{path.rsplit('/', 1)[1]}")
            await expect(page.locator(".said")).to_have_count(len(texts))
            await expect(page.locator(".answer[data-state=done]")).to_have_count(len(texts))
            assert await page.evaluate(LIVE) == []
        await harness.check()
    model.assert_finished()


@pytest.mark.parametrize("name", NESTED)
async def test_what_is_nested_deeper_than_anybody_writes_is_shown_as_it_was_written(page: Page, name: str) -> None:
    async with serving() as server:
        harness = Harness(page, server.url)
        await harness.open()
        # Code is coloured in its order: when the last one is, the one before it has been looked at.
        await harness.draw("Markdown", text=f"{NESTED[name]}\n\n```rust\nfn main() {{}}\n```")
        await expect(page.locator("pre").last.locator(".hljs-keyword")).to_have_text("fn")
        await expect(page.locator(".tk-md")).to_contain_text(NESTED[name].strip("`").removeprefix(name).strip()[:500])
        assert await page.evaluate(DEPTH) < 110


async def test_deeply_nested_json_is_not_indented_to_megabytes(page: Page) -> None:
    async with serving() as server:
        harness = Harness(page, server.url)
        await harness.open()
        nested = "[" * 2 * DEEP + "]" * 2 * DEEP
        await harness.draw("ToolCard", call={"id": "a", "name": "a", "args": {}}, result={"content": nested})
        await page.locator("summary").click()
        await page.get_by_role("button", name="Show all").click()
        await expect(page.locator("pre")).to_have_text(nested)
