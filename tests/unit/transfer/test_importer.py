"""An import takes in what was said, and nothing that opens it to others."""

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import ShareNotFound
from threadkeep.runtime import open_store
from threadkeep.store.shares import add_share, find_share
from threadkeep.testing.samples import new
from threadkeep.transfer.exporter import log_of
from threadkeep.transfer.importer import Importer
from threadkeep.transfer.portable import Header


async def test_a_copy_has_no_links_whoever_knows_their_secrets() -> None:
    source, target = await open_store("memory:"), await open_store("memory:")
    name = await new(source, LOCAL, "a question", name="shared")
    token, _ = await add_share(source, utc_now, (LOCAL, name), None, None)
    conversation = await source.get(LOCAL, name)
    header = Header.of_scope(conversation, tenant=False, user=False)
    assert await Importer(target, LOCAL).put(header, log_of(source, conversation), {}) == conversation.entries
    copied = await target.get(LOCAL, name)
    assert (copied.version, copied.shares) == (conversation.version, ())
    with pytest.raises(ShareNotFound):
        await find_share(target, utc_now, token)
    await source.close()
    await target.close()
