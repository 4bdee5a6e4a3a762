"""Text for a file of HTML: whatever was said stays text, between tags and inside of attributes."""

import json
from html import escape

_UNSEEN = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Control characters become the pictures of them: some of them could not be written into a file of HTML at all."""


def safe(text: str) -> str:
    """Return text that can stand anywhere in a file of HTML."""
    return escape(text.translate(_UNSEEN))


def json_text(value: object) -> str:
    """Return a value as JSON for people, not escaped yet."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def prose(text: str) -> str:
    """Return what somebody wrote, as it was written."""
    return f'<div class="text" dir="auto">{safe(text)}</div>'
