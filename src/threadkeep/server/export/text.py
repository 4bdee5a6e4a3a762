"""Text for an HTML file: Markdown is rendered, and everything is escaped or sanitised, for content and attributes.

Markdown in a message may make the tags below and links to other sites; HTML in it stays text. The sanitiser comes last.
"""

import json
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_ALLOWED: dict[str, Any] = {
    "tags": {
        *("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code"),
        *("table", "thead", "tbody", "tr", "th", "td", "a", "strong", "em", "s"),
    },
    "attributes": {"a": {"href", "title"}, "ol": {"start"}, "table": {"tabindex"}, "th": {"align"}, "td": {"align"}},
    "url_schemes": {"http", "https", "mailto"},
    "url_relative": "deny",
}
LONGEST = 50_000
"""A longer text is shown as it was written: to draw it would take seconds."""
DEEPEST = 50
"""So is one with lists, quotes or emphasis nested deeper than this: the parser would drop what is inside of the former,
and a browser takes long to draw the latter."""
_UNSEEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Control characters become their visible symbols: some cannot be written in HTML at all."""


def safe(text: str) -> str:
    """Return text that can stand anywhere in a file of HTML."""
    return escape(text.translate(_UNSEEN))


def json_text(value: object) -> str:
    """Return a value as JSON for people, not escaped yet."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def verbatim(text: str) -> str:
    """Return text as it was written."""
    # A browser leaves out the first line end of what is preformatted.
    return f"<pre>\n{safe(text)}</pre>"


def prose(text: str, *, breaks: bool = False) -> str:
    """Return what somebody wrote. With `breaks` the end of a line is one, as people expect of what they typed."""
    drawn = _drawn(text, breaks) if len(text) <= LONGEST else ""
    return f'<div class="text" dir="auto">{drawn or verbatim(text)}</div>'


def _drawn(text: str, breaks: bool) -> str:
    """Return the HTML of some Markdown; empty if it cannot be rendered, or nothing of it would be visible."""
    import nh3  # noqa: PLC0415 - only an export needs it

    markdown = _markdown(breaks)
    tokens = markdown.parse(text.translate(_UNSEEN))
    if any(one.level > DEEPEST for token in tokens for one in (token, *(token.children or ()))):
        return ""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            # The title of the file and the heading of the message stand above.
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        elif token.type == "table_open":
            token.attrs = {"tabindex": "0"}  # a wide one scrolls, by keyboard too
        elif "style" in token.attrs:
            # The file's policy allows no style but its own.
            token.attrs = {"align": str(token.attrs["style"]).removeprefix("text-align:")}
    drawn = markdown.renderer.render(tokens, markdown.options, {})
    return nh3.clean(drawn, **_ALLOWED)


@cache
def _markdown(breaks: bool) -> "MarkdownIt":
    """Return the parser. An image is not drawn but linked: nothing is loaded."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only an export needs it, and it takes long to import

    parser = MarkdownIt("commonmark", {"html": False, "breaks": breaks, "maxNesting": DEEPEST + 10})
    return parser.enable(["table", "strikethrough"]).disable("image")
