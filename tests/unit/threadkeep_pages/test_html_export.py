"""The HTML file: Markdown is drawn, and whatever was said does no harm, by sanitising and by the file's own policy."""

from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from pydantic import TypeAdapter

from threadkeep.conversation.blocks import AnyBlock, Block, Chart, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import LOCAL
from threadkeep_pages.html_export import LONGEST, POLICY, STYLE, HtmlWriter, prose, safe

AT = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</title></style></pre></div><svg onload=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "<!--<iframe src=javascript:alert(1)>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "]]></textarea><base href=//evil.example>",
    "\x00<\x00script>\x1b[2J",
    "[a](javascript:alert(1)) [b](data:text/html,x) [c](<java\nscript:alert(1)>) <javascript:alert(1)>",
    "![x](https://evil.example/pixel.png) [![y](//evil.example/z.png)](vbscript:x)",
    '[a](https://example.org \'x" onclick="alert(1)\') [b](https://example.org/"onclick=alert(1))',
    "| <b>a</b> |\n|:-:|\n| `<img src=x>` |\n\n```<svg onload=x>\n</pre><script>\n```\n",
    "> " * 100 + "<script>deep</script>",
]
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "article", "time", "div", "pre"} | {
    *("details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "blockquote"),
    *("a", "br", "code", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "s", "strong", "ul"),
}
ATTRIBUTES = {"title", "lang", "charset", "http-equiv", "content", "name", "class", "dir", "datetime", "scope"} | {
    *("align", "href", "rel", "start", "tabindex"),
}


class Page(HTMLParser):
    """The tags, the attributes and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str | None] = []
        self.metas: list[dict[str, str | None]] = []
        self.comments = 0
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name in ("href", "src", "action")]
        if tag == "meta":
            self.metas.append(dict(attrs))

    def handle_comment(self, data: str) -> None:
        self.comments += 1

    def handle_data(self, data: str) -> None:
        self.text += data


def _page(*messages: Message, title: str | None = "Ranks", assistant: str | None = None) -> str:
    conversation = Conversation(
        scope=LOCAL, id="c1", title=title, assistant=assistant, created_at=AT, updated_at=AT, entries=len(messages)
    )
    writer = HtmlWriter(conversation)
    entries = [
        Entry(conversation="c1", seq=seq, parent=seq - 1 or None, created_at=AT, body=message)
        for seq, message in enumerate(messages, start=1)
    ]
    return "".join([writer.begin(), *map(writer.write, entries), writer.end()])


def made(kind: str, **fields: Any) -> Block:
    """Return a block with fields beyond those that its type names."""
    block: Block = TypeAdapter(AnyBlock).validate_python({"type": kind, **fields})
    return block


def _everywhere(text: str) -> list[Message]:
    """Return messages that hold a text in every place that can hold one."""
    blocks = (
        Narrative(text=text),
        RankedList(rows=[{text: text, "name": [text]}]),
        SplitCompare(leftTitle=text, rightTitle=text, left={"x": text}, right=text),
        Table(columns=[text], rows=[[text, None, 1]]),
        Chart(chart=text, series=[{"name": text}]),
        made("chart", chart="line", series=[{"name": text, "points": [[text, 1], ["b", 2]]}], title=text, unit=text),
        made("chart", chart="bar", series=[{"name": text, "values": [1, -2]}], labels=[text, text]),
        made("chart", chart="pie", series=[{"name": text, "values": [1, 2]}], labels=[text, "b"], unit=text),
        made("citation", source=text, title=text, url=text, text=text),
        Block.model_validate({"type": "new", "x": text}),
    )
    call = ToolCall(id=text, name=text[:64], args={text: text})
    return [
        Message(role=Role.USER, content=text),
        Message(role=Role.ASSISTANT, content=text, blocks=blocks, tool_calls=(call,), model=text),
        Message(role=Role.TOOL, content=text, tool_result=ToolResult(tool_call_id=text, duration_ms=5, error=text)),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_content_makes_no_tag_and_no_attribute_anywhere(text: str) -> None:
    page = Page(_page(*_everywhere(text), title=text, assistant="a.b-c"))
    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert page.comments == 0
    assert {(link or "").partition(":")[0] for link in page.links} <= {"https"}
    assert len(page.metas) == 4


def test_the_file_carries_a_policy_that_allows_its_style_and_nothing_else() -> None:
    text = _page()
    [policy] = [meta["content"] or "" for meta in Page(text).metas if meta.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert POLICY.startswith(policy)
    assert POLICY.endswith("sandbox")
    assert "unsafe" not in POLICY
    assert f"<style>{STYLE}</style>" in text
    assert text.count("<style") == 1


def test_nothing_is_loaded_from_anywhere() -> None:
    text = _page(*_everywhere("https://example.org/x.png"))
    assert not {"src", "href", "style", "action"} & Page(text).attributes
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_a_person_reads_what_was_said_and_done() -> None:
    call = ToolCall(id="call-1", name="get_budget", args={"cost_center": "CC-1001"})
    text = Page(
        _page(
            Message(role=Role.USER, content="\nWhat is left?\n  <b>Now</b>"),
            Message(role=Role.ASSISTANT, tool_calls=(call,)),
            Message(role=Role.TOOL, content="{}", tool_result=ToolResult(tool_call_id="call-1", duration_ms=12)),
            Message(role=Role.ASSISTANT, content="15,0", status=MessageStatus.INTERRUPTED, model="demo"),
            title="Money & more",
        )
    ).text
    for said in (
        "Money & more",
        "User 2025-01-02 03:04 UTC",
        "What is left?\n<b>Now</b>",
        "Calls get_budget as call-1",
        '"cost_center": "CC-1001"',
        "Result of call-1 in 12 ms",
        "Assistant (demo)",
        "(cut off here)",
    ):
        assert said in text


def _blocks(*blocks: Block) -> str:
    return _page(Message(role=Role.ASSISTANT, blocks=blocks))


def test_a_ranked_list_is_a_numbered_table_under_its_title() -> None:
    text = _blocks(made("ranked_list", rows=[{"score": 0.9, "ticker": "DHI"}], title="Best"))
    assert '<caption dir="auto">Best</caption>' in text
    assert Page(text).text.count("#tickerscore") == 1
    assert '<td dir="auto">1</td><td dir="auto">DHI</td><td dir="auto">0.9</td>' in text


def test_a_comparison_names_its_rows() -> None:
    text = _blocks(SplitCompare(leftTitle="A", rightTitle="B", left={"size": 1}, right={"size": 2}))
    assert '<th scope="row" dir="auto">size</th><td dir="auto">1</td><td dir="auto">2</td>' in text


def test_the_numbers_of_a_chart_are_a_table_with_their_units() -> None:
    series = [{"name": "x", "points": [["Jan", 1], ["Feb", 3]], "unit": "EUR"}, {"name": "y", "values": [2]}]
    page = Page(_blocks(made("chart", chart="line", series=series, title="Growth", unit="month")))
    assert {"table", "caption"} <= page.tags
    assert "Growth" in page.text
    assert "monthx (EUR)y" in page.text
    assert "Feb3" in page.text


@pytest.mark.parametrize("values", [[1], [5e-324, 0], [1.7e308, -1.7e308], [10**400, 7], list(range(900))])
def test_a_chart_of_any_numbers_can_be_shown(values: list[float]) -> None:
    text = _blocks(Chart(chart="line", series=[{"name": "x", "values": values}]))
    assert "<table" in text
    assert "nan" not in text
    assert "inf" not in text.replace("infinity", "")


def test_a_chart_without_numbers_is_its_json() -> None:
    assert "table" not in Page(_blocks(Chart(chart="line", series=[{"name": "x"}]))).tags


def test_a_citation_says_where_to_look_and_makes_no_link() -> None:
    cited = made("citation", source="10-K", title="Report", url="https://example.org/k", text="It grew.")
    page = Page(_blocks(cited))
    assert "Source: Report, 10-K, https://example.org/k" in page.text
    assert "blockquote" in page.tags
    assert "a" not in page.tags


def test_an_image_that_is_at_hand_stands_in_the_page_and_any_other_file_is_named() -> None:
    image = Attachment(type="image", file="f1", name='a"><b>.png', media_type="image/png", size=3)
    other = Attachment(type="file", file="f2", name="a.pdf", media_type="application/pdf", size=3)
    message = Message(role=Role.USER, content="Look", parts=(image, other))
    entry = Entry(conversation="c1", seq=1, parent=None, created_at=AT, body=message)
    conversation = Conversation(scope=LOCAL, id="c1", created_at=AT, updated_at=AT, entries=1)
    shown = HtmlWriter(conversation).write(entry, {"f1": "data:image/png;base64,cG5n"})
    assert '<img src="data:image/png;base64,cG5n" alt="a&quot;&gt;&lt;b&gt;.png">' in shown
    assert "Attached file a.pdf (application/pdf, 3 bytes)" in shown
    assert "<img" not in HtmlWriter(conversation).write(entry)


def test_what_a_tool_showed_stands_there_and_not_in_the_answer_too() -> None:
    shown, own = Narrative(text="Sunny."), Narrative(text="Cloudy.")
    result = Message(role=Role.TOOL, content="x", blocks=(shown,), tool_result=ToolResult(tool_call_id="x"))
    asked = Message(role=Role.USER, content="Weather?")
    answer = Message(role=Role.ASSISTANT, content="Well:", blocks=(shown, own))
    text = _page(asked, result, answer, asked, result, answer)
    assert [text.count(word) for word in ("Sunny.", "Cloudy.")] == [2, 2]
    assert text.index("Sunny.") < text.index("Well:") < text.index("Cloudy.")


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
