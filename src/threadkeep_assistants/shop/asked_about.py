"""What is asked about products: their price, their reviews, a specification, and what the catalogue does not tell."""

import re
from collections.abc import Sequence
from functools import cache

from threadkeep.conversation.stop_words import STOP_WORDS
from threadkeep.conversation.word_stem import stem
from threadkeep.routing.signs import Wording
from threadkeep_assistants.shop.catalogue import Product, brands, products
from threadkeep_assistants.shop.features import ALSO, features_in, units
from threadkeep_assistants.shop.measures import speaks_of_amounts
from threadkeep_assistants.shop.names import corrected, kind_words
from threadkeep_assistants.shop.wishes import wishes_in

_SAID = {
    "weight": r"\bweigh\w*|\bheav\w+|\blight(?:er|est)?\b",
    "screen": r"\bhow (?:big|large)\b|\bdisplay\b|\binch(?:es)?\b",
    "memory": r"\bram\b",
    "battery": r"\bcharg\w+|\bhow long (?:does|do|will) (?:it|they) (?:last|run)\b",
    "camera": r"\bphotos?\b|\bpictures?\b|\bmegapixels?\b",
    "price": r"\bpric\w+|\bcosts?\b|\bexpensive\b|\bcheap\w*|\bhow much\b",
    "rating": r"\brat(?:ing|ings|ed)\b|\bstars?\b|\b(?:any )?good\b(?= *[?!.]|$)|\bbest\b|\bbetter\b(?= *[?!.]|$)",
    "reviews": r"\breviews?\b|\bpeople (?:say|think)\b|\bopinions?\b|\bcustomers?\b|\bany good\b|\bcomplaints?\b",
}
_ASKING = """recommend recommendation catalogue alternative decent nice gift choose pick suggest advise advice budget
dollar euro buck usd photo picture weigh customer complaint opinion star spec prefer tvs versus else another anything
something nothing maximum minimum sorted similar looking life even only still
kosten erzähl mehr zweite erste cuestan menos dólares"""
_SPOKEN = frozenset(map(stem, _ASKING.split()))
"""Words that ask, and name nothing that a catalogue could be silent about."""
_NEVER_TOLD = frozenset({"size", "warranty", "guarantee", "delivery", "shipping", "return", "material", "discount"})
"""General words that people ask about, and no catalogue of ours answers."""


def aspects(question: str, found: Sequence[Product]) -> tuple[str, ...]:
    """Return what a question asks about products: names of specifications, "price", "rating" or "reviews"."""
    kind, lower = found[0].kind, question.lower()
    words = {stem(word) for word in re.findall(r"[a-z]+", lower)}
    named = [name for name in found[0].specs if set(map(stem, name.split("_"))) <= words]
    said = [name for name, pattern in _SAID.items() if re.search(pattern, lower)]
    held = [name for feature in features_in(question, kind) for name in _holding(feature, kind)]
    wishes = wishes_in(question, kind)
    counted = [limit.field for limit in wishes.limits] + ([wishes.order.field] if wishes.order else [])
    if "how many" in lower:
        named += [field.replace(" ", "_") for field, (unit, _, _) in units(kind).items() if stem(unit) in words]
    every = dict.fromkeys([*named, *said, *held, *(name.replace(" ", "_") for name in counted)])
    known = {"price", "rating", "reviews", *found[0].specs}
    return tuple(name for name in every if name in known)


def aspect(product: Product, name: str) -> str:
    """Return what the catalogue says about one aspect of a product."""
    if name == "price":
        return f"${product.price}"
    if name == "rating":
        return f"rated {product.rating} of 5"
    if name == "reviews":
        return "reviews: " + " ".join(f"“{review}”" for review in product.reviews)
    return f"{name.replace('_', ' ')}: {product.specs.get(name, 'not said')}"


def unknown_words(question: str, found: Sequence[Product]) -> tuple[str, ...]:
    """Return the words of a question that name something which the catalogue never says of such products."""
    wording, known = Wording(corrected(question)), frozenset().union(*(_words(product.kind) for product in found))
    specific = [
        (word, wording.written[at])
        for at, word in enumerate(wording.words)
        if at in wording.specific or stem(word) in _NEVER_TOLD
    ]
    return tuple(
        dict.fromkeys(
            written
            for word, written in specific
            if word.isalpha() and not _only_asks(word) and not _is_known(stem(word), known)
        )
    )[:3]


def _only_asks(word: str) -> bool:
    return stem(word) in _SPOKEN or "".join(sorted(word)) in _shuffled() or speaks_of_amounts(word)


def _holding(feature: str, kind: str) -> list[str]:
    """Return the specification that a feature is told in."""
    return list(
        dict.fromkeys(
            name
            for product in products().values()
            if product.kind == kind
            for name, value in product.specs.items()
            if feature == name.replace("_", " ") or feature in value.lower()
        )
    )


def _is_known(word: str, known: frozenset[str]) -> bool:
    """Whether a word, or another form of it, is known: "programming" where programs are spoken of."""
    start = word[: max(4, len(word) - 4)]
    return word in known or (len(word) > 4 and any(other.startswith(start) for other in known))


@cache
def _shuffled() -> frozenset[str]:
    """Return the letters of the plainest words, in order: "mroe" is no word that the catalogue could know."""
    return frozenset("".join(sorted(word)) for word in STOP_WORDS if len(word) > 2)


@cache
def _words(kind: str) -> frozenset[str]:
    texts = [f"{each.name} {each.text}" for each in products().values() if each.kind == kind]
    words = [*kind_words(), *brands(), *ALSO, *texts]
    return frozenset(stem(word) for text in words for word in re.findall(r"[^\W\d_]+", text.lower()))
