"""What the scripted demo says as the shop's generator: it reads out what the graph has found, and cites it.

It tells only what the catalogue says. Where a question asks for something that is not in there, it says so.
"""

import re
from collections.abc import Sequence

from threadkeep.llm.general_script import GENERAL
from threadkeep.llm.script import Reply, Result, Scene, Script, asked
from threadkeep_assistants.shop.asked_about import aspect, aspects, unknown_words
from threadkeep_assistants.shop.catalogue import Product, kinds, products

_FOUND = "products found for the question below\n"
_LOOKED_FOR = "looked for: "
_ID = re.compile(r"^\[(P\d{3})\]", re.MULTILINE)
_COMPARES = re.compile(r"\b(?:compar\w+|versus|vs|differences?|beside|side by side)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\b(?:better|or|both)\b", re.IGNORECASE)
_RANGE = (
    r"\bwhat (?:else )?(?:do|can) (?:you|i) (?:sell|have|offer|buy)\b"
    r"|\b(?:what|which) (?:kinds?|types?|sorts?|categor\w+)\b"
    r"|\bwhat products\b|\byour (?:catalogue|range|products)\b"
)


def _tell(scene: Scene) -> Reply | None:
    """Tell what was found: one product in full, some beside each other, what was asked about them, or a list."""
    told = next((text for text in scene.notes if text.startswith(_FOUND)), None)
    if told is None or scene.results:
        return None
    heading = told.removeprefix(_FOUND).splitlines()[0]
    found = [products()[id] for id in _ID.findall(told) if id in products()]
    if not found:
        what, _, wishes = heading.partition(" fits: ")
        return Reply(text=f"I found {what} in the catalogue that fits ({wishes}).")
    missing = unknown_words(scene.question, found)
    silent = f"The catalogue says nothing about {' or '.join(f'“{word}”' for word in missing)}." if missing else ""
    return Reply(text=f"{silent}\n\n{_answer(scene.question, found, heading)}".strip())


def _answer(question: str, found: Sequence[Product], heading: str) -> str:
    wanted, is_meant = aspects(question, found), not heading.startswith(_LOOKED_FOR)
    if len(found) > 1 and (_COMPARES.search(question) or (len(found) == 2 and _CHOICE.search(question) and is_meant)):
        return _compared(found)
    if len(found) == 1:
        return _told_about(found[0], wanted) if wanted and is_meant else _described(found[0])
    beside = [name for name in wanted if is_meant or name not in ("price", "rating", "reviews")]
    lines = [f"{place}. {_line(product, beside)}" for place, product in enumerate(found, 1)]
    lead = "Here they are:" if is_meant else f"This is what I would look at ({heading.removeprefix(_LOOKED_FOR)}):"
    return "\n".join([lead, "", *lines])


def _line(product: Product, wanted: Sequence[str]) -> str:
    told = [aspect(product, name) for name in wanted if name not in ("price", "rating")]
    return f"{'; '.join([product.line, *told])} [{product.id}]"


def _told_about(product: Product, wanted: Sequence[str]) -> str:
    return f"**{product.name}** [{product.id}], {product.kind}: {'; '.join(aspect(product, name) for name in wanted)}"


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


def _read_out(scene: Scene) -> Reply | None:
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


def _range() -> str:
    return f"The catalogue has {', '.join(sorted(kinds()))}. It is invented."


def _give_up(scene: Scene) -> Reply | None:
    """Say what the shop knows where a question is about something else; small talk is left to the demo model."""
    if scene.results or GENERAL.reply(scene) is not None:
        return None
    return Reply(text=f"I cannot help with that. {_range()} I also know prices, what is in stock, and orders.")


SCRIPT = Script(
    rules=(
        _read_out,
        asked(_RANGE, lambda _match, _scene: _range()),
        _tell,
        _give_up,
    ),
    examples=(
        "Which phones are under $500?",
        "Tell me more about the Samsung one",
        "Is it in stock?",
        "Where is my order A1002?",
    ),
)
