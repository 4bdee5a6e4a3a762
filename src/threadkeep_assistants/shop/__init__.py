"""The shop: finds products in a catalogue and understands follow-ups. An example of how to bring your own graph.

The graph is loaded when the first question comes, because that takes a while: it needs the extras `retrieval` and
`langgraph`, and where these are missing there is no shop.
"""

from importlib.util import find_spec

from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.shop.script import SCRIPT
from threadkeep_assistants.shop.tools import check_stock, get_price, order_status

for _package in ("langgraph", "sqlite_vec", "wordllama"):
    if find_spec(_package) is None:
        raise ModuleNotFoundError(f"No module named '{_package}'", name=_package)

ASSISTANT = Assistant(
    name="shop",
    description="Helps to find a product in an invented catalogue of electronics, and knows prices, stock and orders.",
    instructions=(
        "You advise in a shop. Answer only from the products that were found for the question and from what the tools "
        "say; if nothing fits, say so. Name a product by its whole name, followed by its id in square brackets: "
        "[P017]. The catalogue is invented. Be brief."
    ),
    examples=("Which phones are under $500?", "Headphones for running", "Where is my order A1002?"),
    tools=Registry([get_price, check_stock, order_status]),
    script=SCRIPT,
    agent="threadkeep_assistants.shop.graph:agent",
)
