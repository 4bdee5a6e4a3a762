"""Handles for Python programs: whatever a verb is called with, a wrong value is named and nothing is stored."""

import inspect
from collections.abc import AsyncIterator
from typing import Any

import pytest

import threadkeep
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import StateChange
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, KeyReused, ThreadkeepError
from threadkeep.retention.rules import Retention
from threadkeep.retention.run import READ
from threadkeep.store.audit import Wanted
from threadkeep.store.values import Append

WRONG: list[Any] = [5, "text", b"bytes", object(), [], {}, 1.5, True]


@pytest.fixture
async def conversations() -> AsyncIterator[Conversations]:
    async with threadkeep.open("memory:", model="demo") as conversations:
        yield conversations


async def _call(verb: Any, *given: Any, **named: Any) -> None:
    """Call a verb; what is yielded is asked for once."""
    called = verb(*given, **named)
    if inspect.isasyncgen(called):
        await called.aclose()
    else:
        await called


async def test_the_newest_messages_are_as_many_as_asked_for_also_where_the_state_changes_often(
    conversations: Conversations,
) -> None:
    chat = await conversations.create()
    for number in range(6):
        message, change = Message(role=Role.USER, content=str(number)), StateChange(set={"n": 1}, whole=True)
        await conversations._store.append(LOCAL, chat.id, Append(bodies=(message, *[change] * 3)))
    assert [message.content for message in await chat.messages(limit=5)] == list("12345")
    assert [message.content for message in await chat.messages(limit=2, head=9)] == list("12")
    assert len(await chat.messages()) == 6


async def test_a_key_that_is_none_is_refused_by_name_and_makes_no_conversation(conversations: Conversations) -> None:
    with pytest.raises(InvalidValue, match="argument key of create"):
        await conversations.create(key=7)  # type: ignore[arg-type]
    assert (await conversations._store.list(LOCAL)).items == ()


async def test_a_key_may_be_a_text(conversations: Conversations) -> None:
    first = await conversations.create(key="text", title="Once")
    again = await conversations.create(key="text", title="Once")
    assert (again.id, again.replayed) == (first.id, True)
    with pytest.raises(KeyReused):
        await conversations.create(key="text", title="Twice")


async def test_an_assistant_that_is_not_there_and_a_message_of_nothing_are_refused(
    conversations: Conversations,
) -> None:
    with pytest.raises(InvalidValue, match="no assistant named nobody"):
        await conversations.create(assistant="nobody")
    chat = await conversations.create()
    with pytest.raises(InvalidValue, match="needs text or parts"):
        await chat.send("")
    assert (await chat.read()).entries == 0


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("verb", "given", "name"),
    [
        *[("create", (), name) for name in ("key", "scope", "id", "title", "metadata", "assistant", "no_such_field")],
        *[("get", ("c",), "scope"), ("get", (), "conversation")],
        *[("send", ("hello",), name) for name in ("parent", "expected_head", "policy", "key")],
        *[("send", (), "content"), ("follow", (), "after"), ("messages", (), "limit"), ("messages", (), "head")],
        *[("regenerate", (), "entry"), ("regenerate", (), "key"), ("approve", (), "tool_call_id")],
        *[("approve", ("call",), name) for name in ("approved", "reason", "key")],
    ],
)
async def test_no_value_of_the_wrong_kind_causes_anything_but_an_error_of_ours(
    conversations: Conversations, verb: str, given: tuple[str, ...], name: str, wrong: Any
) -> None:
    handle: Conversations | ConversationHandle = (
        conversations if hasattr(conversations, verb) else await conversations.create(title="Kept")
    )
    try:
        await _call(getattr(handle, verb), *given, **{name: wrong})
    except ThreadkeepError as error:
        assert str(error)  # noqa: PT017 - some values are right for some arguments


async def test_reading_a_conversation_is_access_to_it_for_a_time_to_live(conversations: Conversations) -> None:
    await conversations.admin.retention.set_rules("local", Retention.model_validate({"time_to_live": "24h"}))
    read = await conversations.create()
    listed = await conversations.create()
    await read.messages()
    await conversations.list()
    await conversations.admin.retention.record_reads()
    (record,) = await conversations.admin.audit.read("local", Wanted(actions=(READ,)))
    assert record.act.details["read"].keys() == {read.id}
    assert listed.id not in record.act.details["read"]


async def test_a_list_shows_metadata_and_instructions_where_it_is_asked_for_the_whole(
    conversations: Conversations,
) -> None:
    await conversations.create(system="Be brief.", metadata={"project": "apollo"})
    (bare,) = (await conversations.list()).items
    (whole,) = (await conversations.list(whole=True, metadata={"project": "apollo"})).items
    assert (bare.metadata, bare.system) == ({}, None)
    assert (whole.metadata, whole.system) == ({"project": "apollo"}, "Be brief.")


async def test_how_many_messages_are_read_needs_no_name(conversations: Conversations) -> None:
    conversation = await conversations.create()
    await conversation.append(*(Message(role=Role.USER, content=str(number)) for number in range(30)))
    assert len(await conversation.messages(20)) == 20
