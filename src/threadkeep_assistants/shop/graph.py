"""The shop's agent, a LangGraph graph: router, then tool, or reformulator and retriever, then generator.

    router ──tool──▶ tool ──▶ (the call is stored and run by Threadkeep, then the graph runs again)
       │ ──retrieve──▶ reformulator ──▶ retriever ──▶ generator
       └──respond──────────────────────────────────▶ generator

Threadkeep keeps the history and hands it in; nothing is kept here between two questions but the index.
"""

import asyncio
from dataclasses import replace
from typing import Annotated, Literal, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from threadkeep.conversation.blocks import Citation
from threadkeep.text.notes import note
from threadkeep.turn.lookup import Rewrite
from threadkeep_assistants.shop.catalogue import Product, brands, kind_words, named_in, products
from threadkeep_assistants.shop.question import UNREADABLE, Meaning, Question, meaning
from threadkeep_integrations.graphs.chat_model import call_message
from threadkeep_integrations.graphs.graph_agent import GraphAgent, GraphContext
from threadkeep_retrieval.base import Document, Query, Retriever, fits
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.lookup import RetrieverLookup
from threadkeep_retrieval.routing.router import Router

FOUND = 5
MOST = 100
"""How many products are put in order at most: more than there are of any kind."""
TOOL_WORDS = (
    "price of", "how much is", "how much are", "how much does", "how much do", "how expensive", "what does it cost",
    "stock", "available", "availability", "sold out", "my order", "order status", "status of order", "track", "package",
    "parcel", "arrive", "did i order", "where is order", "are left", "is left",
)  # fmt: skip
PRODUCT_WORDS = ("tvs", "product", "catalogue", "recommend", "buy", "gb", "inch", "megapixel", "rated", "review")

Route = Literal["tool", "retrieve", "respond"]


class ShopState(TypedDict, total=False):
    """`messages` is the history with the question, `context` the products that were found, as text."""

    messages: Annotated[list[AnyMessage], add_messages]
    context: list[str]
    route: Route
    tool_result: str
    reformulated_query: str


class Shop:
    """The nodes of the graph, and the index that they share."""

    def __init__(self) -> None:
        specs = {name.replace("_", " ") for product in products().values() for name in product.specs}
        words = (*kind_words(), *PRODUCT_WORDS, *sorted(brands()), *sorted(specs - {"light", "form"}))
        self._router = Router(tool_words=TOOL_WORDS, product_words=words)
        self._index: Retriever | None = None
        self._opening = asyncio.Lock()

    async def route(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Decide which way to answer; what a tool has found is told."""
        last = state["messages"][-1]
        if isinstance(last, ToolMessage):
            return {"route": "tool", "tool_result": str(last.content)}
        asked = Question.of(runtime.context.messages)
        chosen, why = self._way(asked)
        get_stream_writer()({"kind": "route", "route": chosen, "why": why})
        return {"route": chosen}

    def _way(self, asked: Question) -> tuple[Route, str]:
        """Return the way that the words ask for (R-E5); an order's number and a wish say it as well as words do."""
        if asked.order:
            return "tool", "it names an order"
        if asked.words.has("my name|who am i|who are you|about me|remember"):
            return "respond", "it is about the person"
        chosen, meant = self._router.route(asked.text, asked.spoken), meaning(asked)
        if chosen.route == "tool" and meant.how == "count" and not asked.is_about_stock:
            return "retrieve", "it asks how many there are"
        if chosen.route != "respond" or meant is UNREADABLE:
            return chosen.route, chosen.why
        if meant.wishes.kind and meant.wishes.says_something:
            return "retrieve", f"it wishes for something: {meant.wishes.text}"
        is_meant = meant.is_certain or meant.how != "search"
        return ("retrieve", meant.why) if is_meant else (chosen.route, chosen.why)

    async def reformulate(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Make the question stand alone."""
        return {"reformulated_query": await self._query(Question.of(runtime.context.messages), runtime.context)}

    async def retrieve(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Find the products that answer it."""
        asked = Question.of(runtime.context.messages)
        meant, found = await self._find(asked, state["reformulated_query"])
        told = [f"[{product.id}] {product.name}. {product.text}" for product in found]
        return {"context": [_heading(meant, found), *told]}

    async def call_tool(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Ask for the tool that the question needs, about each product that it means."""
        asked = Question.of(runtime.context.messages)
        if (order := asked.order) is not None:
            return _call(asked, "order_status", [{"order": order}])
        meant, found = await self._find(asked, await self._query(asked, runtime.context))
        if not (meant.products or meant.wishes.kind or meant.wishes.brands):
            found = []
        elif meant.wishes.order and meant.wishes.order.degree == "most":
            found = found[:1]
        tool = "check_stock" if asked.is_about_stock else "get_price"
        return _call(asked, tool, [{"product": product.name} for product in found] or [{"product": asked.text}])

    async def generate(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Let the model answer from the history and what was found, and cite the products that it names, in order."""
        answer = await runtime.context.model.ainvoke(_with_context(state))
        write, text = get_stream_writer(), str(answer.content)
        for product in named_in(text):
            write(Citation(source=product.id, title=product.name, text=product.line))  # type: ignore[call-arg]
        return {"messages": [answer]}

    async def _find(self, asked: Question, query: str) -> tuple[Meaning, list[Product]]:
        """Return what is looked for and what was found: products that are meant, or those that fit the wishes.

        A query that does not begin with the question was written by a model, and stands alone: it decides (R-E8).
        """
        stands_alone = not query.startswith(asked.text)
        meant = meaning(Question(written=query)) if stands_alone else meaning(asked)
        if meant.products or meant.how == "choice" or (meant.how == "unclear" and not meant.wishes.kind):
            return meant, list(meant.products)
        text, words = (query, ()) if stands_alone else (asked.text, tuple(query.removeprefix(asked.text).split()))
        if (kind := meant.wishes.kind) and kind not in text.lower():
            text = f"{text} {kind}"
        order, index = meant.wishes.order, await self._opened()
        passages = await index.search(
            Query(text=text, words=words, where=meant.wishes.where),
            limit=MOST if order else meant.wishes.count or FOUND,
        )
        found = [products()[passage.id] for passage in passages]
        if order:
            found = order.chosen(found) if order.place else order.applied(found)
        return meant, found[: meant.wishes.count or FOUND]

    async def _query(self, asked: Question, context: GraphContext) -> str:
        """Return the query that the question becomes, and put it on the trace of the answer with its reason."""
        made = await self._rewrite(asked, meaning(asked), context)
        told = {"rewritten": made.text, "words": list(made.words), "by": made.by, "why": made.why}
        get_stream_writer()({"kind": "query", "question": made.question, **told})
        return " ".join((made.text, *made.words))

    async def _rewrite(self, asked: Question, meant: Meaning, context: GraphContext) -> Rewrite:
        """Return the question as it is looked up: what is certain needs no model, everything else may ask one."""
        plain = Rewrite(question=asked.written, text=asked.text, why=meant.why)
        names = tuple(product.name for product in meant.products if product.name not in asked.text)
        by_names = replace(plain, words=names, by="words" if names else "nothing")
        if meant.is_certain:
            return by_names
        rewriter = RetrieverLookup(retriever=await self._opened()).rewriter(context.plain_model)
        rewrite = replace(await rewriter.rewrite(asked.text, asked.spoken), question=asked.written)
        if rewrite.by == "model":
            return rewrite
        if names or meant.how in ("choice", "unclear"):
            return by_names
        words = rewrite.words or ((meant.wishes.kind,) if meant.wishes.kind and meant.why else ())
        by, why = "words" if words else "nothing", meant.why or rewrite.why
        return replace(rewrite, text=asked.text, words=words, by=by, why=why)  # type: ignore[arg-type]

    async def _opened(self) -> Retriever:
        """Return the index of the catalogue, in memory; it is made when it is first needed."""
        async with self._opening:
            if self._index is None:
                index = HybridIndex.open()
                await index.add(
                    Document(id=product.id, title=product.name, text=product.text, metadata=product.metadata)
                    for product in products().values()
                )
                self._index = index
            return self._index


def agent() -> GraphAgent:
    """Return the graph as an agent: the generator speaks, the others are seen at work."""
    shop = Shop()
    graph = StateGraph[ShopState, GraphContext, ShopState, ShopState](ShopState, context_schema=GraphContext)
    graph.add_node("router", shop.route)
    graph.add_node("reformulator", shop.reformulate)
    graph.add_node("retriever", shop.retrieve)
    graph.add_node("tool", shop.call_tool)
    graph.add_node("generator", shop.generate)
    graph.add_edge(START, "router")
    graph.add_conditional_edges("router", _way, ["tool", "reformulator", "generator"])
    graph.add_edge("reformulator", "retriever")
    graph.add_edge("retriever", "generator")
    graph.add_edge("tool", END)
    graph.add_edge("generator", END)
    return GraphAgent(graph.compile(), speakers={"generator"}, shown={"route", "reformulated_query", "tool_result"})


def _way(state: ShopState) -> str:
    ways: dict[Route, str] = {"tool": "tool", "retrieve": "reformulator", "respond": "generator"}
    return "generator" if isinstance(state["messages"][-1], ToolMessage) else ways[state["route"]]


def _call(asked: Question, tool: str, wanted: list[dict[str, str]]) -> ShopState:
    made = [call_message(tool, args, f"call_{asked.id}_{place}") for place, args in enumerate(wanted)]
    return {"messages": [AIMessage(content="", tool_calls=[call for each in made for call in each.tool_calls])]}


def _heading(meant: Meaning, found: list[Product]) -> str:
    """Return what was looked for, so that an answer can say it, above all if nothing was found or understood."""
    wanted = meant.wishes.text or "what was asked for"
    if meant.how == "unclear":
        return f"unclear: {meant.why}"
    if meant.how == "count":
        if meant.products or (not meant.why and not meant.wishes.text):
            return f"counted: {len(meant.products)} of those that were shown"
        count = sum(fits(product.metadata, meant.wishes.where) for product in products().values())
        return f"counted: {count} in the catalogue fit: {wanted}"
    if not found:
        return f"{'none of those shown' if meant.how == 'choice' else 'nothing in the catalogue'} fits: {wanted}"
    aside = f" ({meant.why})" if meant.why.startswith("none") else ""
    return meant.why if meant.products else f"looked for: {meant.wishes.text or 'anything that fits'}{aside}"


def _with_context(state: ShopState) -> list[AnyMessage]:
    """Return the history for the model, with what was found beside the question."""
    messages, found = state["messages"], state.get("context")
    if not found:
        return messages
    place = max(index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
    told = note("\n".join(["products found for the question below", *found]))
    asked = HumanMessage(content=f"{told}\n\n{messages[place].content}", id=messages[place].id)
    return [*messages[:place], asked, *messages[place + 1 :]]
