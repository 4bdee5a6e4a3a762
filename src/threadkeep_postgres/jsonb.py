"""JSON and text as PostgreSQL can keep them, and back exactly.

JSONB and text columns refuse U+0000; JSONB forgets the order of an object's keys, takes 1e16 for a whole number and
knows no negative zero. What would be lost is written with a mark, U+001A: in a string "\\x1a0" is U+0000 and "\\x1a1"
is the mark itself; a string that begins with "\\x1af" is a number, and an object's key "\\x1ao" holds the order of the
other keys. Most text and most objects have nothing of this and stay as they are.
"""

import json
import re
from collections.abc import Mapping
from math import copysign
from typing import Any

_MARK = "\x1a"
_MARKED = "\\u001a"
_NUMBER = _MARK + "f"
_ORDER = _MARK + "o"
_ESCAPES = re.compile(f"{_MARK}([01])")


def escape(text: str) -> str:
    """Return text without U+0000 that `restore` turns back."""
    if "\x00" not in text and _MARK not in text:
        return text
    return text.replace(_MARK, _MARK + "1").replace("\x00", _MARK + "0")


def restore(text: str) -> str:
    """Return the text that `escape` was given."""
    if _MARK not in text:
        return text
    return _ESCAPES.sub(lambda match: "\x00" if match[1] == "0" else _MARK, text)


def dump(value: Any) -> str:
    """Return plain JSON as text that a JSONB column keeps."""
    return json.dumps(_escaped(value), ensure_ascii=False, separators=(",", ":"))


def dump_fields(fields: Mapping[str, Any]) -> str:
    """Return the fields of an object, whose order does not matter, as text that a JSONB column keeps."""
    return json.dumps({name: _escaped(value) for name, value in fields.items()}, ensure_ascii=False)


def load(text: str) -> Any:
    """Return the value that `dump` was given, from the text that the column returns."""
    value = json.loads(text)
    return _restored(value) if _MARKED in text else value


def dump_text(text: str | None) -> str | None:
    """Return JSON text as text that a JSONB column keeps."""
    return None if text is None else dump(json.loads(text))


def load_text(text: str | None) -> str | None:
    """Return JSON text that is equal to what `dump_text` was given."""
    if text is None or _MARKED not in text:
        return text
    return json.dumps(load(text), ensure_ascii=False, separators=(",", ":"))


def _escaped(value: Any) -> Any:
    match value:
        case str():
            return escape(value)
        case dict():
            return _escaped_object(value)
        case list() | tuple():
            return [_escaped(item) for item in value]
        case float() if "e+" in repr(value) or (value == 0 and copysign(1, value) < 0):
            return _NUMBER + repr(value)
        case _:
            return value


def _escaped_object(value: dict[str, Any]) -> dict[str, Any]:
    escaped = {escape(key): _escaped(item) for key, item in value.items()}
    kept = sorted(escaped, key=_key_order)
    if kept != list(escaped):
        places = {key: place for place, key in enumerate(kept)}
        escaped[_ORDER] = [places[key] for key in escaped]
    return escaped


def _key_order(key: str) -> tuple[int, bytes]:
    """Return what JSONB sorts keys by."""
    raw = key.encode()
    return len(raw), raw


def _restored(value: Any) -> Any:
    match value:
        case str():
            return float(value.removeprefix(_NUMBER)) if value.startswith(_NUMBER) else restore(value)
        case dict():
            kept = sorted((key for key in value if key != _ORDER), key=_key_order)
            keys = [kept[place] for place in value.get(_ORDER, range(len(kept)))]
            return {restore(key): _restored(value[key]) for key in keys}
        case list():
            return [_restored(item) for item in value]
        case _:
            return value
