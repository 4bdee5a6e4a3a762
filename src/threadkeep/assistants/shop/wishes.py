"""What a person wishes for, read from the words: a kind of product, a brand, a price. It becomes filters of the search.

What a follow-up does not say again is taken from the question that it follows: "phones under $500", then "from Sony?".
"""

import re
from collections.abc import Iterable, Sequence

from threadkeep.assistants.shop.catalogue import brands, kinds, products
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.base import Filter

_MONEY = r"(?:us)?[$€]?\s?(?P<{}>\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\s?(?:dollars|usd|bucks|[$€]))?"
_BETWEEN = re.compile(
    rf"\b(?:between|from)\s+{_MONEY.format('low')}\s+(?:and|to)\s+{_MONEY.format('high')}", re.IGNORECASE
)
_BELOW = re.compile(
    r"\b(?:under|below|less than|cheaper than|up to|at most|max(?:imum)?|within|no more than|for less than)\s+"
    + _MONEY.format("price"),
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"\b(?:over|above|more than|at least|from|starting at|no less than)\s+" + _MONEY.format("price"), re.IGNORECASE
)
_UNIT = re.compile(
    r"^\s*(?:inch|gb|gigabytes?|hours?|mah|megapixels?|watts?|w|hz|days?|stars?|kg|g|mm?)\b", re.IGNORECASE
)
_NOT = re.compile(
    r"\b(?:not|no|except|other than|besides|but not|anything but|without)\s+(?:the |an? |from |by )?$", re.IGNORECASE
)
_SYNONYMS = {
    "smartphone": "phone",
    "mobile": "phone",
    "handset": "phone",
    "notebook": "laptop",
    "tv": "television",
    "telly": "television",
    "earbud": "headphones",
    "earphone": "headphones",
    "headset": "headphones",
    "headphone": "headphones",
    "smartwatch": "watch",
    "vacuum": "vacuum cleaner",
    "hoover": "vacuum cleaner",
    "espresso machine": "coffee machine",
    "coffee maker": "coffee machine",
    "screen": "monitor",
    "loudspeaker": "speaker",
    "soundbar": "speaker",
}


def filters(question: str, history: Sequence[Message], words: Iterable[str] = ()) -> tuple[Filter, ...]:
    """Return the conditions of a question. With `words` of the conversation beside it, it also keeps earlier wishes."""
    added = " ".join(words)
    earlier = _earlier(history) if added else []
    before = kind_before(history)
    if before and _is_part(question, before):
        return (Filter("kind", "=", before), *_brand(question), *_price(question, earlier))
    return (*_kind(question, added, earlier), *_brand(question), *_price(question, earlier))


def kind_in(text: str) -> str | None:
    """Return the kind of product that a text speaks of, if it is only one."""
    lower = f" {re.sub(r'[^a-z0-9]+', ' ', text.lower())} "
    names = {name: name for name in kinds()} | _SYNONYMS
    found = {
        kind for name, kind in names.items() if any(f" {form} " in lower for form in (name, f"{name}s", f"{name}es"))
    }
    return found.pop() if len(found) == 1 else None


def kind_before(history: Sequence[Message]) -> str | None:
    """Return the kind of product that was talked about."""
    return next((kind for text in _earlier(history) if (kind := kind_in(text))), None)


def changes_kind(question: str, history: Sequence[Message]) -> bool:
    """Whether a question asks for another kind of product; the camera of a phone is none."""
    before, now = kind_before(history), kind_in(question)
    return now is not None and before is not None and now != before and not _is_part(question, before)


def _is_part(question: str, kind: str) -> bool:
    """Whether a question names something that products of a kind have."""
    parts = {name for product in products().values() if product.kind == kind for name in product.specs}
    return bool(parts & set(re.findall(r"[a-z]+", question.lower())))


def _earlier(history: Sequence[Message]) -> list[str]:
    """Return what the person asked before, the newest first."""
    return [message.content for message in reversed(history) if message.role is Role.USER]


def _kind(question: str, added: str, earlier: Sequence[str]) -> tuple[Filter, ...]:
    said = (question, added, *earlier)
    kind = next((kind for text in said if (kind := kind_in(text))), None)
    return (Filter("kind", "=", kind),) if kind else ()


def _brand(question: str) -> tuple[Filter, ...]:
    """Return the one brand that is asked for, and those that are not wanted."""
    wanted, unwanted = list[str](), list[str]()
    for brand in sorted(brands()):
        place = re.search(rf"\b{re.escape(brand)}\b", question, re.IGNORECASE)
        if place:
            (unwanted if _NOT.search(question[: place.start()]) else wanted).append(brand)
    refused = tuple(Filter("brand", "!=", brand) for brand in unwanted)
    return (*((Filter("brand", "=", wanted[0]),) if len(wanted) == 1 else ()), *refused)


def _price(question: str, earlier: Sequence[str]) -> tuple[Filter, ...]:
    return next((found for text in (question, *earlier[:2]) if (found := _prices(text))), ())


def _prices(text: str) -> tuple[Filter, ...]:
    if between := _BETWEEN.search(text):
        return (Filter("price", ">=", _number(between["low"])), Filter("price", "<=", _number(between["high"])))
    below, above = _amount(_BELOW, text), _amount(_ABOVE, text)
    return (
        *((Filter("price", "<", below),) if below else ()),
        *((Filter("price", ">", above),) if above else ()),
    )


def _amount(pattern: re.Pattern[str], text: str) -> int | None:
    """Return an amount of money; "under 15 inch" is none."""
    found = pattern.search(text)
    return _number(found["price"]) if found and not _UNIT.match(text[found.end() :]) else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))
