"""Names of kinds and brands in what people write: plurals, other words, other languages, and slips of the finger."""

import re
from difflib import get_close_matches
from functools import cache

from threadkeep.conversation.stop_words import STOP_WORDS
from threadkeep_assistants.shop.catalogue import brands, kinds, products

_ALSO = {
    "phone": "smartphone mobile handset handy telefon smartphones teléfono móvil téléphone iphone",
    "laptop": "notebook ultrabook portátil",
    "tablet": "tableta tablette ipad",
    "headphones": "headphone headset earbud earphone kopfhörer auricular casque",
    "television": "tv telly fernseher televisor téléviseur",
    "camera": "kamera cámara caméra",
    "watch": "smartwatch armbanduhr reloj montre",
    "vacuum cleaner": "vacuum hoover staubsauger aspiradora aspirateur",
    "coffee machine": "espresso coffee cafetera kaffeemaschine cafetière",
    "monitor": "screen bildschirm écran",
    "speaker": "loudspeaker soundbar lautsprecher altavoz enceinte",
    "keyboard": "tastatur teclado clavier",
    "printer": "drucker impresora imprimante",
}
_MODELS = {
    "iphone": "Apple", "ipad": "Apple", "macbook": "Apple", "airpods": "Apple", "galaxy": "Samsung", "pixel": "Google",
    "thinkpad": "Lenovo", "roomba": "iRobot",
}  # fmt: skip
"""What people say for a brand."""
_NOT = re.compile(
    r"\b(?:not|no|except|other than|besides|but not|anything but|without)\s+(?:the |an? |from |by )?$", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[^\W\d_]{5,}")
_CLOSE = 0.85
"""How alike a word must be to one that is known."""


def kind_in(text: str) -> str | None:
    """Return the kind of product that a text speaks of, if it is only one."""
    found = set(kinds_in(text))
    return found.pop() if len(found) == 1 else None


def kinds_in(text: str) -> list[str]:
    """Return the kinds of products that a text speaks of. The camera of a phone is none."""
    lower = f" {' '.join(_TOKEN.findall(text.lower()))} "
    words = {word: kind for word, kind in kind_words().items() if any(f" {form} " in lower for form in _forms(word))}
    parts = {spec for kind in words.values() for spec in _specs(kind)}
    named = {word for word in words if f" {word} " not in lower or word not in parts}
    return [kind for word, kind in words.items() if word in named or set(words.values()) == {kind}]


def brands_in(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the brands that a text asks for, and those that it does not want."""
    wanted, unwanted = list[str](), list[str]()
    for brand in sorted(brands()):
        said = "|".join(re.escape(word) for word in (brand, *(model for model, of in _MODELS.items() if of == brand)))
        if place := re.search(rf"\b(?:{said})s?\b", text, re.IGNORECASE):
            (unwanted if _NOT.search(text[: place.start()]) else wanted).append(brand)
    return tuple(wanted), tuple(unwanted)


def corrected(text: str) -> str:
    """Return a text with the names of kinds and brands put right where a finger slipped."""
    return _WORD.sub(lambda match: _known(match[0]), text)


@cache
def _specs(kind: str) -> frozenset[str]:
    return frozenset(spec for product in products().values() if product.kind == kind for spec in product.specs)


@cache
def kind_words() -> dict[str, str]:
    """Return every word for a kind, with the kind."""
    return {name: name for name in kinds()} | {word: kind for kind, words in _ALSO.items() for word in words.split()}


def _forms(name: str) -> tuple[str, ...]:
    return name, f"{name}s", f"{name}es"


def _known(word: str) -> str:
    lower = word.lower()
    if lower in _right() or lower in STOP_WORDS:
        return word
    names = [name for name in _names() if name[0] == lower[0] and abs(len(name) - len(lower)) <= 1]
    return next(iter(get_close_matches(lower, names, n=1, cutoff=_CLOSE)), word)


@cache
def _names() -> frozenset[str]:
    words = [form for name in kind_words() for form in _forms(name)] + [brand.lower() for brand in brands()]
    return frozenset(word for word in words if " " not in word and len(word) >= 5)


@cache
def _right() -> frozenset[str]:
    """Return the words of the catalogue: none of them is a slip."""
    texts = (f"{product.name} {product.text}" for product in products().values())
    return _names() | frozenset(word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower()))
