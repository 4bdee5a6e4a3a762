"""The HTML file: messages are data that ends no element, its own code is what its policy names, and no id is in it."""

import json
import re
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from html import unescape
from typing import Any

import pytest

from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Attachment, Raw
from threadkeep.conversation.scope import LOCAL
from threadkeep_pages.html_export import CODE, FORMULAS, HtmlWriter, needed_by, shell

AT = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
ELEMENT = re.compile(r"<(script|style)([^>]*)>(.*?)</\1>", re.DOTALL)
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</title></style></pre></div><svg onload=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "\x00<\x00script>\x1b[2J\u2028",
]


def _page(*messages: Message, title: str | None = "Ranks", assistant: str | None = None, **images: str) -> str:
    conversation = Conversation(
        scope=LOCAL,
        id="c-secret",
        title=title,
        assistant=assistant,
        created_at=AT,
        updated_at=AT,
        entries=len(messages),
    )
    writer = HtmlWriter(conversation)
    entries = [
        Entry(conversation="c-secret", seq=seq, parent=seq - 1 or None, created_at=AT, body=message)
        for seq, message in enumerate(messages, start=1)
    ]
    return "".join([writer.begin(), *(writer.write(entry, images) for entry in entries), writer.end()])


def _data(page: str) -> list[dict[str, Any]]:
    return [json.loads(text) for _, kind, text in ELEMENT.findall(page) if "data-message" in kind]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_was_said_is_data_and_changes_no_element(text: str) -> None:
    message = Message(role=Role.USER, content=text, blocks=(Narrative(text=text),), model=text)
    page, plain = _page(message, title=text), _page(Message(role=Role.USER, content="x"), title="x")
    tags = re.compile(r"<[/!a-z][^>]*>")
    outside = [tags.findall(ELEMENT.sub(r"<\1\2>", each)) for each in (page, plain)]
    assert outside[0] == outside[1]
    [shown] = _data(page)
    assert shown["content"] == shown["blocks"][0]["text"] == message.content


def test_the_policy_names_every_script_and_style_by_digest_and_lets_nothing_be_loaded() -> None:
    page = _page(Message(role=Role.USER, content="$x$\n\n```python\nx\n```"))
    match = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert match is not None
    policy = unescape(match[1])
    assert policy == shell().policy
    assert policy.startswith("default-src 'none'; img-src data:; media-src data:; font-src data:; style-src 'sha256-")
    assert not any(word in policy for word in ("unsafe", "http", "*", "blob", "'self'"))
    run = [text for _, kind, text in ELEMENT.findall(page) if "json" not in kind]
    assert len(run) == 5
    for text in run:
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy


def test_the_code_of_a_file_neither_begins_nor_ends_an_element() -> None:
    made = shell()
    for text in (made.reader, *made.later.values()):
        for _, _, inside in ELEMENT.findall(text):
            assert not re.search(r"</?script", inside, re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("plain, for $5 or $ 6", set[str]()),
        ("```\nno language\n```", set()),
        ("```python\nx\n```", {CODE}),
        ("$x^2$", {FORMULAS}),
        ("\\[x\\]", {FORMULAS}),
        ("~~~ js\nx\n~~~\n\n$$y$$", {CODE, FORMULAS}),
    ],
)
def test_what_a_conversation_does_not_need_is_left_out(text: str, needed: set[str]) -> None:
    assert needed_by(text) == needed
    page = _page(Message(role=Role.USER, content=text))
    assert {name for name, markup in shell().later.items() if markup in page} == needed


def test_calls_are_told_apart_without_their_ids_and_nothing_tells_of_the_cost() -> None:
    call = ToolCall(id="call-secret", name="get_budget", args={"cost_center": "CC-1001"})
    usage = Usage(input_tokens=987_654)
    page = _page(
        Message(role=Role.USER, content="Which?"),
        Message(role=Role.ASSISTANT, tool_calls=(call,), usage=usage, tool_trace=({"kind": "context", "tokens": 1},)),
        Message(role=Role.TOOL, content="15", tool_result=ToolResult(tool_call_id="call-secret", duration_ms=12)),
        assistant="skill_creator",
    )
    assert "secret" not in page
    assert "987" not in page.partition("<main")[2].partition("<svg")[0]
    _, asked, told = _data(page)
    assert asked["tool_calls"][0]["id"] == told["tool_result"]["tool_call_id"]
    assert "<span>Skill creator</span> · <time" in page


def test_an_image_that_is_at_hand_is_in_the_file_and_any_other_file_has_its_name_only() -> None:
    image = Attachment(type="image", file="f1", name="a.png", media_type="image/png", size=3)
    other = Attachment(type="file", file="f2", name="b.pdf", media_type="application/pdf", size=3)
    hidden = Raw.model_validate({"type": "raw", "of": "x", "items": []})
    message = Message(role=Role.USER, content="Look", parts=(image, other, hidden))
    [shown] = _data(_page(message, f1="data:image/png;base64,cG5n"))
    assert [(part["name"], part["src"]) for part in shown["parts"]] == [
        ("a.png", "data:image/png;base64,cG5n"),
        ("b.pdf", ""),
    ]
    assert "f1" not in json.dumps(shown)
