"""Views in a folder of files: written for other programs, and taken over from them (R-E2, R-E3)."""

import asyncio
import json
import logging
import os
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import HeadChoice, Update
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import AlreadyExists, ConversationNotFound, StoreCorrupt, UnknownRole
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import MINUTE, NO_TIME, answered, new, returned, running, say, settle, texts_of
from threadkeep_files import view_table
from threadkeep_files.store import FilesStore
from threadkeep_files.view_file import ViewFile

SHOP = "sess_20250101_120000_abc12345"


async def _open(folder: Path, clock: FakeClock) -> FilesStore:
    return await FilesStore.open(folder, clock, new_id, MAX_BYTES)


@pytest_asyncio.fixture
async def files(tmp_path: Path, clock: FakeClock) -> AsyncIterator[FilesStore]:
    opened = await _open(tmp_path, clock)
    yield opened
    await opened.close()


def _document(*texts: str, name: str = SHOP) -> dict[str, Any]:
    """Return what the shop's own program writes."""
    return {
        "session_id": name,
        "created_at": "2025-01-01T12:00:00Z",
        "updated_at": "2025-01-01T12:05:00Z",
        "messages": [
            {"role": ("user", "assistant")[at % 2], "content": text, "timestamp": f"2025-01-01T12:0{at}:00Z"}
            for at, text in enumerate(texts)
        ],
    }


def _put(folder: Path, value: object, name: str = SHOP) -> Path:
    path = folder / f"{name}.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def _old(path: Path, text: str) -> Path:
    """Write a file that nobody can be in the middle of writing."""
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def _shown(folder: Path, name: str = SHOP) -> list[str]:
    document = json.loads((folder / f"{name}.json").read_text())
    return [message["content"] for message in document["messages"]]


# Ours


async def test_a_view_is_there_from_the_beginning_and_after_each_append(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, name=SHOP)
    await files.write_views()
    assert _shown(tmp_path) == []
    await say(files, SHOP, "phones?", "three of them", scope=LOCAL)
    await files.write_views()
    document = json.loads((tmp_path / f"{SHOP}.json").read_text())
    assert document == {
        "session_id": SHOP,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "messages": [
            {"role": "user", "content": "phones?", "timestamp": "2026-01-01T00:00:00Z"},
            {"role": "assistant", "content": "three of them", "timestamp": "2026-01-01T00:00:00Z"},
        ],
    }


async def test_an_append_leaves_the_view_as_it_is_and_the_view_follows(
    files: FilesStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkeep_files.store.VIEW_SECONDS", 0.0)
    await new(files, LOCAL, name=SHOP)
    await files.write_views()
    await say(files, SHOP, "one", scope=LOCAL)
    assert _shown(tmp_path) == []
    assert files._showing is not None
    async with asyncio.timeout(30):
        await files._showing
    assert _shown(tmp_path) == ["one"]


async def test_a_view_that_a_crash_left_behind_is_written_when_the_folder_is_opened(
    files: FilesStore, tmp_path: Path, clock: FakeClock
) -> None:
    await new(files, LOCAL, "one", "two", name=SHOP)
    assert not (tmp_path / f"{SHOP}.json").exists()
    again = await _open(tmp_path, clock)
    assert _shown(tmp_path) == ["one", "two"]
    await again.close()


async def test_closing_writes_every_view(tmp_path: Path, clock: FakeClock) -> None:
    files = await _open(tmp_path, clock)
    for name in ("a", "b"):
        await new(files, LOCAL, "one", name=name)
    await files.close()
    assert (_shown(tmp_path, "a"), _shown(tmp_path, "b")) == (["one"], ["one"])


async def test_what_is_written_while_the_store_is_closed_starts_nothing_that_outlives_it(
    tmp_path: Path, clock: FakeClock
) -> None:
    files = await _open(tmp_path, clock)
    await new(files, LOCAL, "one", name=SHOP)
    closing = asyncio.create_task(files.close())
    await asyncio.sleep(0)
    await say(files, SHOP, "two", scope=LOCAL)
    await closing
    assert files._showing is None or files._showing.done()


async def test_what_another_program_adds_to_a_view_that_is_behind_is_appended(
    files: FilesStore, tmp_path: Path
) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    await say(files, SHOP, "two", scope=LOCAL)
    _put(tmp_path, _document("one", "theirs"))
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["one", "two", "theirs"]
    assert len(((await files.snapshot(LOCAL, SHOP)).tree).branches()) == 1
    await files.write_views()
    assert _shown(tmp_path) == ["one", "two", "theirs"]


async def test_a_turn_is_shown_when_it_is_settled_and_without_its_tools(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, name=SHOP)
    lease = await running(files, SHOP, scope=LOCAL)
    call = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="call-1", name="n"),))
    await files.append(LOCAL, SHOP, Append(bodies=(call, returned("42")), lease=lease))
    await files.write(lease, "m1", 0, "half")
    await files.write_views()
    assert not (tmp_path / f"{SHOP}.json").exists()
    await settle(files, lease, Message(id="m1", role=Role.ASSISTANT, content="half an answer"))
    await files.write_views()
    assert _shown(tmp_path) == ["hello", "half an answer"]


async def test_a_waiting_turn_is_shown(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, name=SHOP)
    lease = await running(files, SHOP, scope=LOCAL)
    await settle(files, lease, answered("may I?"), state=TurnState.WAITING)
    await files.write_views()
    assert _shown(tmp_path) == ["hello", "may I?"]


async def test_the_view_follows_the_head(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", "two", name=SHOP)
    await say(files, SHOP, "instead", scope=LOCAL, parent=1)
    await files.write_views()
    assert _shown(tmp_path) == ["one", "instead"]
    await files.choose_head(LOCAL, SHOP, 2)
    await files.write_views()
    assert _shown(tmp_path) == ["one", "two"]


async def test_a_message_counts_although_its_view_could_not_be_written(files: FilesStore, tmp_path: Path) -> None:
    (tmp_path / f"{SHOP}.json").mkdir()
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["one"]
    assert [problem.path.name for problem in files.problems()] == [f"{SHOP}.json"]
    (tmp_path / f"{SHOP}.json").rmdir()
    await files.write_views()
    assert _shown(tmp_path) == ["one"]


async def test_a_view_that_was_replaced_but_not_noted_is_known_by_its_bytes(
    files: FilesStore, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    with monkeypatch.context() as killed:
        killed.setattr(view_table, "note_file", lambda *given: None)
        killed.setattr(view_table, "note_shown", lambda *given: None)
        await files.write_views()
    assert _shown(tmp_path) == ["one"]
    again = await _open(tmp_path, clock)
    assert (await again.get(LOCAL, SHOP)).entries == 1
    await say(again, SHOP, "two", scope=LOCAL)
    await again.close()
    assert _shown(tmp_path) == ["one", "two"]
    assert again.problems() == ()


async def test_a_restored_conversation_has_its_view_again(files: FilesStore, tmp_path: Path, clock: FakeClock) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    _old(tmp_path / f"{SHOP}.json", "damaged {")
    await files.get(LOCAL, SHOP)
    await files.delete(LOCAL, SHOP)
    assert [path for path in tmp_path.iterdir() if path.name != ".threadkeep"] == []
    await files.restore(LOCAL, SHOP)
    assert _shown(tmp_path) == ["one"]
    (aside,) = tmp_path.glob("*.corrupt-*")
    assert aside.read_text() == "damaged {"


async def test_a_conversation_that_is_deleted_in_the_middle_of_a_turn_takes_its_file_along(
    files: FilesStore, tmp_path: Path
) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    await running(files, SHOP, scope=LOCAL)
    await files.delete(LOCAL, SHOP)
    assert [path for path in tmp_path.iterdir() if path.name != ".threadkeep"] == []
    assert (await files.list(LOCAL)).items == ()
    await files.restore(LOCAL, SHOP)
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["one", "hello"]


async def test_who_lists_while_a_conversation_is_being_deleted_does_not_bring_it_back(
    files: FilesStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    put_away, listed = ViewFile.put_away, list[int]()

    def later(file: ViewFile, *given: Any) -> None:
        listed.append(len(asyncio.run_coroutine_threadsafe(files.list(LOCAL), loop).result(30).items))
        put_away(file, *given)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(ViewFile, "put_away", later)
    await files.delete(LOCAL, SHOP)
    assert (listed, (await files.list(LOCAL)).items) == ([0], ())


async def test_the_file_of_a_deleted_conversation_may_be_put_back_by_hand(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    kept = (tmp_path / f"{SHOP}.json").read_bytes()
    await files.delete(LOCAL, SHOP)
    (tmp_path / f"{SHOP}.json").write_bytes(kept)
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["one"]
    with pytest.raises(AlreadyExists):
        await files.restore(LOCAL, SHOP)


async def test_a_folder_that_lost_its_database_goes_on_from_the_views(tmp_path: Path, clock: FakeClock) -> None:
    files = await _open(tmp_path, clock)
    await new(files, LOCAL, "one", "two", name=SHOP)
    await files.close()
    shutil.rmtree(tmp_path / ".threadkeep")
    again = await _open(tmp_path, clock)
    assert [one.id for one in (await again.list(LOCAL)).items] == [SHOP]
    assert texts_of(await again.newest(LOCAL, SHOP)) == ["one", "two"]
    await again.close()


async def test_tenants_have_folders_of_their_own(files: FilesStore, tmp_path: Path, clock: FakeClock) -> None:
    for tenant in ("acme", "x.json"):
        await new(files, Scope(tenant=tenant, user="ada"), f"of {tenant}", name="x")
    await new(files, LOCAL, "of nobody", name="x")
    await files.write_views()
    assert _shown(tmp_path, "x") == ["of nobody"]
    await files.write_views()
    assert _shown(tmp_path / "acme", "x") == ["of acme"]
    await running(files, "x", scope=Scope(tenant="x.json", user="ada"))
    await running(files, "x", scope=Scope(tenant="acme", user="ada"))
    clock.advance(3600)
    again = await _open(tmp_path, clock)
    assert [turn.scope.tenant for turn in await again.operations.expired(MINUTE)] == ["acme", "x.json"]
    await again.close()


async def test_asking_leaves_no_folder_behind(files: FilesStore, tmp_path: Path) -> None:
    nobody = Scope(tenant="nobody", user="ada")
    for verb in (files.get(nobody, "x"), files.delete(nobody, "x"), files.restore(nobody, "x")):
        with pytest.raises(ConversationNotFound):
            await verb
    assert (await files.list(nobody)).items == ()
    assert (await files.statistics("nobody")).conversations == 0
    assert await files.users("nobody") == ()
    assert not (tmp_path / "nobody").exists()


async def test_nothing_is_left_of_a_purged_conversation(files: FilesStore, tmp_path: Path, clock: FakeClock) -> None:
    await new(files, LOCAL, "secret", name=SHOP)
    _old(tmp_path / f"{SHOP}.json", "secret {")
    await say(files, SHOP, "more", scope=LOCAL)
    assert list(tmp_path.glob("*.corrupt-*"))
    await files.delete(LOCAL, SHOP)
    assert list(tmp_path.glob(f"*{SHOP}*")) == []
    clock.advance(1)
    assert await files.operations.purge(NO_TIME) == 1
    assert [path for path in tmp_path.rglob("*") if SHOP in path.name] == []


# Another program's


async def test_a_file_of_another_program_opens_as_it_is(files: FilesStore, tmp_path: Path) -> None:
    path = _put(tmp_path, _document("phones?", "three of them"))
    before = path.read_bytes()
    conversation = await files.get(LOCAL, SHOP)
    assert (conversation.scope, conversation.title) == (LOCAL, "Phones?")
    assert conversation.created_at == datetime(2025, 1, 1, 12, tzinfo=UTC)
    assert conversation.updated_at == datetime(2025, 1, 1, 12, 1, tzinfo=UTC)
    entries = await files.newest(LOCAL, SHOP)
    assert texts_of(entries) == ["phones?", "three of them"]
    assert [entry.created_at.minute for entry in entries] == [0, 1]
    assert path.read_bytes() == before
    assert files.problems() == ()


async def test_such_a_file_is_listed_found_and_continued(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "ours", name="ours")
    _put(tmp_path, _document("phones?", "three of them"))
    assert [one.id for one in (await files.list(LOCAL)).items] == ["ours", SHOP]
    assert [hit.conversation for hit in (await files.search(LOCAL, "three")).items] == [SHOP]
    assert (await files.statistics("local")).entries == 3
    await say(files, SHOP, "the second one", scope=LOCAL)
    await files.write_views()
    assert _shown(tmp_path) == ["phones?", "three of them", "the second one"]
    with pytest.raises(AlreadyExists):
        await files.create(LOCAL, NewConversation(id=SHOP))


async def test_such_a_file_can_be_written_to_at_once_and_its_id_is_taken(files: FilesStore, tmp_path: Path) -> None:
    _put(tmp_path, _document("phones?"))
    _put(tmp_path, _document("tablets?"), name="two")
    with pytest.raises(AlreadyExists):
        await files.create(LOCAL, NewConversation(id="two"))
    await say(files, SHOP, "the second one", scope=LOCAL)
    await files.write_views()
    assert _shown(tmp_path) == ["phones?", "the second one"]
    assert texts_of(await files.newest(LOCAL, "two")) == ["tablets?"]


async def test_a_system_message_of_another_program_stays_first(files: FilesStore, tmp_path: Path) -> None:
    document = _document("hi")
    document["messages"].insert(0, {"role": "system", "content": "Be brief.", "timestamp": "2025-01-01T12:00:00Z"})
    _put(tmp_path, document)
    await say(files, SHOP, "more", scope=LOCAL)
    await files.write_views()
    assert _shown(tmp_path) == ["Be brief.", "hi", "more"]


async def test_messages_that_another_program_added_are_appended(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", "two", name=SHOP)
    _put(tmp_path, _document("one", "two", "three", "four"))
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["one", "two", "three", "four"]
    assert len(((await files.snapshot(LOCAL, SHOP)).tree).branches()) == 1
    assert [hit.seq for hit in (await files.search(LOCAL, "four")).items] == [4]
    await say(files, SHOP, "five", scope=LOCAL)
    await files.write_views()
    assert _shown(tmp_path) == ["one", "two", "three", "four", "five"]


async def test_messages_that_another_program_changed_are_a_branch(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", "two", name=SHOP)
    _put(tmp_path, _document("one", "changed"))
    await say(files, SHOP, "three", scope=LOCAL)
    await files.write_views()
    assert _shown(tmp_path) == ["one", "changed", "three"]
    assert texts_of(await files.newest(LOCAL, SHOP, head=2)) == ["one", "two"]


async def test_messages_that_another_program_removed_are_still_on_their_branch(
    files: FilesStore, tmp_path: Path
) -> None:
    await new(files, LOCAL, "one", "two", name=SHOP)
    _put(tmp_path, _document("one"))
    conversation = await files.get(LOCAL, SHOP)
    assert (conversation.head, conversation.version) == (1, 2)
    assert isinstance((await files.entry(LOCAL, SHOP, 3)).body, HeadChoice)
    assert texts_of(await files.newest(LOCAL, SHOP, head=2)) == ["one", "two"]


async def test_a_change_of_form_alone_changes_nothing(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", "two", name=SHOP)
    before = await files.get(LOCAL, SHOP)
    _put(tmp_path, json.dumps(_document("one", "two")))
    assert await files.get(LOCAL, SHOP) == before


async def test_a_change_is_taken_over_once_by_all_handles(files: FilesStore, tmp_path: Path, clock: FakeClock) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    other = await _open(tmp_path, clock)
    await other.get(LOCAL, SHOP)
    _put(tmp_path, _document("one", "two"))
    assert (await other.get(LOCAL, SHOP)).entries == 2
    assert (await files.get(LOCAL, SHOP)).entries == 2
    await other.close()
    again = await _open(tmp_path, clock)
    assert (await again.get(LOCAL, SHOP)).entries == 2
    await again.close()


async def test_more_than_a_conversation_can_keep_is_kept_in_a_copy(files: FilesStore, tmp_path: Path) -> None:
    document = {**_document("one"), "cart": ["phone"]}
    _put(tmp_path, document)
    await say(files, SHOP, "two", scope=LOCAL)
    (copy,) = (tmp_path / ".threadkeep").glob(f"{SHOP}.json.imported-*")
    assert json.loads(copy.read_text()) == document


async def test_a_view_that_was_removed_is_written_again(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    (tmp_path / f"{SHOP}.json").unlink()
    assert (await files.get(LOCAL, SHOP)).entries == 1
    await files.write_views()
    assert _shown(tmp_path) == ["one"]


async def test_an_old_view_of_ours_is_brought_up_to_date_and_not_imported(files: FilesStore, tmp_path: Path) -> None:
    path = tmp_path / f"{SHOP}.json"
    await new(files, LOCAL, "one", name=SHOP)
    await files.write_views()
    old = path.read_bytes()
    await say(files, SHOP, "two", scope=LOCAL)
    path.write_bytes(old)
    assert (await files.get(LOCAL, SHOP)).entries == 2
    await files.write_views()
    assert _shown(tmp_path) == ["one", "two"]


async def test_a_title_needs_no_message(files: FilesStore, tmp_path: Path) -> None:
    _put(tmp_path, _document("one"))
    assert (await files.update(LOCAL, SHOP, Update(title="phones"))).title == "phones"


async def test_files_that_are_no_conversations_are_let_alone(files: FilesStore, tmp_path: Path) -> None:
    for name in ("my notes.json", ".hidden.json", "notes.txt", "é.json"):
        (tmp_path / name).write_text("{")
    (tmp_path / "folder.json").mkdir()
    before = sorted(path.name for path in tmp_path.iterdir())
    assert (await files.list(LOCAL)).items == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


# Damaged


async def test_a_damaged_file_is_reported_and_set_aside(
    files: FilesStore, tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    path = _old(tmp_path / f"{SHOP}.json", '{"messages": [')
    with caplog.at_level(logging.WARNING), pytest.raises(StoreCorrupt, match=SHOP):
        await files.get(LOCAL, SHOP)
    aside = tmp_path / f"{SHOP}.json.corrupt-20260101T000000Z"
    assert aside.read_text() == '{"messages": ['
    assert not path.exists()
    assert SHOP in caplog.text
    assert [problem.path for problem in files.problems()] == [path]
    again = await _open(tmp_path, clock)
    for handle in (files, again):
        with pytest.raises(StoreCorrupt, match=aside.name) as refused:
            await handle.get(LOCAL, SHOP)
        assert str(tmp_path) not in str(refused.value), "clients are told no paths of the server"
        with pytest.raises(StoreCorrupt, match=aside.name):
            await say(handle, SHOP, "x", scope=LOCAL)
    await again.close()
    assert aside.read_text() == '{"messages": ['


async def test_a_new_conversation_can_take_the_place_of_a_damaged_file(files: FilesStore, tmp_path: Path) -> None:
    _old(tmp_path / f"{SHOP}.json", "{")
    with pytest.raises(StoreCorrupt):
        await files.create(LOCAL, NewConversation(id=SHOP))
    await new(files, LOCAL, "again", name=SHOP)
    await files.write_views()
    assert _shown(tmp_path) == ["again"]
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1


async def test_damaged_files_do_not_keep_others_from_being_listed(files: FilesStore, tmp_path: Path) -> None:
    await new(files, LOCAL, "fine", name="fine")
    _old(tmp_path / "bad.json", "{")
    _put(tmp_path, {"no": "messages"}, name="shape")
    _put(tmp_path, {"messages": [{"role": "moderator", "content": "x"}]}, name="role")
    for _ in range(2):
        assert [one.id for one in (await files.list(LOCAL)).items] == ["fine"]
        assert len((await files.search(LOCAL, "fine")).items) == 1
    assert {problem.path.name for problem in files.problems()} == {"bad.json", "shape.json", "role.json"}


async def test_an_unknown_role_is_refused_and_the_file_left(files: FilesStore, tmp_path: Path) -> None:
    path = _put(tmp_path, {"messages": [{"role": "moderator", "content": "x"}]})
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(UnknownRole, match=r"message 1 has the role 'moderator'"):
            await files.get(LOCAL, SHOP)
    assert path.read_bytes() == before
    _put(tmp_path, _document("mended"))
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["mended"]


@pytest.mark.parametrize("text", ["{", '{"messages": 1}', '{"messages": [{"role": "tool", "content": "x"}]}', ""])
async def test_a_damaged_view_of_a_conversation_of_ours_is_set_aside_and_written_anew(
    files: FilesStore, tmp_path: Path, text: str
) -> None:
    await new(files, LOCAL, "one", name=SHOP)
    path = _old(tmp_path / f"{SHOP}.json", text)
    assert texts_of(await files.newest(LOCAL, SHOP)) == ["one"]
    await files.write_views()
    assert _shown(tmp_path) == ["one"]
    (aside,) = tmp_path.glob("*.corrupt-*")
    assert aside.read_text() == text
    assert [problem.path for problem in files.problems()] == [path]


async def test_a_message_beyond_the_limit_is_not_taken_over(tmp_path: Path, clock: FakeClock) -> None:
    small = await FilesStore.open(tmp_path, clock, new_id, 100)
    path = _put(tmp_path, _document("x" * 101))
    with pytest.raises(StoreCorrupt, match="100 bytes"):
        await small.get(LOCAL, SHOP)
    assert path.exists()
    await small.close()
