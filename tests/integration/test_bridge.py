"""What the last development version exported, commit ca5b955, is taken in by every store, and nothing of it is lost.

The two files hold the same six conversations, as lines and as an archive with the bytes of an attached file: branches,
an edit, tools, a refused approval, all kinds of blocks and parts, states, a summary, titles, a share link, a failed and
a queued turn, ratings in the metadata, and characters that databases do not like. Nothing writes such files now.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends import BACKENDS, opener
from tests.roundtrips import exported
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.entry import Approval, Feedback
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.runtime import attachments_of
from threadkeep.store.base import Store
from threadkeep.store.values import Page
from threadkeep.testing.samples import texts_of
from threadkeep.testing.stores import whole_log
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.sources import read_source

LINES = Path(__file__).parents[1] / "data" / "export-ca5b955.jsonl"
ARCHIVE = LINES.with_suffix(".zip")
EVE = Scope(tenant=LOCAL.tenant, user="eve")


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    store = await opener(request.param, tmp_path, request)(utc_now)
    yield store
    await store.close()


async def take_in(store: Store, file: Path) -> Report:
    importer = Importer(store, LOCAL, keep_users=True, attachments=attachments_of(store, None))
    async for item in read_source(str(file)):
        await importer.add(item)
    await importer.finish()
    return importer.report


def conversations(lines: bytes) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return header and entries of each conversation of an export."""
    found: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for line in map(json.loads, lines.splitlines()):
        if "conversation" in line:
            found[line["conversation"]["id"]] = line["conversation"], []
        elif "entry" in line:
            list(found.values())[-1][1].append(line["entry"])
    return found


def told(value: Any) -> Any:
    """Return what JSON tells, without names that stand for nothing: a later version may know more of them."""
    if isinstance(value, dict):
        return {name: told(each) for name, each in value.items() if each is not None}
    return [told(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("file", [LINES, ARCHIVE], ids=["lines", "archive"])
async def test_every_entry_of_every_conversation_is_there_and_a_second_import_changes_nothing(
    store: Store, file: Path
) -> None:
    report = await take_in(store, file)
    assert (report.problems, report.added) == ([], 6 - 1), "all were taken in; one has no entries"
    before = conversations(LINES.read_bytes())
    first = await exported(store, Selection(LOCAL.tenant))
    after = conversations(first)
    assert after.keys() == before.keys()
    for id, (header, entries) in before.items():
        now, log = after[id]
        ours = id in ("bridge-everything", "bridge-settings")
        assert told(log[: len(entries)]) == told(entries)
        kept = ("user", "title", "system", "model", "assistant", "status", "archived", "head", "created_at")
        assert {name: now[name] for name in kept} == {name: header[name] for name in kept}
        kept_there = {name: value for name, value in header["metadata"].items() if not (ours and name == "feedback")}
        assert now["metadata"] == kept_there
    again = await take_in(store, file)
    assert (again.problems, again.added) == ([], 0)
    assert await exported(store, Selection(LOCAL.tenant)) == first


async def test_what_people_see_of_it_is_as_it_was(store: Store) -> None:
    assert (await take_in(store, ARCHIVE)).problems == []
    name = "bridge-everything"
    conversation = await store.get(LOCAL, name)
    assert (conversation.title, conversation.shares) == ("Otters and seals", ()), "links stay where they were made"
    assert conversation.metadata["deep"] == {"z": [1, 1e16, -0.0], "a": "\x00 and \x1a"}
    heads = [branch.head for branch in ((await store.snapshot(LOCAL, name)).tree).branches()]
    assert len(heads) == 3, "the first branch, the edit, and the answer that was made again"
    first = await store.newest(LOCAL, name, head=min(heads))
    asked, answer = first[0].body, first[5].body
    assert isinstance(asked, Message)
    assert isinstance(answer, Message)
    assert asked.content.endswith("漢字 and \x00 too.")
    assert [block.type for block in answer.blocks][-1] == "of the future"
    assert (await store.state(LOCAL, name, at=min(heads))).values == {"step": 2, "order": ["z", "a"]}
    assert (await store.state(LOCAL, name)).values == {"step": 32}
    summary = await store.summary(LOCAL, name, head=min(heads))
    assert summary is not None
    log, _ = await whole_log(store, LOCAL, name)
    assert [entry.body.reason for entry in log if isinstance(entry.body, Approval)] == ["Not today."]
    found = await store.search(LOCAL, "thirteen")
    assert {hit.conversation for hit in found.items} == {name}


async def test_files_are_there_with_their_bytes(store: Store) -> None:
    assert (await take_in(store, ARCHIVE)).problems == []
    files = attachments_of(store, None)
    assert files is not None
    (asked,) = await store.after(LOCAL, "bridge-everything", 0, limit=1, head=10)
    assert isinstance(asked.body, Message)
    (part,) = asked.body.parts
    assert isinstance(part, Attachment)
    assert await files.read(LOCAL, part.file) == b"Otters hold hands while they sleep."


async def test_a_turn_that_was_queued_is_told_of_and_never_starts(store: Store) -> None:
    assert (await take_in(store, LINES)).problems == []
    assert await store.turns(LOCAL, "bridge-queued") == ()
    log, _ = await whole_log(store, LOCAL, "bridge-queued")
    states = [(entry.turn, entry.body.state) for entry in log if isinstance(entry.body, TurnChange)]
    assert states == [
        (1, TurnState.RUNNING),
        (3, TurnState.QUEUED),
        (1, TurnState.INTERRUPTED),
        (3, TurnState.CANCELLED),
    ]
    assert texts_of(await store.newest(EVE, "bridge-eve")) == ["I am Eve.", "Hello Eve."]


async def test_ratings_in_the_metadata_become_entries(store: Store) -> None:
    assert (await take_in(store, LINES)).problems == []
    found = await store.snapshot(LOCAL, "bridge-settings", Page(messages=10))
    assert found.opinions == {2: Feedback(rating="up", comment="Nice.")}
    tree = (await store.snapshot(LOCAL, "bridge-everything")).tree
    heads = [branch.head for branch in tree.branches()]
    opinions = [
        (await store.snapshot(LOCAL, "bridge-everything", Page(messages=100, head=head))).opinions for head in heads
    ]
    given = [opinion for each in opinions for opinion in each.values()]
    assert Feedback(rating="down", comment="Too short. \x00") in given
    assert Feedback(rating="up") in given
    foreign = await store.get(LOCAL, "bridge-foreign")
    assert foreign.metadata == {"feedback": "of a program"}, "what is none of ours stays"
