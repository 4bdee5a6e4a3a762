"""A process that appends many times to one conversation: `python -m tests.acceptance.appender URL NAME COUNT`.

It waits for a line on its standard input before the first append, so that several of them begin together, and prints
the numbers of its entries as JSON at the end.
"""

import asyncio
import json
import sys

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.values import Append

CONVERSATION = "contended"


async def append_many(url: str, name: str, count: int) -> list[int]:
    """Append `count` messages, one after the other, and return their numbers."""
    store = await open_store(url)
    await store.get(LOCAL, CONVERSATION)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    seqs = []
    for number in range(count):
        body = Message(role=Role.USER, content=f"{name} {number}")
        seqs += [entry.seq for entry in (await store.append(LOCAL, CONVERSATION, Append(bodies=(body,)))).entries]
    await store.close()
    return seqs


if __name__ == "__main__":
    print(json.dumps(asyncio.run(append_many(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
