"""How many tokens a text has, estimated by the kinds of its signs: words, digits, marks, scripts, symbols.

Four characters a token are right for English prose only: tables have half of that, Chinese a third, emoji a sixth. The
weights lie near what tokenizers of 2026 give; what a certain model counts differently, its usage corrects
(`calibration`). Everything is one pass over bytes at the speed of C, because every stored message is counted.
"""

import json
from collections.abc import Iterable
from math import ceil
from operator import mul

from threadkeep.context.base import Counter
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, ToolCall
from threadkeep.conversation.parts import Attachment, Part, Reasoning

MESSAGE, CALL = 4, 8
"""What a message, and what a tool call in it, takes beside its text."""
PAYLOAD, IMAGE, AUDIO, FILE = 8, 1300, 500, 16
"""Characters of encrypted reasoning a token; tokens of an image; bytes of a recording and of a PDF a token."""
LEAST = 500
"""The smallest request, in tokens, that a counter is calibrated with."""
BOUNDS = (0.75, 4.0)
"""How far a calibration may go: a server that tells too few tokens must not make requests grow without limit."""

_WEIGHTS = {
    b" ": 0.06,
    b"0": 0.65,
    b".": 0.5,
    b"\n": 1.0,
    b"aA": 1.5,  # a capital inside a word
    b"AA": 0.7,  # two of a word in capitals
    b"a" * 16: 8.0,  # letters that are no word
    b"o": 0.42,  # a letter of a script that tokenizers know well
    b"i": 0.6,  # Indic and Thai
    b"c": 0.9,  # Chinese, Japanese, Korean
    b"e": 1.2,  # an accented letter, or one of a rare script
    b"s": 1.8,  # emoji
}
_WORD_START = 1.0
_LEADS = {b"o": (0xCE, 0xDB), b"i": (0xE0, 0xE0), b"e": (0xE1, 0xE2), b"c": (0xE3, 0xEF), b"s": (0xF0, 0xFF)}
"""The first byte of a character in UTF-8 tells its script well enough; those from 0xC2 to 0xCD are accented letters."""


def _kind(byte: int) -> bytes:
    sign = bytes([byte])
    if byte >= 0x80:
        return next((kind for kind, (first, last) in _LEADS.items() if first <= byte <= last), b"e")
    if sign.isalpha():
        return b"a" if sign.islower() else b"A"
    return b"0" if sign.isdigit() else sign if sign in b" \n" else b"."


_KINDS = b"".join(map(_kind, range(256)))
_FOLLOWING_BYTES = bytes(range(0x80, 0xC0))
_WORDS = bytes(ord("a") if kind in b"aA" else ord(" ") for kind in range(256))


def tokens_in(text: str) -> int:
    """Return about how many tokens a text has."""
    signs = text.encode("utf-8", "surrogatepass").translate(_KINDS, _FOLLOWING_BYTES)
    words = _WORD_START * (b" " + signs.translate(_WORDS)).count(b" a")
    weights: Iterable[float] = map(mul, _WEIGHTS.values(), map(signs.count, _WEIGHTS))
    return ceil(words + sum(weights))


def count_tokens(message: Message) -> int:
    """Return about how many tokens a message has: what was stored with it, else by its signs."""
    if message.tokens is not None:
        return message.tokens
    beside = sum(map(_tokens_of_call, message.tool_calls)) + sum(map(_tokens_of_part, message.parts))
    return MESSAGE + tokens_in(message.content) + beside


def _tokens_of_call(call: ToolCall) -> int:
    return CALL + tokens_in(call.name + json.dumps(call.args, ensure_ascii=False))


def _tokens_of_part(part: Part) -> int:
    match part:
        case Reasoning():
            return tokens_in(part.text) + len(str(part.payload or "")) // PAYLOAD
        case Attachment():
            if part.type == "image":
                return IMAGE
            if part.type == "audio":
                return (part.size or 0) // AUDIO
            shown = (part.size or 0) // FILE if part.media_type == "application/pdf" else 0
            return max(shown, tokens_in(part.label + part.extract))
        case _:
            return 0


def counter_name(count: Counter) -> str:
    """Return what the trace of an answer calls the counter that its context was measured with."""
    return getattr(count, "__name__", type(count).__name__)


def calibration(entries: Iterable[Entry], count: Counter, model: str) -> float:
    """Return by what a count must be multiplied to be this model's own: as its last answer among the entries tells.

    The answer holds both numbers, the tokens that its context was counted to have and those that the provider counted.
    """
    for entry in reversed(tuple(entries)):
        message = entry.body
        if isinstance(message, Message) and message.usage is not None and message.model == model:
            counted = _counted(message, counter_name(count))
            if counted >= LEAST:
                return min(max(message.usage.input_tokens / counted, BOUNDS[0]), BOUNDS[1])
    return 1.0


def _counted(message: Message, counter: str) -> int:
    traced = (item for item in message.tool_trace if item.get("kind") == "context" and item.get("counter") == counter)
    return next((item["tokens"] for item in traced if isinstance(item.get("tokens"), int)), 0)
