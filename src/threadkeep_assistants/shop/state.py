"""What the nodes of the shop's graph hand to each other."""

from typing import Annotated, Literal, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

Route = Literal["tool", "retrieve", "respond"]


class ShopState(TypedDict, total=False):
    """`messages` is the history with the question, `context` the products that were found, as text."""

    messages: Annotated[list[AnyMessage], add_messages]
    context: list[str]
    route: Route
    tool_result: str
    reformulated_query: str
