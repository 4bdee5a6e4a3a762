"""A process that appends and ends, for counting what it asks of the system: URL, conversations at a time, appends."""

import asyncio
import sys

from bench.texts import turns
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.values import Append


async def main(url: str, width: int, appends: int) -> None:
    """Append so often, from so many conversations at a time; with none, only open the store."""
    store = await open_store(url)
    names = [(await store.create(LOCAL, NewConversation())).conversation.id for _ in range(32)]
    source = turns()

    async def write(name: str) -> None:
        for _ in range(appends // width):
            await store.append(LOCAL, name, Append(bodies=next(source)))

    await asyncio.gather(*(write(name) for name in names[:width]))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
