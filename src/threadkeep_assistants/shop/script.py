"""What the scripted demo says as the shop's generator: it reads out what the graph has found, and cites it.

It tells only what the catalogue says. Where a question asks for something that is not in there, or was not understood,
it says so.
"""

from collections.abc import Sequence
from functools import cache

from threadkeep.conversation.stop_words import STOP_WORDS
from threadkeep.conversation.word_stem import stem
from threadkeep.llm.general_script import GENERAL
from threadkeep.llm.script import Reply, Result, Scene, Script
from threadkeep_assistants.shop.catalogue import Product, corrected, kinds, products, words_of
from threadkeep_assistants.shop.wishes import AMOUNTS, wishes_in
from threadkeep_assistants.vocabulary.words import GRAMMAR, Text, word_set

_FOUND = "products found for the question below\n"
_LOOKED_FOR = "looked for: "
_ASPECTS = {
    "weight": "weigh*|heav*|light|lighter|lightest",
    "screen": "how big|how large|display|inch|inches",
    "memory": "ram",
    "battery": "charg*|how long does it last|how long do they last",
    "camera": "photo|photos|picture|pictures|megapixels",
    "price": "pric*|cost|costs|expensive|cheap*|how much",
    "rating": "rating*|rated|star|stars|any good|best|better",
    "reviews": "review*|people say|people think|opinion*|customer*|any good|complaint*",
}
_RANGE = (
    "do you sell|do you offer|can i buy|what kind|what kinds|which kinds|what types|what products|your catalogue"
    "|your products|what do you have"
)
_ASKING = word_set(
    "recommend recommendation catalogue alternative decent nice gift choose pick suggest advise advice budget dollar"
    " euro buck usd photo picture weigh customer complaint opinion star spec prefer versus else another anything next"
    " something nothing maximum minimum sorted similar looking life even only still tell show give find need want buy"
    " compare difference list runner first second third fourth fifth last top bottom detail info know like please say"
    " thanks people come long much many sell offer supply describe rating cost other rest previous runner"
)
"""Words that ask, and name nothing that a catalogue could be silent about."""


def tell(scene: Scene) -> Reply | None:
    """Tell what was found: one product in full, some beside each other, what was asked about them, or a list."""
    told = next((text for text in scene.notes if text.startswith(_FOUND)), None)
    if told is None or scene.results:
        return None
    heading, *lines = told.removeprefix(_FOUND).splitlines()
    if heading.startswith("unclear"):
        return Reply(text=f"I am scripted and did not understand which products you mean: {heading[9:]}. Name them.")
    if heading.startswith("counted: "):
        return Reply(text=f"{heading.removeprefix('counted: ')}.")
    found = [products()[line[1:5]] for line in lines if line.startswith("[P") and line[1:5] in products()]
    if not found:
        what, _, wishes = heading.partition(" fits: ")
        return Reply(text=f"I found {what} in the catalogue that fits ({wishes}).")
    text = Text(corrected(scene.question))
    missing = _unknown_words(text, found)
    silent = f"The catalogue says nothing about {' or '.join(f'“{word}”' for word in missing)}." if missing else ""
    return Reply(text=f"{silent}\n\n{_answer(text, found, heading)}".strip())


def _answer(text: Text, found: Sequence[Product], heading: str) -> str:
    wanted, is_meant = _aspects(text, found[0]), not heading.startswith(_LOOKED_FOR)
    is_choice = len(found) == 2 and is_meant and text.has("better|or|both")
    if len(found) > 1 and (text.has("compar*|versus|vs|difference*|beside|side by side") or is_choice):
        return _compared(found)
    if len(found) == 1:
        one, told = found[0], "; ".join(_aspect(found[0], name) for name in wanted)
        return f"**{one.name}** [{one.id}], {one.kind}: {told}" if told and is_meant else _described(one)
    beside = [name for name in wanted if name not in ("price", "rating") and (is_meant or name != "reviews")]
    lines = [
        f"{place}. {'; '.join([each.line, *(_aspect(each, name) for name in beside)])} [{each.id}]"
        for place, each in enumerate(found, 1)
    ]
    lead = "Here they are:" if is_meant else f"This is what I would look at ({heading.removeprefix(_LOOKED_FOR)}):"
    return "\n".join([lead, "", *lines])


def _aspects(text: Text, product: Product) -> list[str]:
    """Return what a question asks about products: names of specifications, "price", "rating" or "reviews"."""
    wishes = wishes_in(text, product.kind)
    wished = {each.field.removeprefix("has ") for each in wishes.conditions} | {
        wishes.order.field if wishes.order else ""
    }
    said = [name for name, phrases in _ASPECTS.items() if text.has(phrases)]
    for name, value in product.specs.items():
        spec = name.replace("_", " ")
        said += [name] if text.has(spec) or {spec, value.lower()} & wished else []
    known = (*(name for name in ("price", "rating") if name in wished), *said)
    return [name for name in dict.fromkeys(known) if name in ("price", "rating", "reviews", *product.specs)]


def _unknown_words(text: Text, found: Sequence[Product]) -> list[str]:
    """Return the words of a question that name something which the catalogue never says of such products."""
    known = frozenset().union(*(_stems(product.kind) for product in found))
    graded = {each.at for each in text.graded(AMOUNTS)}
    words = [word.text for at, word in enumerate(text.words) if word.text.isalpha() and at not in graded]
    strange = [word for word in words if len(word) > 2 and word not in STOP_WORDS and word not in GRAMMAR]
    return list(dict.fromkeys(word for word in strange if stem(word) not in known and word[:-1] not in known))[:3]


@cache
def _stems(kind: str) -> frozenset[str]:
    return frozenset(map(stem, words_of(kind) | _ASKING))


def _aspect(product: Product, name: str) -> str:
    """Return what the catalogue says about one aspect of a product."""
    reviews = " ".join(f"“{review}”" for review in product.reviews)
    said = {"price": f"${product.price}", "rating": f"rated {product.rating} of 5", "reviews": f"reviews: {reviews}"}
    return said.get(name) or f"{name.replace('_', ' ')}: {product.specs.get(name, 'not said')}"


def _described(product: Product) -> str:
    specs = [f"- {name.replace('_', ' ')}: {value}" for name, value in product.specs.items()]
    reviews = [f"> {review}" for review in product.reviews]
    head = f"**{product.name}** [{product.id}]: {product.kind} for {product.made_for}, ${product.price}."
    return "\n".join([head, "", *specs, "", f"Rated {product.rating} of 5:", "", *reviews])


def _compared(found: Sequence[Product]) -> str:
    names = list(dict.fromkeys(name for product in found for name in product.specs))
    rows = [["price", *(f"${each.price}" for each in found)], ["rating", *(str(each.rating) for each in found)]]
    rows += [[name.replace("_", " "), *(each.specs.get(name, "") for each in found)] for name in names]
    head = "".join(f" {each.name} [{each.id}] |" for each in found)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| |{head}", "|---" * (len(found) + 1) + "|", *lines])


def read_out(scene: Scene) -> Reply | None:
    """Read out what the tools say, product by product."""
    return Reply(text="\n\n".join(map(_said, scene.results))) if scene.results else None


def _said(result: Result) -> str:
    if result.error:
        return f"I could not find that out: {result.error}"
    found = result.value
    match result.tool:
        case "get_price":
            return f"The {found['product']} costs ${found['price']} [{found['id']}]."
        case "check_stock":
            pieces = f"{found['pieces']} pieces are there" if found["pieces"] else "it is sold out at the moment"
            return f"{found['product']} [{found['id']}]: {pieces}."
        case _:
            day = f" ({found['day']})" if found["day"] else ""
            return f"Order {found['order']}, {found['product']}: {found['status']}{day}."


def tell_range(scene: Scene) -> Reply | None:
    """Say what the shop sells."""
    has_found = any(text.startswith(_FOUND) for text in scene.notes)
    return Reply(text=_range()) if Text(scene.question).has(_RANGE) and not has_found else None


def give_up(scene: Scene) -> Reply | None:
    """Say what the shop knows where a question is about something else; small talk is left to the demo model."""
    if scene.results or GENERAL.reply(scene) is not None:
        return None
    return Reply(text=f"I am scripted and did not understand that. {_range()} I also know prices, stock and orders.")


def _range() -> str:
    return f"The catalogue has {', '.join(sorted(kinds()))}. It is invented."


SCRIPT = Script(
    rules=(read_out, tell_range, tell, give_up),
    examples=(
        "Which phones are under $500?",
        "Tell me more about the Samsung one",
        "Is it in stock?",
        "Where is my order A1002?",
    ),
)
