"""Limits: each one refuses with its own code, says when to come again, and lets go in time."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.unit.server.serving import app_behind, conversation, served, until
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import RateLimited, StorageFull, TooManyConversations, TooManyStreams
from threadkeep.llm.base import Stopped, Text
from threadkeep.runtime import open_store
from threadkeep.server.limits import FAR_BYTES, FRESH_SECONDS, Limits
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Statistics
from threadkeep.testing.scripted_model import ScriptedModel, Step, says

OTHER = Scope(tenant="local", user="other")
FOREIGN = Scope(tenant="foreign", user="local")


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Clock:
    return Clock()


@pytest.fixture
async def memory() -> AsyncIterator[Store]:
    store = await open_store("memory:")
    yield store
    await store.close()


def limits_of(store: Store, seconds: Clock, **given: float) -> Limits:
    return Limits(store, Settings.model_validate(given), seconds)


def limits_behind(client: httpx.AsyncClient) -> Limits:
    """The limits of the application that a client calls."""
    found: Limits = app_behind(client).state.limits
    return found


def assert_refused(answer: httpx.Response, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, code)
    assert int(answer.headers["retry-after"]) >= 1


def test_requests_are_an_average_over_ten_seconds(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_requests_per_second=2)
    for _ in range(20):
        limits.take_request(LOCAL)
    with pytest.raises(RateLimited) as refused:
        limits.take_request(LOCAL)
    assert refused.value.retry_after == 1
    limits.take_request(OTHER)
    seconds.now += 0.5
    limits.take_request(LOCAL)
    with pytest.raises(RateLimited):
        limits.take_request(LOCAL)


def test_a_slow_rate_says_how_long_to_wait(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_requests_per_second=0.05)
    limits.take_request(LOCAL)
    with pytest.raises(RateLimited) as refused:
        limits.take_request(LOCAL)
    assert refused.value.retry_after == 20
    seconds.now += 20
    limits.take_request(LOCAL)


def test_a_tenant_has_a_limit_of_its_own(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, tenant_requests_per_second=0.2)
    limits.take_request(LOCAL)
    limits.take_request(OTHER)
    with pytest.raises(RateLimited):
        limits.take_request(LOCAL)
    limits.take_request(FOREIGN)


def test_nothing_is_remembered_of_who_was_idle_for_the_session_timeout(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, session_timeout=60)
    for number in range(100):
        limits.take_request(Scope(tenant="local", user=f"u{number}"))
    seconds.now += 61
    limits.take_request(LOCAL)
    assert list(limits._buckets) == [("local", "local")]


def test_streams_are_counted_while_they_are_open(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_streams=1, tenant_streams=2)
    with limits.stream(LOCAL):
        with pytest.raises(TooManyStreams), limits.stream(LOCAL):
            pass
        with limits.stream(OTHER), pytest.raises(TooManyStreams), limits.stream(Scope(tenant="local", user="third")):
            pass
        with limits.stream(FOREIGN):
            pass
    with limits.stream(LOCAL):
        pass
    assert not limits._streams


async def test_conversations_are_counted_also_between_two_looks_at_the_store(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_conversations=2)
    for _ in range(2):
        await limits.check_conversations(LOCAL)
        await memory.create(LOCAL, NewConversation())
    with pytest.raises(TooManyConversations):
        await limits.check_conversations(LOCAL)
    await limits.check_conversations(OTHER)


async def test_who_deletes_has_room_again_at_once(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_conversations=1)
    made = await memory.create(LOCAL, NewConversation())
    with pytest.raises(TooManyConversations):
        await limits.check_conversations(LOCAL)
    await memory.delete(LOCAL, made.conversation.id)
    await limits.check_conversations(LOCAL)


async def test_a_cap_on_storage_holds_at_once(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_storage_bytes=10)
    await limits.check_storage(LOCAL)
    made = await memory.create(LOCAL, NewConversation())
    said = Message(role=Role.USER, content="a text of more than ten bytes")
    await memory.append(LOCAL, made.conversation.id, Append(bodies=(said,)))
    with pytest.raises(StorageFull):
        await limits.check_storage(LOCAL)
    await memory.delete(LOCAL, made.conversation.id)
    await limits.check_storage(LOCAL)


async def test_who_is_far_below_a_cap_is_counted_again_after_a_while_only(memory: Store, seconds: Clock) -> None:
    limits = limits_of(memory, seconds, user_storage_bytes=10 * FAR_BYTES)
    counted = []
    real = memory.statistics

    async def count(tenant: str, *, user: str | None = None, conversation: str | None = None) -> Statistics:
        counted.append(user)
        return await real(tenant, user=user)

    memory.statistics = count  # type: ignore[method-assign]
    for _ in range(5):
        await limits.check_storage(LOCAL)
    assert len(counted) == 1
    seconds.now += FRESH_SECONDS
    await limits.check_storage(LOCAL)
    assert len(counted) == 2


async def test_too_many_requests_are_refused() -> None:
    async with served(Settings(user_requests_per_second=0.3)) as client:
        for _ in range(3):
            assert (await client.get("/v1/me")).status_code == 200
        assert_refused(await client.get("/v1/me"), "rate_limited")
        assert (await client.get("/health/live")).status_code == 200


async def test_too_many_conversations_are_refused() -> None:
    async with served(Settings(user_conversations=1)) as client:
        assert (await client.post("/v1/conversations")).status_code == 201
        assert_refused(await client.post("/v1/conversations"), "too_many_conversations")


async def test_who_has_stored_too_much_can_read_and_delete_but_not_write() -> None:
    said = {"content": "more than five bytes"}
    async with served(Settings(user_storage_bytes=5)) as client:
        path = await conversation(client)
        assert (await client.post(f"{path}/messages", json=said)).status_code == 200
        assert_refused(await client.post(f"{path}/messages", json=said), "storage_full")
        assert_refused(await client.post(f"{path}/regenerate"), "storage_full")
        assert_refused(await client.post("/v1/conversations"), "storage_full")
        assert (await client.get(path)).status_code == 200
        assert (await client.delete(path)).status_code == 204


async def test_too_many_turns_are_refused_but_a_busy_conversation_queues() -> None:
    go_on = asyncio.Event()
    model = ScriptedModel([Text("Well"), go_on, Stopped("stop")], *[says("Yes.")] * 5)
    at_once = {"Prefer": "respond-async"}
    async with served(Settings(user_turns=1), model=model) as client:
        one, two = await conversation(client), await conversation(client)
        said = {"content": "Hello."}
        assert (await client.post(f"{one}/messages", json=said, headers=at_once)).status_code == 202
        assert_refused(await client.post(f"{two}/messages", json=said, headers=at_once), "too_many_turns")
        assert (await client.get(two)).json()["messages"] == []
        assert (await client.post(f"{one}/messages", json=said, headers=at_once)).status_code == 202
        go_on.set()

        async def is_accepted() -> bool:
            return (await client.post(f"{two}/messages", json=said, headers=at_once)).status_code == 202

        await until(is_accepted)


async def test_of_many_at_once_no_more_are_let_in_than_may_run() -> None:
    go_on = asyncio.Event()
    slow: list[Step] = [Text("Well"), go_on, Stopped("stop")]
    model = ScriptedModel(slow, slow, *[says("Yes.")] * 5)
    async with served(Settings(user_turns=2), model=model) as client:
        paths = [await conversation(client) for _ in range(10)]
        sent = [
            client.post(f"{path}/messages", json={"content": "x"}, headers={"Prefer": "respond-async"})
            for path in paths
        ]
        answers = await asyncio.gather(*sent)
        go_on.set()
    assert sorted(answer.status_code for answer in answers) == [202] * 2 + [429] * 8


@pytest.mark.parametrize("path", ["/v1/events", "{}/events"])
async def test_too_many_streams_are_refused(path: str) -> None:
    async with served(Settings(user_streams=1)) as client:
        url = path.format(await conversation(client))
        limits = limits_behind(client)
        with limits.stream(LOCAL):
            assert_refused(await client.get(url), "too_many_streams")


async def test_a_streamed_answer_is_a_stream_and_gives_its_place_back() -> None:
    streamed = {"Accept": "text/event-stream"}
    async with served(Settings(user_streams=1)) as client:
        path = await conversation(client)
        limits = limits_behind(client)
        for _ in range(2):
            answer = await client.post(f"{path}/messages", json={"content": "x"}, headers=streamed)
            assert "event: turn.completed" in answer.text
        with limits.stream(LOCAL):
            refused = await client.post(f"{path}/messages", json={"content": "unsent"}, headers=streamed)
            assert_refused(refused, "too_many_streams")
            assert (await client.post(f"{path}/messages", json={"content": "x"})).status_code == 200
        assert "unsent" not in (await client.get(path)).text


async def test_a_message_that_is_too_large_is_refused() -> None:
    async with served(Settings(max_message_bytes=1000)) as client:
        path = await conversation(client)
        answer = await client.post(f"{path}/messages", json={"content": "x" * 2000})
    assert (answer.status_code, answer.json()["code"]) == (413, "content_too_large")


async def test_zero_is_no_limit() -> None:
    off = {name: 0 for name in Settings.model_fields if name.startswith(("user_", "tenant_"))}
    async with served(Settings.model_validate(off)) as client:
        answers = [await client.post("/v1/conversations") for _ in range(20)]
    assert {answer.status_code for answer in answers} == {201}
