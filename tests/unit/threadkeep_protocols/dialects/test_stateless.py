"""Stateless questions: `/v1/chat/query/stream` with a history that the client brings along (R-D1, R-D6)."""

import asyncio
import json
import logging
from typing import Any

import pytest

from tests.told import name_of
from tests.unit.server.serving import served, until
from tests.unit.threadkeep_protocols.dialects.serving import assert_problem, events_in, names_and_data, serving
from threadkeep.conversation.message import Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.llm.base import Text
from threadkeep.settings import Settings
from threadkeep.store.base import MAX_BYTES
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep_protocols.dialects.stateless import Asides, Said, trimmed

PATH = "/v1/chat/query/stream"
HISTORY = [{"role": "user", "content": "Who gains?"}, {"role": "assistant", "content": "Banks."}]


def _seen(model: ScriptedModel) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in model.requests[-1].messages if message.role != "system"]


@pytest.mark.parametrize("verb", ["POST", "GET"])
async def test_a_question_is_answered_with_its_history_and_nothing_is_stored(verb: str) -> None:
    async with serving(says("Rate ", "cuts.")) as served:
        if verb == "POST":
            answer = await served.client.post(PATH, json={"query": "Why?", "history": HISTORY})
        else:
            answer = await served.client.get(PATH, params={"query": "Why?", "history": json.dumps(HISTORY)})
        told = names_and_data(answer.text)
        assert [told[0][0], told[-1][0]] == ["message.completed", "turn.completed"]
        [said] = [data["message"]["content"] for name, data in told[1:] if name == "message.completed"]
        assert said == "Rate cuts."
        assert _seen(served.model) == [("user", "Who gains?"), ("assistant", "Banks."), ("user", "Why?")]
        assert (await served.client.get("/v1/conversations")).json()["data"] == []


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_history_of_null_is_none_at_all(verb: str) -> None:
    async with serving(says("Because.")) as served:
        if verb == "POST":
            answer = await served.client.post(PATH, json={"query": "Why?", "history": None, "store": None})
        else:
            answer = await served.client.get(PATH, params={"query": "Why?", "history": "null"})
    assert (answer.status_code, "event: turn.completed" in answer.text) == (200, True)


async def test_only_the_newest_messages_of_a_history_are_kept() -> None:
    history = [{"role": "user" if at % 2 else "assistant", "content": f"m{at}"} for at in range(31)]
    async with serving(says("Yes.")) as served:
        await served.client.post(PATH, json={"query": "And?", "history": history})
        text = " ".join(content for _, content in _seen(served.model))
        assert "m21" in text
        assert "m20" not in text


async def test_how_many_are_kept_is_a_setting() -> None:
    async with serving(says("Yes."), settings=Settings(store="memory:", max_history_length=2)) as served:
        await served.client.post(PATH, json={"query": "And?", "history": HISTORY * 3})
        assert _seen(served.model) == [("user", "Who gains?"), ("assistant", "Banks."), ("user", "And?")]


def _said(role: str, content: str) -> Said:
    return Said.model_validate({"role": role, "content": content})


def test_a_history_is_trimmed_to_the_budget_newest_first() -> None:
    history = [_said("user", "a" * 400), _said("user", "b" * 400), _said("user", "c" * 400)]
    assert trimmed(history, 10, 200) == history[1:]
    assert trimmed(history, 1, 1000) == history[2:]
    assert trimmed(history, 10, 99) == []


def test_an_old_answer_that_does_not_fit_is_kept_short_and_what_is_before_it_too() -> None:
    history = [_said("user", "why?"), _said("assistant", "because " * 2000), _said("user", "ok")]
    kept = trimmed(history, 10)
    assert [item.role for item in kept] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert len(kept[1].content) <= 200
    assert kept[1].content.startswith("because because")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"history": HISTORY}, 422),
        ({"query": ""}, 422),
        ({"query": "Why?", "history": [{"role": "robot", "content": "x"}]}, 400),
        ({"query": "Why?", "history": [{"role": "tool", "content": "x"}]}, 400),
        ({"query": "Why?", "history": [{"role": "user"}]}, 422),
        ({"query": "Why?", "assistant": "nobody"}, 400),
    ],
)
async def test_a_misshapen_question_is_refused(body: dict[str, Any], status: int) -> None:
    async with serving() as served:
        assert (await served.client.post(PATH, json=body)).status_code == status


@pytest.mark.parametrize("history", ["{", "[1]", '{"role": "user"}'])
async def test_a_history_that_is_no_list_of_messages_is_refused(history: str) -> None:
    async with serving() as served:
        answer = await served.client.get(PATH, params={"query": "Why?", "history": history})
        assert_problem(answer, 422, "invalid_request")
        assert answer.json()["detail"].startswith("query.history")


async def test_a_browser_that_comes_back_is_told_to_stop_instead_of_asking_again() -> None:
    async with serving(says("Yes.")) as served:
        cursor = events_in((await served.client.get(PATH, params={"query": "Why?"})).text)[-1][2] or ""
        again = await served.client.get(PATH, params={"query": "Why?"}, headers={"Last-Event-ID": cursor})
        assert again.status_code == 204


async def test_a_question_is_kept_with_its_history_if_that_is_asked_once_for_a_key() -> None:
    async with serving(says("Rate cuts.")) as served:
        body, key = {"query": "Why?", "history": HISTORY, "store": True}, {"Idempotency-Key": "k"}
        answers = [await served.client.post(PATH, json=body, headers=key) for _ in range(2)]
        assert answers[0].headers["location"] == answers[1].headers["location"]
        assert answers[1].headers["idempotency-replayed"] == "true"
        stored = (await served.client.get(answers[0].headers["location"])).json()
        assert [item["content"] for item in stored["messages"]] == ["Who gains?", "Banks.", "Why?", "Rate cuts."]
        assert len((await served.client.get("/v1/conversations")).json()["data"]) == 1


async def test_a_reader_who_leaves_ends_the_turn_and_its_model_call() -> None:
    async with serving([Text("Well"), asyncio.Event()]) as served:
        asides = Asides(served.conversations, MAX_BYTES)
        aside = await asides.open()
        conversation = await aside[0].create()
        events = asides.follow(conversation, await conversation.send("hi"), aside)
        async for event in events:
            if name_of(event) == "text.delta":
                break
        before = asyncio.all_tasks()
        await events.aclose()
        await asyncio.gather(*asyncio.all_tasks() - before)
        assert served.model.closed == [True]


@pytest.mark.server_may_fail
async def test_an_end_that_fails_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(*given: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(ConversationHandle, "cancel", fail)
    with caplog.at_level(logging.ERROR):
        async with served() as client:
            assert (await client.get("/v1/chat/query/stream?query=hello")).status_code == 200

            async def is_told() -> bool:
                return "did not end cleanly" in caplog.text

            await until(is_told)
