"""A chain of LangChain whose history is a conversation that outlives the process.

    pip install 'threadkeep[langchain]'
    python examples/langchain_chat.py "How is Oslo?"
    python examples/langchain_chat.py "And what did I ask first?"
    threadkeep serve

It runs without a key: the model is played. The page of `threadkeep serve` shows the conversation.
"""

import os
import sys

from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables.history import RunnableWithMessageHistory

import threadkeep


def main(question: str) -> None:
    """Ask the chain, and print all that was said so far."""
    with threadkeep.ConversationStore(os.environ.get("THREADKEEP_STORE", "sqlite:///threadkeep.db")) as store:
        model = FakeListChatModel(responses=["Cold. Take a coat."])
        chain = RunnableWithMessageHistory(model, store.langchain_history)
        chain.invoke(question, {"configurable": {"session_id": "oslo"}})
        for message in store.langchain_history("oslo").messages:
            print(f"{message.type}: {message.content}")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["How is Oslo?"])
