"""What was deleted and purged is on the disk no more: not in a page, not in an index, not in a log."""

from pathlib import Path

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import NO_TIME, key, new, running, say

CANARIES = ("zebrafinch", "quetzalbird", "okapiherd", "narwhalpod", "axolotlpond")
TITLE, META, SYSTEM, KEY, DRAFT = "xerusburrow", "jacanalily", "vicunawool", "ibiswader", "wombatden"


def _found(folder: Path) -> set[str]:
    """Return the words that stand in any file."""
    data = b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {word for word in (*CANARIES, TITLE, META, SYSTEM, KEY, DRAFT) if word.encode() in data}


@pytest.mark.parametrize("backend", ["sqlite", "files"])
async def test_a_purged_text_is_in_no_file(backend: str, tmp_path: Path) -> None:
    store = await open_store(f"{backend}:///{tmp_path / 'store'}")
    kept = await new(store, LOCAL, *(f"kept {number}" for number in range(300)))
    made = NewConversation(id="gone", system=f"be {SYSTEM}", metadata={"a": META})
    await store.create(LOCAL, made, key=key(KEY))
    for word in CANARIES:
        await say(store, "gone", *(f"a {word} {number}" for number in range(50)), scope=LOCAL)
        await say(store, kept, "between", scope=LOCAL)
        assert (await store.search(LOCAL, word)).items
    await store.update(LOCAL, "gone", Update(title=TITLE))
    await store.write(await running(store, "gone", scope=LOCAL), "m1", 0, DRAFT)
    assert len(_found(tmp_path)) > 5
    await store.delete(LOCAL, "gone")
    assert await store.operations.purge(NO_TIME) == 1
    assert _found(tmp_path) == set()
    assert (await store.search(LOCAL, CANARIES[0])).items == ()
    assert len((await store.search(LOCAL, "kept", limit=300)).items) == 200
    await store.close()
    assert _found(tmp_path) == set()
