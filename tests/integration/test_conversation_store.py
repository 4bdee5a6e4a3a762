"""Conversations from synchronous code, on every backend: what was added comes back, newest N, in order (R-E4)."""

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from tests.backends import url_of
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound
from threadkeep_integrations.conversation_store import ConversationStore

CALL = {"id": "call_1", "name": "find", "args": {"price": 500}}


@pytest.fixture
def address(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return "memory:" if backend == "memory" else url_of(backend, tmp_path, request)


def test_messages_come_back_as_they_were_added_and_as_those_of_langchain(address: str) -> None:
    with ConversationStore(address) as store:
        id = store.create("sess_20250101_120000_abc12345", title="Phones")
        added = [
            store.add_message(id, "system", "You sell phones."),
            store.add_message(id, "user", "Phones under $500?"),
            store.add_message(id, "assistant", "", tool_calls=[CALL]),
            store.add_message(id, "tool", "Nokia", tool_call_id="call_1"),
            store.add_message(id, "assistant", "The Nokia."),
        ]
        assert store.get_history(id) == added
        assert (added[2]["tool_calls"], added[3]["tool_call_id"]) == ([CALL], "call_1")
        messages = store.get_langchain_messages(id)
        assert [type(each) for each in messages] == [SystemMessage, HumanMessage, AIMessage, ToolMessage, AIMessage]
        assert [each.content for each in messages] == [each["content"] for each in added]
        assert [each.content for each in store.get_langchain_messages(id, limit=2)] == ["The Nokia."]


def test_the_newest_ten_come_back_in_order_unless_another_number_is_named(address: str) -> None:
    with ConversationStore(address) as store:
        id = store.create()
        for number in range(12):
            store.add_message(id, "user", str(number))
        for limit, first in ((3, 9), (None, 0)):
            assert [each["content"] for each in store.get_history(id, limit)] == [str(n) for n in range(first, 12)]
        assert [each["content"] for each in store.get_history(id)] == [str(n) for n in range(2, 12)]
        assert len(store.get_langchain_messages(id)) == 10


def test_conversations_are_listed_newest_first_for_their_user_alone_until_they_are_deleted(address: str) -> None:
    with ConversationStore(address) as store:
        for id in ("first", "second", "third"):
            store.create(id)
        store.add_message("first", "user", "Hello")
        assert [each["session_id"] for each in store.list()] == ["first", "third", "second"]
        assert [each["session_id"] for each in store.list(limit=2)] == ["first", "third"]
        store.delete("first")
        assert [each["session_id"] for each in store.list()] == ["third", "second"]
        with pytest.raises(ConversationNotFound):
            store.get_history("first")
        with ConversationStore(address, scope=Scope(tenant="acme", user="eve")) as other:
            assert other.list() == []
            with pytest.raises(ConversationNotFound):
                other.get_history("second")


def test_a_long_list_is_whole(address: str) -> None:
    with ConversationStore(address) as store:
        ids = [store.create() for _ in range(101)]
        assert [each["session_id"] for each in store.list()] == ids[::-1]
