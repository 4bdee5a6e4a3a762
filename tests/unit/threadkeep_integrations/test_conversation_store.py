"""Conversations from synchronous code: in a folder by default, with errors of ours, from any number of threads."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from threadkeep.errors import (
    AlreadyExists,
    ConversationNotFound,
    InvalidId,
    InvalidLimit,
    InvalidStoreUrl,
    InvalidValue,
    StoreCorrupt,
    StoreUnavailable,
    ThreadkeepError,
    UnknownRole,
)
from threadkeep_integrations.conversation_store import ConversationStore

SHOP = "sess_20250101_120000_abc12345"
ASKED = {"role": "user", "content": "Phones under $500?", "timestamp": "2025-01-01T12:00:00Z"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    with ConversationStore(storage_dir=tmp_path) as store:
        yield store


def written(folder: Path) -> Any:
    return json.loads((folder / f"{SHOP}.json").read_text(encoding="utf-8"))


def test_it_is_in_the_folder_data_sessions_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ConversationStore() as store:
        store.add_message(store.create(SHOP), "user", "Hello")
    assert [message["content"] for message in written(tmp_path / "data/sessions")["messages"]] == ["Hello"]


@pytest.mark.parametrize("name", ["a b", "50%", "what?", "a#b"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    with ConversationStore(storage_dir=tmp_path / name) as store:
        store.create(SHOP)
    assert (tmp_path / name / f"{SHOP}.json").is_file()


@pytest.mark.parametrize("name", ["shop", "chat", "declared-elsewhere"])
def test_a_conversation_may_be_for_any_assistant_because_another_program_answers(tmp_path: Path, name: str) -> None:
    with ConversationStore(storage_dir=tmp_path) as store:
        id = store.create(assistant=name)
        assert store._run(store._at(id).read()).assistant == name
        with pytest.raises(InvalidId):
            store.create(assistant="../no name")


def test_a_file_of_another_program_is_read_and_continued_in_its_own_shape(
    store: ConversationStore, tmp_path: Path
) -> None:
    document = {"session_id": SHOP, "created_at": "2025-01-01T12:00:00Z", "messages": [ASKED]}
    (tmp_path / f"{SHOP}.json").write_text(json.dumps(document), encoding="utf-8")
    assert store.get_history(SHOP) == [ASKED]
    assert [listed["session_id"] for listed in store.list()] == [SHOP]
    answered = store.add_message(SHOP, "assistant", "The Nokia.")
    store.close()
    assert written(tmp_path)["messages"] == [ASKED, answered]


def test_a_damaged_file_is_reported_and_kept(store: ConversationStore, tmp_path: Path) -> None:
    (tmp_path / f"{SHOP}.json").write_text('{"messages": 5}', encoding="utf-8")
    with pytest.raises(StoreCorrupt, match=SHOP):
        store.get_history(SHOP)
    assert [path.read_text() for path in tmp_path.glob(f"{SHOP}.json*")] == ['{"messages": 5}']


@pytest.mark.parametrize(
    ("error", "verb"),
    [
        (UnknownRole, lambda store: store.add_message(SHOP, "moderator", "Hello")),
        (InvalidValue, lambda store: store.add_message(SHOP, "user", 5)),
        (InvalidValue, lambda store: store.add_message(SHOP, "tool", "of no call")),
        (InvalidValue, lambda store: store.add_message(SHOP, "assistant", "", tool_calls=[{"id": "c"}])),
        (InvalidLimit, lambda store: store.get_history(SHOP, limit=0)),
        (InvalidLimit, lambda store: store.list(limit=0)),
        (InvalidValue, lambda store: store.get_langchain_messages(None)),
        (AlreadyExists, lambda store: store.create(SHOP)),
        (ConversationNotFound, lambda store: store.add_message("missing", "user", "Hello")),
        (ConversationNotFound, lambda store: store.get_history("missing")),
        (ConversationNotFound, lambda store: store.get_langchain_messages("missing")),
        (ConversationNotFound, lambda store: store.delete("missing")),
    ],
)
def test_what_cannot_be_is_an_error_of_ours_and_changes_nothing(
    store: ConversationStore, error: type[ThreadkeepError], verb: Callable[[Any], object]
) -> None:
    store.create(SHOP)
    store.add_message(SHOP, "user", "Hello")
    with pytest.raises(error):
        verb(store)
    assert [message["content"] for message in store.get_history(SHOP)] == ["Hello"]


@pytest.mark.parametrize("url", ["/a/folder", "mysql://host/db", "sqlite://"])
def test_an_address_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidStoreUrl):
        ConversationStore(url)


def test_a_closed_store_says_so(store: ConversationStore) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        store.list()


def test_threads_that_write_at_once_lose_nothing(store: ConversationStore) -> None:
    store.create(SHOP)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: store.add_message(SHOP, "user", str(number)), range(40)))
    assert sorted(int(message["content"]) for message in store.get_history(SHOP, limit=None)) == list(range(40))


async def test_it_works_inside_a_running_event_loop(store: ConversationStore) -> None:
    assert store.list() == []
