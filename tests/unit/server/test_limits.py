"""Limits: each one refuses with its own code, says when to come again, and lets go in time."""

import asyncio

import httpx
import pytest

from tests.unit.server.serving import app_behind, conversation, served, until
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import RateLimited, TooManyStreams
from threadkeep.llm.base import Stopped, Text
from threadkeep.server.limits import Limits
from threadkeep.settings import Settings
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


def limits_of(seconds: Clock, **given: float) -> Limits:
    return Limits(Settings.model_validate(given), clock=seconds)


def limits_behind(client: httpx.AsyncClient) -> Limits:
    """The limits of the application that a client calls."""
    found: Limits = app_behind(client).state.limits
    return found


def assert_refused(answer: httpx.Response, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (429, code)
    assert int(answer.headers["retry-after"]) >= 1


def test_requests_are_an_average_over_ten_seconds(seconds: Clock) -> None:
    limits = limits_of(seconds, user_requests_per_second=2)
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


def test_a_slow_rate_says_how_long_to_wait(seconds: Clock) -> None:
    limits = limits_of(seconds, user_requests_per_second=0.05)
    limits.take_request(LOCAL)
    with pytest.raises(RateLimited) as refused:
        limits.take_request(LOCAL)
    assert refused.value.retry_after == 20
    seconds.now += 20
    limits.take_request(LOCAL)


def test_a_tenant_has_a_limit_of_its_own(seconds: Clock) -> None:
    limits = limits_of(seconds, tenant_requests_per_second=0.2)
    limits.take_request(LOCAL)
    limits.take_request(OTHER)
    with pytest.raises(RateLimited):
        limits.take_request(LOCAL)
    limits.take_request(FOREIGN)


def test_streams_are_counted_while_they_are_open(seconds: Clock) -> None:
    limits = limits_of(seconds, user_streams=1, tenant_streams=2)
    with limits.stream(LOCAL):
        with pytest.raises(TooManyStreams), limits.stream(LOCAL):
            pass
        with limits.stream(OTHER), pytest.raises(TooManyStreams), limits.stream(Scope(tenant="local", user="third")):
            pass
        with limits.stream(FOREIGN):
            pass
    for _ in range(3):
        with limits.stream(LOCAL):
            pass


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


async def test_of_many_conversations_at_once_no_more_are_created_than_may_be_kept() -> None:
    async with served(Settings(user_conversations=5)) as client:
        answers = await asyncio.gather(*(client.post("/v1/conversations") for _ in range(30)))
        listed = (await client.get("/v1/conversations")).json()["data"]
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [429] * 25
    assert len(listed) == 5


async def test_who_would_store_too_much_can_read_and_delete_but_not_write() -> None:
    said = {"content": "x" * 60}
    async with served(Settings(user_storage_bytes=70)) as client:
        path = await conversation(client)
        assert_refused(await client.post(f"{path}/messages", json={"content": "x" * 500_000}), "storage_full")
        assert (await client.get(path)).json()["messages"] == []
        assert (await client.post(f"{path}/messages", json={"content": "x" * 40})).status_code == 200
        assert_refused(await client.post(f"{path}/messages", json=said), "storage_full")
        assert_refused(await client.post(f"{path}/regenerate"), "storage_full")
        assert_refused(await client.post("/v1/conversations"), "storage_full")
        assert_refused(await client.patch(path, json={"metadata": {"much": "x" * 50_000}}), "storage_full")
        assert_refused(await client.post("/api/chat", json={"message": "hello"}), "storage_full")
        assert (await client.get(path)).status_code == 200
        assert (await client.delete(path)).status_code == 204


async def test_a_message_too_many_in_the_queue_of_a_conversation_is_refused() -> None:
    go_on = asyncio.Event()
    model = ScriptedModel([Text("Well"), go_on, Stopped("stop")], *[says("Yes.")] * 2)
    async with served(Settings(queued_turns=2), model=model) as client:
        path = await conversation(client)
        sent = [
            client.post(f"{path}/messages", json={"content": "x"}, headers={"Prefer": "respond-async"})
            for _ in range(9)
        ]
        answers = await asyncio.gather(*sent)
        go_on.set()
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 6
    for answer in answers:
        if answer.status_code == 429:
            assert_refused(answer, "queue_full")


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
