"""Make the files of other programs that imports are tested with, by those programs themselves.

    uv run --with langgraph-checkpoint-sqlite --with langgraph --with openai-agents --with langchain-community \
        --with greenlet python tests/data/make_foreign_files.py FOLDER

They were made with langgraph 1.2.20, langgraph-checkpoint-sqlite 3.1.2, openai-agents 0.24.0 and langchain-community
0.4.2, none of which is needed to run the tests. Vacuum and compress the files afterwards.
"""

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def langgraph(path: Path) -> None:
    """A thread with two branches."""
    saver = import_module("langgraph.checkpoint.sqlite").SqliteSaver
    graphs, messages = import_module("langgraph.graph"), import_module("langchain_core.messages")

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        number = len(state["messages"])
        call = {"id": f"c{number}", "name": "look", "args": {"n": number}}
        said = messages.AIMessage(f"answer {number}", tool_calls=[call])
        return {"messages": [said, messages.ToolMessage("seen", tool_call_id=call["id"]), messages.AIMessage("done")]}

    with saver.from_conn_string(str(path)) as checkpointer:
        graph = graphs.StateGraph(graphs.MessagesState)
        graph.add_node("answer", answer)
        graph.add_edge(graphs.START, "answer")
        graph.add_edge("answer", graphs.END)
        app = graph.compile(checkpointer=checkpointer)
        config = {"configurable": {"thread_id": "th-1"}}
        app.invoke({"messages": [("user", "hello")]}, config)
        first = app.get_state(config).config
        app.invoke({"messages": [("user", "more")]}, config)
        app.invoke({"messages": [("user", "other branch")]}, first)


async def agents(path: Path) -> None:
    """A session with a call of a tool."""
    session = import_module("agents").SQLiteSession("user-7", str(path))
    text = {"type": "output_text", "text": "Sunny.", "annotations": []}
    await session.add_items(
        [
            {"role": "user", "content": "weather?"},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Rome"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [text]},
        ]
    )


def langchain(path: Path) -> None:
    """A session of two messages."""
    histories = import_module("langchain_community.chat_message_histories")
    history = histories.SQLChatMessageHistory(session_id="s1", connection=f"sqlite:///{path}")
    history.add_user_message("hi")
    history.add_ai_message("hello")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    langgraph(folder / "langgraph-checkpoints.db")
    asyncio.run(agents(folder / "openai-agents.db"))
    langchain(folder / "langchain-messages.db")
