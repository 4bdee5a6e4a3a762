"""A branch as one file of HTML: the page itself, read-only, with its Markdown, formulas, code, charts and languages.

The messages stand in it as data, one script element each that is never run, so that a long branch is written piece by
piece. The page's own code draws them where the file is opened, without a server. What only some conversations need (the
colours of code, formulas with their letters) is written behind them if they do.

The policy of the file names its code by digest and lets nothing be loaded: whatever a person, a model or a tool said is
data, and what is drawn of it has passed the page's sanitiser.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from typing import Any

from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.event_json import UNSEEN
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment, Part, Raw
from threadkeep_pages.bundle import STYLES, WEB, apart, assemble, bare, languages, styles, text_of
from threadkeep_pages.markdown_export import NO_IMAGES, UNTITLED

READER = "read.js"
CODE, FORMULAS = "code", "formulas"
"""What only some conversations need."""
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)[ \t]*[\w#+-]", re.MULTILINE)
_FORMULA = re.compile(r"\$\$|\\[(\[]|\$(?![\s$])(?:\\.|[^$\\\n])+?(?<!\s)\$(?![\d$])")
_NAMED = frozenset({"type", "name", "media_type", "size"})
"""What is told of a file."""
_HIGHLIGHTER = "vendor/highlightjs-11.12.0"
_KATEX = "vendor/katex-0.19.1"
_LATE = "globalThis.__late ??= {};\n"
_PRELUDE = """const __load = async (from, path) =>
  globalThis.__late[new URL(path, new URL(from, "file:///")).pathname.slice(1)]();
"""
_SCRIPT = re.compile(r"(</?scrip)(t)", re.IGNORECASE)
"""What begins or ends a script element must not stand in a literal of one; `\\x74` is the same letter there."""
_TEXT = re.compile(r'"(\w+)"')
_ENTRY = re.compile(r"^  (\w+):(?:.*\n)(?:^(?:   .*|  \}.*)?\n)*", re.MULTILINE)
_FONT = re.compile(r"url\((fonts/[\w-]+\.woff2)\) format\(\"woff2\"\)|url\((fonts/[\w-]+\.woff2)\)[^,}]*")


@dataclass(frozen=True, slots=True)
class Shell:
    """What every file consists of beside its data: markup by name, and the policy that allows it and nothing else."""

    style: str
    icons: str
    reader: str
    later: Mapping[str, str]
    policy: str


@cache
def shell() -> Shell:
    """Return it, made once of the files of the page."""
    allowed: dict[str, list[str]] = {"style": [], "script": []}

    def element(name: str, text: str, kind: str = "") -> str:
        text = _SCRIPT.sub(lambda found: f"{found[1]}\\x{ord(found[2]):x}", text)
        allowed[name].append(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")
        return f"<{name}{kind}>{text}</{name}>\n"

    style = element("style", styles(STYLES, text_of))
    reader = element("script", _reader(), ' type="module"')
    later = {
        CODE: element("script", _LATE + "".join(map(_late, _highlighters()))),
        FORMULAS: element("style", _formula_style()) + element("script", f"{_LATE}{_katex()}"),
    }
    policy = (
        "default-src 'none'; img-src data:; media-src data:; font-src data:; "
        f"style-src {' '.join(allowed['style'])}; script-src {' '.join(allowed['script'])}; "
        "base-uri 'none'; form-action 'none'"
    )
    return Shell(style, text_of("icons.svg").replace("<svg ", "<svg hidden ", 1), reader, later, policy)


def _reader() -> str:
    """Return the module that draws the conversation, with those texts of each language that it uses."""
    read: dict[str, str] = {}

    def kept(name: str) -> str:
        text = read[name] = bare(name, text_of) if name not in _catalogues() else ""
        return text

    assemble(READER, kept)
    used = {"direction"} | {word for text in read.values() for word in _TEXT.findall(text)}

    def told(name: str) -> str:
        return _only(used, bare(name, text_of)) if name in _catalogues() else read[name]

    others = "".join(_late(name, told) for name in _catalogues() if name != "texts/en.js")
    return _LATE + others + assemble(READER, told, _PRELUDE)


@cache
def _catalogues() -> tuple[str, ...]:
    return tuple(sorted(f"texts/{path.name}" for path in (WEB / "texts").glob("*.js")))


def _only(used: set[str], catalogue: str) -> str:
    """Return the module of a catalogue with some of its texts."""
    return _ENTRY.sub(lambda entry: entry[0] if entry[1] in used else "", catalogue)


def _late(name: str, read: Any = text_of) -> str:
    return f"__late[{json.dumps(name)}] = {apart(name, read)};\n"


def _highlighters() -> list[str]:
    return sorted(path.relative_to(WEB).as_posix() for path in (WEB / _HIGHLIGHTER).rglob("*.js"))


def _katex() -> str:
    return f"__late[{json.dumps(f'{_KATEX}/katex.js')}] = () => {{\n{text_of(f'{_KATEX}/katex.js')}\n}};\n"


def _formula_style() -> str:
    """Return the style of formulas with its letters inside."""

    def font(found: re.Match[str]) -> str:
        data = (WEB / _KATEX / (found[1] or found[2])).read_bytes()
        return f'url(data:font/woff2;base64,{b64encode(data).decode()}) format("woff2")'

    return _FONT.sub(font, text_of(f"{_KATEX}/katex.css"))


def needed_by(text: str) -> set[str]:
    """Return what the drawing of a text needs beside the page."""
    return {name for name, sign in ((CODE, _FENCE), (FORMULAS, _FORMULA)) if sign.search(text)}


class HtmlWriter:
    """Writes a branch entry by entry, so that its length does not matter. `head` is further markup for its head."""

    def __init__(self, conversation: Conversation, head: str = "") -> None:
        self._conversation = conversation
        self._head = head
        self._calls: dict[str, int] = {}
        self._needed: set[str] = set()

    def begin(self) -> str:
        conversation = self._conversation
        about = [f"<span>{safe(assistant_name(conversation))}</span>"] if conversation.assistant else []
        about.append(_moment(conversation.created_at))
        return opening(conversation.title or UNTITLED, " · ".join(about), self._head)

    def write(self, entry: Entry, images: Mapping[str, str] = NO_IMAGES) -> str:
        """Return a message, or nothing for an entry that is none; `images` are `data:` URIs by the ids of files."""
        if not isinstance(entry.body, Message):
            return ""
        message = entry.body
        if message.role is Role.USER:
            self._calls.clear()  # a call and its result belong to one turn
        data = self._shown(message, images) | {"seq": entry.seq, "turn": entry.turn}
        held = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        self._needed |= needed_by("\n".join((message.content, *(str(block) for block in message.blocks))))
        return f'<script type="application/json" data-message>{_inert(held)}</script>\n'

    def end(self) -> str:
        made = shell()
        later = "".join(made.later[name] for name in sorted(self._needed))
        return f"{later}{made.icons}{made.reader}</body>\n</html>\n"

    def _shown(self, message: Message, images: Mapping[str, str]) -> dict[str, Any]:
        """Return what is drawn of a message, in the words of the API, without ids and without what it cost."""
        result = message.tool_result
        fields = {
            "role": message.role.value,
            "content": message.content,
            "status": message.status.value,
            "model": message.model,
            "parts": [_part(part, images) for part in message.parts if not isinstance(part, Raw)],
            "blocks": [block.model_dump(mode="json") for block in message.blocks],
            "tool_calls": [call.model_dump(mode="json") | {"id": self._number(call.id)} for call in message.tool_calls],
            "tool_result": result
            and result.model_dump(mode="json") | {"tool_call_id": self._number(result.tool_call_id)},
            "tool_trace": [item for item in message.tool_trace if item.get("kind") == "ending"],
        }
        return {name: value for name, value in fields.items() if value}

    def _number(self, call: str) -> int:
        return self._calls.setdefault(call, len(self._calls))


def _part(part: Part, images: Mapping[str, str]) -> dict[str, Any]:
    fields = part.model_dump(mode="json", exclude=UNSEEN)
    if not isinstance(part, Attachment):
        return fields
    named = {name: value for name, value in fields.items() if name in _NAMED}
    return {**named, "src": images.get(part.file, "")}


def assistant_name(conversation: Conversation) -> str:
    """Return the name of its assistant as people write it."""
    name = re.sub("[_-]", " ", conversation.assistant or "")
    return name[:1].upper() + name[1:]


def notice(title: str, text: str) -> str:
    """Return a page with a message, where there is no conversation to show."""
    return f"{opening(title, safe(text), '')}</body>\n</html>\n"


def opening(title: str, about: str, head: str) -> str:
    """Return the document up to its messages; all but the title is markup."""
    made, title = shell(), safe(title)
    return f"""<!doctype html>
<html lang="en" data-alone data-languages="{languages()}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(made.policy)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
{head}{made.style}</head>
<body>
<main class="column">
<header class="about"><h1 dir="auto">{title}</h1><p class="muted">{about}</p></header>
<div id="messages"></div>
<noscript><p>Reading this conversation needs JavaScript: its own, which stands in this file.</p></noscript>
</main>
"""


def _moment(at: datetime) -> str:
    return f'<time datetime="{moment_text(at)}">{at:%Y-%m-%d}</time>'


def _inert(data: str) -> str:
    """Return JSON that can end no element and begin no comment."""
    return data.replace("<", "\\u003c")


_UNSEEN_MARKS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Control characters become their visible symbols: some cannot be written in HTML at all."""


def safe(text: str) -> str:
    """Return text that can stand anywhere in a file of HTML."""
    return escape(text.translate(_UNSEEN_MARKS))
