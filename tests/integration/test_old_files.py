"""Files of earlier releases open, and nothing in them is lost. Each release that changes the schema adds its file."""

import shutil
from pathlib import Path

import pytest

from tests.data.make_sqlite_file import ANSWERED, ASKED, CALLED, FOUND, KEY
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnState
from threadkeep.runtime import migrate, open_store
from threadkeep.store.values import Append

FILES = sorted((Path(__file__).parent.parent / "data").glob("sqlite-*.db"))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
async def test_a_file_of_an_earlier_release_opens_with_everything_in_it(file: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(file, tmp_path / "old.db"))
    store = await open_store(f"sqlite:///{copy}")
    try:
        conversation = await store.get(LOCAL, "old")
        assert (conversation.title, conversation.metadata) == ("Otters and seals", {"colour": "brown"})
        bodies = [entry.body async for entry in store.walk(LOCAL, "old", head=4)]
        assert bodies == [ASKED, CALLED, FOUND, ANSWERED]
        assert (await store.state(LOCAL, "old", at=5)).values == {"step": 2}
        summary = await store.summary(LOCAL, "old", head=5)
        assert summary is not None
        assert summary.body == Summary(content="On otters.")
        assert [hit.seq for hit in (await store.search(LOCAL, "otters rivers")).items] == [1]
        assert [hit.kind for hit in (await store.search(LOCAL, "otters seals")).items] == ["title"]
        assert len((await store.tree(LOCAL, "old")).branches()) == 2
        (turn,) = await store.turns(LOCAL, "old")
        assert turn.state is TurnState.RUNNING
        draft = (await store.log(LOCAL, "old", Cursor(seq=conversation.entries))).draft
        assert draft is not None
        assert draft.text == "Half an ans"
        again = await store.append(LOCAL, "old", Append(bodies=(ASKED,), key=KEY))
        assert again.replayed
        more = Message(role=Role.USER, content="still writable")
        assert (await store.append(LOCAL, "old", Append(bodies=(more,)))).entries[0].seq == conversation.entries + 1
    finally:
        await store.close()


async def test_a_file_that_is_current_needs_no_migration(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    assert len(await migrate(url)) > 0
    assert await migrate(url) == []
