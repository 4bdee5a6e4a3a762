"""A branch as a self-contained HTML file: messages with their Markdown drawn, blocks as tables.

The file has its own policy, which allows its one style sheet and embedded images only: nothing that a person, a model
or a tool said runs or loads anything, wherever the file is opened. Markdown in a message may make the tags below and
links to other sites; HTML in it stays text. The sanitiser comes last.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any

from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.parts import Attachment, CitationPart, Part, Raw, Reasoning
from threadkeep_pages.grids import Grid, charted, compared, field_text, ranked, tabled
from threadkeep_pages.markdown_export import NO_IMAGES, UNTITLED, BlocksOnce

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

STYLE = """
:root { color-scheme: light dark; }
html { background: Canvas; color: CanvasText; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
article { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid #8886; border-radius: .5rem; }
article.user { background: #8882; }
h2 { font-size: .85rem; margin: 0 0 .5rem; }
time, .note { color: #767676; color: light-dark(#595959, #ababab); font-weight: normal; }
.text { overflow-wrap: anywhere; }
.text :is(p, li, h3, h4, h5, h6, blockquote) { unicode-bidi: plaintext; }
.text > :first-child { margin-top: 0; } .text > :last-child { margin-bottom: 0; }
pre, td, th { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
td, th { overflow-wrap: break-word; }
pre { font-size: .85rem; margin: .5rem 0; }
.text pre { padding: .5rem .75rem; background: #8882; }
code { font-size: .9em; }
h3, h4, h5, h6 { font-size: 1.05rem; margin: 1rem 0 .5rem; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { font-weight: bold; text-align: start; padding: .25rem 0; }
td, th { border: 1px solid #8886; padding: .2rem .5rem; text-align: start; vertical-align: top; }
[align=right] { text-align: right; } [align=center] { text-align: center; }
figure, table { margin: .75rem 0; }
img { max-width: 100%; max-height: 40rem; }
blockquote { margin: .25rem 0 .75rem; padding-inline-start: .75rem; border-inline-start: 3px solid #8886; }
"""
_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
_RULES = f"default-src 'none'; img-src data:; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
POLICY = f"{_RULES}; frame-ancestors 'none'; sandbox"
"""The policy for the header: that of the file, with what only a header may contain."""


class HtmlWriter:
    """Writes a branch entry by entry, so that its length does not matter."""

    policy = POLICY

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._blocks = BlocksOnce()

    def begin(self) -> str:
        conversation = self._conversation
        title = conversation.title or UNTITLED
        by = f" with the assistant {safe(conversation.assistant)}" if conversation.assistant else ""
        about = f"Conversation {safe(conversation.id)}{by}, begun {_moment(conversation.created_at)}."
        return _opening(title, about)

    def write(self, entry: Entry, images: Mapping[str, str] = NO_IMAGES) -> str:
        """Return a message, or nothing for an entry that is none; `images` are `data:` URIs by the ids of files."""
        if not isinstance(entry.body, Message):
            return ""
        message = entry.body.model_copy(update={"blocks": self._blocks.of(entry.body)})
        return f"\n{_article(message, entry.created_at, images)}"

    def end(self) -> str:
        return _END


_END = "\n</main>\n</body>\n</html>\n"


def notice(title: str, text: str) -> str:
    """Return a page with a message, where there is no conversation to show."""
    return _opening(title, safe(text)) + _END


def _opening(title: str, about: str) -> str:
    title = safe(title)
    head = (
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{escape(_RULES)}">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>"
    )
    body = f'<h1 dir="auto">{title}</h1>\n<p class="note">{about}</p>'
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n<main>\n{body}'


def _article(message: Message, at: datetime, images: Mapping[str, str]) -> str:
    by = f" ({safe(message.model)})" if message.model else ""
    heading = f"<h2>{message.role.capitalize()}{by} {_moment(at)}</h2>"
    return f'<article class="{message.role}">\n{heading}\n' + "\n".join(_parts(message, images)) + "\n</article>"


def _parts(message: Message, images: Mapping[str, str]) -> Iterator[str]:
    yield from (_part(part, images) for part in message.parts if isinstance(part, Reasoning) and part.text)
    result = message.tool_result
    if result is not None:
        took = f" in {result.duration_ms} ms" if result.duration_ms is not None else ""
        failed = f": {safe(result.error)}" if result.error else ""
        yield _folded(f"Result of {safe(result.tool_call_id)}{took}{failed}", message.content)
    elif message.content:
        yield prose(message.content, breaks=message.role is Role.USER)
    others = (part for part in message.parts if not isinstance(part, Reasoning | Raw))
    yield from (_part(part, images) for part in others)
    yield from map(_block, message.blocks)
    for call in message.tool_calls:
        yield _folded(f"Calls {safe(call.name)} as {safe(call.id)}", json_text(call.args))
    if message.status is MessageStatus.INTERRUPTED:
        yield '<p class="note">(cut off here)</p>'


def _part(part: Part, images: Mapping[str, str]) -> str:
    """Return one part; a type that is not known is shown as its JSON."""
    match part:
        case Attachment() if uri := images.get(part.file):
            return f'<figure><img src="{safe(uri)}" alt="{safe(part.name or "image")}"></figure>'
        case Attachment():
            return f'<p class="note" dir="auto">Attached {safe(part.label)}</p>'
        case Reasoning():
            took = f" for {part.duration:g} s" if part.duration is not None else ""
            return _folded(f"Thought{took}", part.text)
        case CitationPart():
            return f'<p class="note" dir="auto">Source: {safe(part.title or part.source)}</p>'
        case _:
            return verbatim(json_text(part.model_dump(mode="json")))


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{verbatim(content)}</details>"


def _moment(at: datetime) -> str:
    return f'<time datetime="{moment_text(at)}">{at:%Y-%m-%d %H:%M} UTC</time>'


def _block(block: Block) -> str:
    """Return one block; a type that is not known is shown as its JSON."""
    match block:
        case Narrative():
            return prose(block.text)
        case RankedList():
            return _table(ranked(block))
        case SplitCompare():
            return _table(compared(block))
        case Table():
            return _table(tabled(block))
        case Chart() if (grid := charted(block)).rows:
            return _table(grid)
        case Citation():
            return _citation(block)
        case _:
            return verbatim(json_text(block.model_dump(mode="json")))


def _table(grid: Grid) -> str:
    title = f'<caption dir="auto">{safe(grid.title)}</caption>\n' if grid.title else ""
    head = "".join(f'<th scope="col" dir="auto">{safe(column)}</th>' for column in grid.columns)
    rows = "".join(f"<tr>{_row(row, grid.named)}</tr>\n" for row in grid.rows)
    return f'<table tabindex="0">\n{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>'


def _row(row: tuple[str, ...], named: bool) -> str:
    name = f'<th scope="row" dir="auto">{safe(row[0])}</th>' if named else ""
    return name + "".join(f'<td dir="auto">{safe(text)}</td>' for text in row[int(named) :])


def _citation(block: Citation) -> str:
    parts = dict.fromkeys((field_text(block, "title"), block.source, field_text(block, "url")))
    cited = field_text(block, "text")
    quote = f'\n<blockquote dir="auto">{safe(cited)}</blockquote>' if cited else ""
    return f'<p class="note" dir="auto">Source: {safe(", ".join(part for part in parts if part))}</p>{quote}'


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
