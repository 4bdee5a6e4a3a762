"""Markdown for a file of HTML: drawn where it can be, shown as it was written where not."""

import pytest

from threadkeep.server.export.text import LONGEST, prose, safe

MARKDOWN = """# Plan

Buy **two** *big* ~~red~~ `boxes`:

3. [Shop](https://example.org/?a=1&b=2 "Open")
4. Home

| What | Price |
|:-----|------:|
| box  |     3 |

```python
print("<b>")
```
"""


def test_markdown_is_drawn() -> None:
    drawn = prose(MARKDOWN)
    assert "<h3>Plan</h3>" in drawn
    assert "<p>Buy <strong>two</strong> <em>big</em> <s>red</s> <code>boxes</code>:</p>" in drawn
    assert '<ol start="3">' in drawn
    link = '<a href="https://example.org/?a=1&amp;b=2" title="Open" rel="noopener noreferrer">Shop</a>'
    assert f"<li>{link}</li>" in drawn
    assert '<td align="right">3</td>' in drawn
    assert '<pre><code>print("&lt;b&gt;")\n</code></pre>' in drawn


@pytest.mark.parametrize(("breaks", "shown"), [(True, "one<br>\ntwo"), (False, "one\ntwo")])
def test_the_end_of_a_line_is_one_where_a_person_typed_it(breaks: bool, shown: str) -> None:
    assert f"<p>{shown}</p>" in prose("one\ntwo", breaks=breaks)


def test_an_image_is_a_link() -> None:
    drawn = prose("![a chart](https://example.org/c.png)")
    assert '!<a href="https://example.org/c.png" rel="noopener noreferrer">a chart</a>' in drawn


@pytest.mark.parametrize(
    "text",
    [
        *(mark * times + "deep" for mark in ("> ", "- ") for times in (60, 10_000)),
        *(f"{mark}a " * 1_000 + f" a{mark}" * 1_000 for mark in ("*", "~~")),
        "[only]: https://example.org",
        "a *b*\n" * LONGEST,
    ],
)
def test_what_cannot_be_drawn_is_shown_as_it_was_written(text: str) -> None:
    assert f"<pre>\n{safe(text)}</pre>" in prose(text)


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "//example.org", "/etc/passwd", "file:///x"]
)
def test_a_link_leads_to_another_site_or_nowhere(link: str) -> None:
    assert "href" not in prose(f"[a](<{link}>)")


def test_control_characters_are_seen() -> None:
    assert prose("a\x00b\x1bc") == '<div class="text" dir="auto"><p>a\u2400b\u241bc</p>\n</div>'


def test_a_table_that_scrolls_can_be_reached_by_keyboard() -> None:
    assert '<table tabindex="0">' in prose("| a | b |\n|---|---|\n| 1 | 2 |")
