"""A conversation away from its page: the file of an export and what a link shows are the page itself, read-only."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.axe import find_nothing
from tests.browser.conftest import NewContext
from tests.browser.person import Api

RICH = """Some **bold** words, $e^{i\\pi} = -1$ and

$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$

| city | people |
|------|-------:|
| Oslo | 700000 |

```python
def greet(name: str) -> str:
    return f"Hello {name}"
```

[a link](https://example.org/there) and ![a picture](https://example.org/pixel.png)
"""
MOST_BYTES = 400_000
"""What an export takes beside its messages, its code's colours and its formulas."""


async def _kept(api: Api, id: str, folder: Path) -> Path:
    answer = await api.client.get(f"/v1/conversations/{id}/export", params={"format": "html"})
    file = folder / "conversation.html"
    file.write_bytes(answer.raise_for_status().content)
    return file


async def _offline(new_context: NewContext, file: Path, **options: object) -> tuple[Page, list[str]]:
    """Open a file where there is no network; return what it asks for, too."""
    context = await new_context(offline=True, **options)
    page, asked = await context.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(file.as_uri())
    await expect(page.locator("#messages > [aria-busy]")).to_have_count(0)
    return page, asked


@pytest.mark.parametrize(
    ("way", "width", "colours"), [("light", 1280, "none"), ("dark", 390, "none"), ("light", 900, "active")]
)
async def test_an_export_is_the_page_in_a_file_that_needs_no_network(
    api: Api, new_context: NewContext, tmp_path: Path, way: str, width: int, colours: str
) -> None:
    id = await api.begin(f"Repeat {RICH}", "Show all blocks", "Paint", title="Words & <b>more</b>")
    file = await _kept(api, id, tmp_path)
    page, asked = await _offline(
        new_context, file, color_scheme=way, forced_colors=colours, viewport={"width": width, "height": 844}
    )
    await expect(page.get_by_role("heading", name="Words & <b>more</b>")).to_be_visible()
    await expect(page.get_by_text("Stage", exact=True)).to_be_visible()
    answer = page.locator(".answer")
    await expect(answer.first.locator(".katex")).to_have_count(2)
    await expect(answer.first.locator(".hljs-keyword").first).to_be_visible()
    await expect(answer.first.get_by_role("table")).to_contain_text("700000")
    await expect(answer.nth(1).locator("[data-type=chart] svg").first).to_be_visible()
    await expect(answer.last.get_by_role("img")).to_have_js_property("naturalWidth", 120)
    await find_nothing(page, "an export")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert id not in await page.evaluate("document.documentElement.outerHTML")


async def test_an_export_is_printed_whole(api: Api, new_context: NewContext, tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(80))
    page, _ = await _offline(new_context, await _kept(api, await api.begin(f"Repeat {lines}"), tmp_path))
    asked = page.locator(".said")
    assert await asked.evaluate("said => said.getBoundingClientRect().height") < 500
    await page.emulate_media(media="print")
    assert await asked.evaluate("said => said.getBoundingClientRect().height") > 1000
    await expect(asked.get_by_role("button")).to_be_hidden()


async def test_an_export_speaks_the_language_of_its_reader_and_is_no_larger_than_it_has_to_be(
    api: Api, new_context: NewContext, tmp_path: Path
) -> None:
    file = await _kept(api, await api.begin("draw"), tmp_path)
    assert file.stat().st_size < MOST_BYTES
    page, _ = await _offline(new_context, file, locale="de-DE")
    assert await page.evaluate("document.documentElement.lang") == "de"
    await page.locator(".tk-tool summary").click()
    await expect(page.locator(".tk-tool")).to_contain_text("Ergebnis")
    await expect(page.locator("time")).to_contain_text("20")


async def test_what_was_said_in_an_export_runs_nothing_and_ends_no_element(
    api: Api, new_context: NewContext, tmp_path: Path
) -> None:
    hostile = '</script><script>document.title = "taken"</script><!--<script> <img src=x onerror="document.title = 1">'
    file = await _kept(api, await api.begin(f"Repeat {hostile}", title=hostile), tmp_path)
    page, _ = await _offline(new_context, file)
    await expect(page.locator(".answer")).to_contain_text('document.title = "taken"')
    await expect(page).to_have_title(hostile)
    assert await page.locator("script:not([type])").count() == 0
