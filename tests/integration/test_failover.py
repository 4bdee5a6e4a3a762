"""A primary that dies beside its synchronous standby: nothing that was acknowledged is lost, and no server restarts."""

import asyncio
from urllib.parse import urlsplit

from tests.browser.server import PATIENCE
from tests.standby import replicated
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import StoreError
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, new, texts_of


async def write_all(
    store: Store, conversation: str, texts: list[str], written: list[str], is_time: asyncio.Event
) -> None:
    """Write one text after the other, each until it is acknowledged, as a client with keys does."""
    for text in texts:
        message = Message(role=Role.USER, content=text)
        append = Append(bodies=(message,), key=IdempotencyKey.of("send", text, [text]))
        while text not in written:
            try:
                await store.append(ADA, conversation, append)
                written.append(text)
                if len(written) == 50:
                    is_time.set()
            except StoreError:
                await asyncio.sleep(0)


async def test_a_promoted_standby_has_all_that_was_acknowledged_and_the_same_store_goes_on() -> None:
    with replicated() as (primary, standby, server):
        url = urlsplit(server.fresh_database().server)
        hosts = f"{url.netloc},127.0.0.1:{standby.port}"
        store = await open_store(url._replace(netloc=hosts).geturl())
        names = [await new(store, ADA) for _ in range(4)]
        texts = {name: [f"{name} {number}" for number in range(40)] for name in names}
        written: list[str] = []
        is_time = asyncio.Event()
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(write_all(store, name, texts[name], written, is_time))
            await is_time.wait()
            primary.kill()
            before = len(written)
            standby.promote()
        assert before < 160
        for name in names:
            assert texts_of(await store.newest(ADA, name, limit=100)) == texts[name]
        await store.close()
