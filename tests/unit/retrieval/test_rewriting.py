"""Rewriting without an event loop."""

from tests.unit.retrieval.strict_retriever import StrictRetriever
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.base import rewrite_sync
from threadkeep.retrieval.words_rewriter import WordsRewriter

HISTORY = (Message(role=Role.USER, content="Tell me about the Fairphone"),)
REWRITER = WordsRewriter(StrictRetriever({"fairphone": 0.9}))


def test_a_synchronous_caller_gets_the_same() -> None:
    assert rewrite_sync(REWRITER, "What does it weigh?", HISTORY).words == ("Fairphone",)


async def test_it_may_be_called_beside_a_running_event_loop() -> None:
    assert rewrite_sync(REWRITER, "What does it weigh?", HISTORY) == await REWRITER.rewrite(
        "What does it weigh?", HISTORY
    )
