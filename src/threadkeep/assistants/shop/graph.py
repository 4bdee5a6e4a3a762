"""The shop's mind, a LangGraph graph: router, then tool, or reformulator and retriever, then generator.

    router ──tool──▶ tool ──▶ (the call is stored and run by Threadkeep, then the graph runs again)
       │ ──retrieve──▶ reformulator ──▶ retriever ──▶ generator
       └──respond──────────────────────────────────▶ generator

Threadkeep keeps the history and hands it in; nothing is kept here between two questions but the index.
"""

import asyncio

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from threadkeep.assistants.shop.catalogue import products
from threadkeep.assistants.shop.meaning import meant
from threadkeep.assistants.shop.question import Question
from threadkeep.assistants.shop.state import Route, ShopState
from threadkeep.assistants.shop.vocabulary import router
from threadkeep.assistants.shop.wishes import changes_kind, filters
from threadkeep.context.marks import note
from threadkeep.conversation.blocks import Citation
from threadkeep.graphs.chat_model import call_message
from threadkeep.graphs.graph_mind import GraphContext, GraphMind
from threadkeep.retrieval.base import Document, Passage, Query, Retriever, Rewrite
from threadkeep.retrieval.hybrid import HybridIndex
from threadkeep.turn.lookup import Lookup

FOUND = 5
MOST = 50
"""How far down the ranking a product that is meant by name is looked for."""


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
        chosen = self._router.route(asked.text, asked.history)
        get_stream_writer()({"kind": "route", "route": chosen.route, "why": chosen.why})
        return {"route": chosen.route}

    async def reformulate(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Make the question stand alone."""
        asked = Question.of(runtime.context.messages)
        rewrite = await self._rewrite(asked, runtime.context)
        get_stream_writer()(_told(rewrite))
        return {"reformulated_query": " ".join((rewrite.text, *rewrite.words))}

    async def retrieve(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Find the products that answer it."""
        asked = Question.of(runtime.context.messages)
        found = await self._find(asked, state["reformulated_query"])
        return {"context": [f"[{passage.id}] {passage.title}. {passage.text}" for passage in found]}

    async def call_tool(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Ask for the tool that the question needs, about the product that it means."""
        asked = Question.of(runtime.context.messages)
        if (order := asked.order) is not None:
            return _call(asked, "order_status", {"order": order})
        rewrite = await self._rewrite(asked, runtime.context)
        found = await self._find(asked, " ".join((rewrite.text, *rewrite.words)))
        tool = "check_stock" if asked.is_about_stock else "get_price"
        return _call(asked, tool, {"product": found[0].title if found else asked.text})

    async def generate(self, state: ShopState, runtime: Runtime[GraphContext]) -> ShopState:
        """Let the model answer from the history and what was found, and cite the products that it names."""
        answer = await runtime.context.model.ainvoke(_with_context(state))
        write = get_stream_writer()
        for product in products().values():
            if product.name in str(answer.content) or f"[{product.id}]" in str(answer.content):
                write(Citation(source=product.id, title=product.name, text=product.line))  # type: ignore[call-arg]
        return {"messages": [answer]}

    async def _find(self, asked: Question, query: str) -> list[Passage]:
        words = tuple(query.removeprefix(asked.text).split())
        where = filters(asked.text, asked.history, words)
        index, wanted = await self._opened(), {product.id for product in meant(asked)}
        query_of = Query(text=asked.text if words else query, words=words, where=() if wanted else where)
        found = await index.search(query_of, limit=MOST if wanted else FOUND)
        return [passage for passage in found if passage.id in wanted] if wanted else found

    async def _rewrite(self, asked: Question, context: GraphContext) -> Rewrite:
        if names := [product.name for product in meant(asked) if product.name not in asked.text]:
            why = f"it means {' and '.join(names)}"
            return Rewrite(question=asked.text, text=asked.text, words=tuple(names), by="words", why=why)
        if changes_kind(asked.text, asked.history):
            return Rewrite(question=asked.text, text=asked.text, why="it asks for another kind of product")
        rewriter = Lookup(retriever=await self._opened()).rewriter(context.plain_model)
        return await rewriter.rewrite(asked.text, asked.history)

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
            metadata={"kind": product.kind, "brand": product.brand, "price": product.price, "rating": product.rating},
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


def _call(asked: Question, tool: str, args: dict[str, str]) -> ShopState:
    return {"messages": [call_message(tool, args, f"call_{asked.id}")]}


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
    told = note("\n".join(["products found for the question below:", *found]))
    asked = HumanMessage(content=f"{told}\n\n{messages[place].content}", id=messages[place].id)
    return [*messages[:place], asked, *messages[place + 1 :]]
