"""What the scripted demo says as the shop's generator: it reads out what the graph has found, and cites it.

It tells only what the catalogue says. Where a question was not understood, it says so.
"""

from collections.abc import Sequence

from threadkeep_assistants.demo.general_script import GENERAL
from threadkeep_assistants.demo.script import Reply, Result, Scene, Script
from threadkeep_assistants.shop.catalogue import Product, kinds, products

_FOUND = "products found for the question below\n"
_LOOKED_FOR = "looked for: "


def tell(scene: Scene) -> Reply | None:
    """Tell what was found."""
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
        return Reply(text=f"I found {what} that fits ({wishes}).")
    return Reply(text=_answer(found, heading))


def _answer(found: Sequence[Product], heading: str) -> str:
    """Return a list of what was looked for; what the question means is told in full, several beside each other."""
    if len(found) == 1:
        return _described(found[0])
    if not heading.startswith(_LOOKED_FOR):
        return _compared(found)
    lines = [f"{place}. {each.line} [{each.id}]" for place, each in enumerate(found, 1)]
    return "\n".join([f"This is what I would look at ({heading.removeprefix(_LOOKED_FOR)}):", "", *lines])


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


def give_up(scene: Scene) -> Reply | None:
    """Say what the shop knows where a question is about something else; small talk is left to the demo model."""
    if scene.results or GENERAL.reply(scene) is not None:
        return None
    return Reply(text=f"I am scripted and did not understand that. {_range()} I also know prices, stock and orders.")


def _range() -> str:
    return f"The catalogue has {', '.join(sorted(kinds()))}. It is invented."


SCRIPT = Script(
    rules=(read_out, tell, give_up),
    examples=(
        "Which phones are under $500?",
        "Tell me more about the Samsung one",
        "Is it in stock?",
        "Where is my order A1002?",
    ),
)
