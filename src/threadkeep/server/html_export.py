"""A branch as a self-contained HTML file: no scripts, nothing loaded, everything that was said escaped.

The file carries its own policy, which allows its one style sheet and nothing else, so that whatever a person, a model
or a tool said stays text wherever the file is opened. Markdown in messages is shown as it was written.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from html import escape
from typing import Any

from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.markdown import UNTITLED
from threadkeep.conversation.message import Message, MessageStatus

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
article { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid #8886; border-radius: .5rem; }
article.user { background: #8882; }
h2 { font-size: .85rem; margin: 0 0 .5rem; }
time, .note { color: #767676; font-weight: normal; }
.text, pre, td, th { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
pre { font-size: .85rem; margin: .5rem 0; }
table { border-collapse: collapse; }
td, th { border: 1px solid #8886; padding: .2rem .5rem; text-align: start; vertical-align: top; }
"""
_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
_RULES = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
POLICY = f"{_RULES}; frame-ancestors 'none'; sandbox"
"""The policy for the header: what only a header may say is added to what the file says itself."""

_UNSEEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Control characters become the pictures of them: some of them could not be written into a file of HTML at all."""


def to_html(conversation: Conversation, entries: Iterable[Entry]) -> str:
    """Return the messages of a branch, oldest first, under the title of their conversation."""
    title = _safe(conversation.title or UNTITLED)
    by = f" with the assistant {_safe(conversation.assistant)}" if conversation.assistant else ""
    about = f"Conversation {_safe(conversation.id)}{by}, begun {_moment(conversation.created_at)}."
    head = (
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{escape(_RULES)}">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>"
    )
    said = "\n".join(_article(entry.body, entry.created_at) for entry in entries if isinstance(entry.body, Message))
    body = f'<h1 dir="auto">{title}</h1>\n<p class="note">{about}</p>\n{said}'
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


def _article(message: Message, at: datetime) -> str:
    by = f" ({_safe(message.model)})" if message.model else ""
    heading = f"<h2>{message.role.capitalize()}{by} {_moment(at)}</h2>"
    return f'<article class="{message.role}">\n{heading}\n' + "\n".join(_parts(message)) + "\n</article>"


def _parts(message: Message) -> Iterator[str]:
    result = message.tool_result
    if result is not None:
        took = f" in {result.duration_ms} ms" if result.duration_ms is not None else ""
        failed = f": {_safe(result.error)}" if result.error else ""
        yield _folded(f"Result of {_safe(result.tool_call_id)}{took}{failed}", message.content)
    elif message.content:
        yield _text(message.content)
    yield from map(_block, message.blocks)
    for call in message.tool_calls:
        yield _folded(f"Calls {_safe(call.name)} as {_safe(call.id)}", _json(call.args))
    if message.status is MessageStatus.INTERRUPTED:
        yield '<p class="note">(cut off here)</p>'


def _block(block: Block) -> str:
    match block:
        case Narrative():
            return _text(block.text)
        case RankedList():
            return _records(block.rows)
        case SplitCompare():
            return _table([block.leftTitle, block.rightTitle], [[block.left, block.right]])
        case Table():
            return _table(block.columns, block.rows)
        case Chart():
            return _records(block.series)
        case Citation():
            return f'<p class="note">Source: {_safe(block.source)}</p>'
        case _:
            return f"<pre>\n{_safe(_json(block.model_dump(mode='json')))}</pre>"


def _records(rows: list[dict[str, Any]]) -> str:
    """Return objects as a table with a column for each key that one of them has."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return _table(columns, [[row.get(key) for key in columns] for row in rows])


def _table(columns: list[str], rows: list[list[Any]]) -> str:
    head = "".join(f"<th>{_safe(column)}</th>" for column in columns)
    lines = "".join(f"<tr>{''.join(f'<td>{_safe(_plain(cell))}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{lines}</table>"


def _folded(summary: str, content: str) -> str:
    # A browser leaves out the first line end of what is preformatted.
    return f"<details><summary>{summary}</summary><pre>\n{_safe(content)}</pre></details>"


def _text(text: str) -> str:
    return f'<div class="text" dir="auto">{_safe(text)}</div>'


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _moment(at: datetime) -> str:
    return f'<time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M} UTC</time>'


def _safe(text: str) -> str:
    return escape(text.translate(_UNSEEN))
