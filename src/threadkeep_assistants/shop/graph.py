"""The shop's mind, a LangGraph graph: router, then tool, or reformulator and retriever, then generator.

    router ──tool──▶ tool ──▶ (the call is stored and run by Threadkeep, then the graph runs again)
       │ ──retrieve──▶ reformulator ──▶ retriever ──▶ generator
       └──respond──────────────────────────────────▶ generator

Threadkeep keeps the history and hands it in; nothing is kept here between two questions but the index.
"""

import asyncio
from dataclasses import replace

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from threadkeep.context.marks import note
from threadkeep.conversation.blocks import Citation
from threadkeep.graphs.chat_model import call_message
from threadkeep.graphs.graph_mind import GraphContext, GraphMind
from threadkeep.retrieval.base import Document, Filter, Query, Retriever, Rewrite
from threadkeep.retrieval.hybrid import HybridIndex
from threadkeep.turn.lookup import Lookup
from threadkeep_assistants.shop.catalogue import Product, named_in, products
from threadkeep_assistants.shop.features import metadata
from threadkeep_assistants.shop.meaning import Meaning, meaning
from threadkeep_assistants.shop.measures import in_order
from threadkeep_assistants.shop.question import Question
from threadkeep_assistants.shop.state import Route, ShopState
from threadkeep_assistants.shop.vocabulary import router

FOUND = 5
MOST = 100
"""How many products are put in order at most: more than there are of any kind."""


class Shop:
    """The nodes of the graph, and the index that they share."""

    def __init__(self) -> None:
        self._router = router()
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
        """Return the way that the words ask for; an order's number and a wish say it as well as words do."""
        if asked.names_order:
            return "tool", "it names an order"
        if asked.is_personal:
            return "respond", "it is about the person"
        chosen = self._router.route(asked.text, asked.spoken)
        meant = meaning(asked)
        if chosen.route == "respond" and meant.wishes.kind and meant.wishes.says_something:
            return "retrieve", f"it wishes for something: {meant.wishes.text}"
        if chosen.route == "respond" and (meant.is_named or meant.is_choice):
            return "retrieve", meant.why
        return chosen.route, chosen.why

    async def reformulate(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Make the question stand alone."""
        asked = Question.of(runtime.context.messages)
        rewrite = await self._rewrite(asked, meaning(asked), runtime.context)
        get_stream_writer()(_told(rewrite))
        return {"reformulated_query": " ".join((rewrite.text, *rewrite.words))}

    async def retrieve(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Find the products that answer it."""
        asked = Question.of(runtime.context.messages)
        meant = meaning(asked)
        found = await self._find(asked, meant, state["reformulated_query"])
        told = [f"[{product.id}] {product.name}. {product.text}" for product in found]
        return {"context": [_heading(meant, found), *told]}

    async def call_tool(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Ask for the tool that the question needs, about each product that it means."""
        asked = Question.of(runtime.context.messages)
        if (order := asked.order) is not None:
            return _call(asked, "order_status", [{"order": order}])
        meant = meaning(asked)
        rewrite = await self._rewrite(asked, meant, runtime.context)
        get_stream_writer()(_told(rewrite))
        is_known = bool(meant.products or meant.wishes.kind or meant.wishes.brands)
        found = await self._find(asked, meant, " ".join((rewrite.text, *rewrite.words))) if is_known else []
        if meant.wishes.order and meant.wishes.order.degree == "most":
            found = found[:1]
        tool = "check_stock" if asked.is_about_stock else "get_price"
        return _call(asked, tool, [{"product": product.name} for product in found] or [{"product": asked.text}])

    async def generate(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Let the model answer from the history and what was found, and cite the products that it names, in order."""
        answer = await runtime.context.model.ainvoke(_with_context(state))
        write, text = get_stream_writer(), str(answer.content)
        for product in sorted(named_in(text), key=lambda each: _place(text, each)):
            write(Citation(source=product.id, title=product.name, text=product.line))  # type: ignore[call-arg]
        return {"messages": [answer]}

    async def _find(self, asked: Question, meant: Meaning, query: str) -> list[Product]:
        """Return the products that are meant, in their order, or else those that the index finds for the wishes."""
        index, words = await self._opened(), tuple(query.removeprefix(asked.text).split())
        text = asked.text if words else query
        if (kind := meant.wishes.kind) and kind not in text.lower():
            text = f"{text} {kind}"
        if meant.products or meant.is_choice:
            wanted = [Query(text=query, where=(Filter("id", "=", product.id),)) for product in meant.products]
            found = [passage for each in wanted for passage in await index.search(each, limit=1)]
            return [products()[passage.id] for passage in found]
        order = meant.wishes.order
        passages = await index.search(Query(text=text, words=words, where=meant.where), limit=MOST if order else FOUND)
        found_products = [products()[passage.id] for passage in passages]
        return in_order(found_products, order)[:FOUND] if order else found_products

    async def _rewrite(self, asked: Question, meant: Meaning, context: GraphContext) -> Rewrite:
        plain = Rewrite(question=asked.written, text=asked.text, why=meant.why)
        names = tuple(product.name for product in meant.products if product.name not in asked.text)
        if meant.is_named or meant.is_new_kind:
            return replace(plain, words=names, by="words" if names else "nothing")
        rewriter = Lookup(retriever=await self._opened()).rewriter(context.plain_model)
        rewrite = replace(await rewriter.rewrite(asked.text, asked.spoken), question=asked.written)
        if not meant.why:
            return rewrite
        if rewrite.by != "model" and (names or meant.is_choice):
            return replace(plain, words=names, by="words" if names else "nothing")
        words = rewrite.words or ((meant.wishes.kind,) if meant.wishes.kind else ())
        by = "words" if rewrite.by == "nothing" and words else rewrite.by
        return replace(rewrite, words=words if by == "words" else (), by=by, why=meant.why)

    async def _opened(self) -> Retriever:
        async with self._opening:
            self._index = self._index or await indexed()
            return self._index


async def indexed() -> HybridIndex:
    """Return a new index of the catalogue, in memory."""
    index = HybridIndex.open()
    await index.add(
        Document(
            id=product.id,
            title=product.name,
            text=product.text,
            metadata=metadata(product),
        )
        for product in products().values()
    )
    return index


def mind() -> GraphMind:
    """Return the graph as a mind: the generator speaks, the others are seen at work."""
    shop = Shop()
    graph: StateGraph[ShopState, GraphContext, ShopState, ShopState] = StateGraph(
        ShopState, context_schema=GraphContext
    )
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
    return GraphMind(graph.compile(), speakers={"generator"}, shown={"route", "reformulated_query", "tool_result"})


def _way(state: ShopState) -> str:
    ways: dict[Route, str] = {"tool": "tool", "retrieve": "reformulator", "respond": "generator"}
    return "generator" if "tool_result" in state else ways[state["route"]]


def _call(asked: Question, tool: str, wanted: list[dict[str, str]]) -> ShopState:
    calls = [
        call
        for place, args in enumerate(wanted)
        for call in call_message(tool, args, f"call_{asked.id}_{place}").tool_calls
    ]
    return {"messages": [AIMessage(content="", tool_calls=calls)]}


def _heading(meant: Meaning, found: list[Product]) -> str:
    """Return what was looked for, so that an answer can say it, above all if nothing was found."""
    if not found:
        return f"nothing{' else' if meant.excluded else ''} fits: {meant.wishes.text or 'what was asked for'}"
    return meant.why if meant.products else f"looked for: {meant.wishes.text or 'anything that fits'}"


def _place(text: str, product: Product) -> int:
    places = (text.lower().find(product.name.lower()), text.find(product.id))
    return min(place for place in places if place >= 0)


def _told(rewrite: Rewrite) -> dict[str, object]:
    """Return what was looked for and why, for the trace of the answer."""
    return {
        "kind": "query",
        "question": rewrite.question,
        "rewritten": rewrite.text,
        "words": list(rewrite.words),
        "by": rewrite.by,
        "why": rewrite.why,
    }


def _with_context(state: ShopState) -> list[AnyMessage]:
    """Return the history for the model, with what was found beside the question."""
    messages, found = state["messages"], state.get("context")
    if not found:
        return messages
    place = max(index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
    told = note("\n".join(["products found for the question below", *found]))
    asked = HumanMessage(content=f"{told}\n\n{messages[place].content}", id=messages[place].id)
    return [*messages[:place], asked, *messages[place + 1 :]]
