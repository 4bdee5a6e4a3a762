"""A LangGraph app whose threads are conversations: what it says is shown, searched and exported like everything else,
a question to a person waits through a restart, and a process that dies goes on where it was.

    python examples/langgraph_chat.py            ask; the second call goes on with the same thread
    threadkeep serve                             the same conversation, in a browser

It runs without a key: the model is played.
"""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

import threadkeep
from threadkeep_integrations.langgraph import LogCheckpointer


def plan(state: MessagesState) -> dict[str, list[AIMessage]]:
    return {"messages": [AIMessage("I would delete old.txt.")]}


def act(state: MessagesState) -> dict[str, list[AIMessage]]:
    answer = interrupt("May I delete old.txt?")
    return {"messages": [AIMessage("It is deleted." if answer == "yes" else "I left it.")]}


def app(saver: LogCheckpointer):  # type: ignore[no-untyped-def] # a compiled graph has a type of four parameters
    graph = StateGraph(MessagesState)
    graph.add_node("plan", plan)
    graph.add_node("act", act)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "act")
    return graph.compile(checkpointer=saver)


async def main(url: str = "sqlite:///threadkeep.db") -> list[str]:
    thread: RunnableConfig = {"configurable": {"thread_id": "files"}}
    async with threadkeep.open(url) as conversations:
        graph = app(LogCheckpointer(conversations))
        waiting = (await graph.aget_state(thread)).interrupts
        given: Any = Command(resume="yes") if waiting else {"messages": [("user", "Tidy up, please.")]}
        await graph.ainvoke(given, thread)
        conversation = await conversations.get("files")
        said = [f"{message.role}: {message.content}" for message in await conversation.messages()]
        print("\n".join(said))
        return said


if __name__ == "__main__":
    asyncio.run(main())
