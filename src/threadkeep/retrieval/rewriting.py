"""Rewriting for callers that cannot wait in an event loop, such as a synchronous node of a graph."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from threadkeep.conversation.message import Message
from threadkeep.retrieval.base import Rewrite, Rewriter


def rewrite_sync(rewriter: Rewriter, question: str, history: Sequence[Message]) -> Rewrite:
    """Return what `rewriter.rewrite` returns. It runs in a thread, so it may be called beside a running event loop."""
    with ThreadPoolExecutor(1, thread_name_prefix="threadkeep-rewrite") as thread:
        return thread.submit(lambda: asyncio.run(rewriter.rewrite(question, history))).result()
