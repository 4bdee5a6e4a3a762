"""Titles: after the first exchange, by the model or from the words; nobody waits for one."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, called, ended, new_conversation, seen, until
from threadkeep.conversation.entry import Update
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text
from threadkeep.llm.title import is_title_request
from threadkeep.store.values import Append
from threadkeep.testing.attachments import MemoryAttachments
from threadkeep.testing.scripted_model import ScriptedModel, says

QUESTION = "Hello, which otters keep logs? I would like to know."


class Real(ScriptedModel):
    """A model that counts as a real one."""

    is_scripted = False


async def test_a_scripted_model_gives_a_title_from_the_words_without_another_call(processes: Processes) -> None:
    model = ScriptedModel(says("All of them."))
    conversations = await processes.open(model)
    chat = await conversations.create()
    await chat.send(QUESTION)
    updated = await seen(chat, "conversation.updated")
    assert data_of(updated)["title"] == (await chat.read()).title == "Which otters keep logs?"
    assert len(model.requests) == 1


async def test_a_real_model_is_asked_for_a_title_with_the_first_exchange(processes: Processes) -> None:
    model = Real(says("All of them."), says('"Otters and', ' their logs."\n'))
    conversations = await processes.open(model)
    chat = await conversations.create()
    await chat.send(QUESTION)
    assert data_of(await seen(chat, "conversation.updated"))["title"] == "Otters and their logs"
    assert is_title_request(model.requests[1])
    assert not model.requests[1].tools


@pytest.mark.parametrize(
    "answer",
    [
        [ModelUnavailable("down")],
        [Stopped("stop")],
        [Text("  "), Stopped("stop")],
        [Text("Ott"), ModelUnavailable("down")],
    ],
)
async def test_a_model_that_gives_no_title_leaves_it_to_the_words(
    processes: Processes, answer: list[Delta | BaseException | asyncio.Event]
) -> None:
    conversations = await processes.open(Real(says("All of them."), answer))
    chat = await conversations.create()
    await chat.send(QUESTION)
    assert data_of(await seen(chat, "conversation.updated"))["title"] == "Which otters keep logs?"


async def test_nobody_waits_for_a_title(processes: Processes) -> None:
    model = Real(says("All of them."), [asyncio.Event()], says("Yes."), [asyncio.Event()])
    conversations = await processes.open(model)
    chat = await conversations.create()
    assert name_of(await ended(await chat.send(QUESTION))) == "turn.completed"
    await called(model, 2)
    assert name_of(await ended(await chat.send("Really?"))) == "turn.completed"
    await called(model, 4)
    assert (await chat.read()).title is None


async def test_a_title_that_never_comes_is_given_up(processes: Processes) -> None:
    conversations = await processes.open(Real(says("All of them."), [asyncio.Event()]), silence=0.05)
    chat = await conversations.create()
    await chat.send(QUESTION)
    assert data_of(await seen(chat, "conversation.updated"))["title"] == "Which otters keep logs?"


async def test_a_given_title_stays(processes: Processes) -> None:
    model = Real(says("All of them."))
    conversations = await processes.open(model)
    chat = await new_conversation(conversations, title="Mine")
    await ended(await chat.send(QUESTION))
    await until(lambda: not conversations._runner._tasks)
    assert (await chat.read()).title == "Mine"
    assert len(model.requests) == 1


async def test_a_conversation_that_was_answered_elsewhere_keeps_the_title_of_its_first_words(
    processes: Processes,
) -> None:
    conversations = await processes.open(ScriptedModel(says("All of them.")))
    chat = await new_conversation(conversations, title="Anyone there?")
    said = (Message(role=Role.USER, content="Anyone there?"), Message(role=Role.ASSISTANT, content="I am."))
    await conversations._store.append(chat.scope, chat.id, Append(bodies=said))
    await ended(await chat.send(QUESTION))
    await until(lambda: not conversations._runner._tasks)
    assert (await chat.read()).title == "Anyone there?"


async def test_a_title_that_a_person_gives_meanwhile_wins(processes: Processes) -> None:
    gate = asyncio.Event()
    model = Real(says("All of them."), [gate, *says("Otters")])
    conversations = await processes.open(model)
    chat = await conversations.create()
    await ended(await chat.send(QUESTION))
    await called(model, 2)
    await conversations._store.update(chat.scope, chat.id, Update(title="Mine"))
    gate.set()
    await until(lambda: not conversations._runner._tasks)
    assert (await chat.read()).title == "Mine"


async def test_a_failed_first_turn_gives_a_title_of_its_words_which_the_next_answer_replaces(
    processes: Processes,
) -> None:
    conversations = await processes.open(
        ScriptedModel([ModelUnavailable("down")], says("All of them."), says("Yes.")), pauses=()
    )
    chat = await conversations.create()
    titles = []
    for question in ("Anyone there?", QUESTION, "Really?"):
        await ended(await chat.send(question))
        await until(lambda: not conversations._runner._tasks)
        titles.append((await chat.read()).title)
    assert titles == ["Anyone there?", *["Which otters keep logs?"] * 2]


class Broken(Model):
    """A model that answers, but breaks when it is asked for a title."""

    name = "broken"

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer, or break."""
        if is_title_request(request):
            raise ZeroDivisionError("a fault of the model")
        yield Text("Yes.")
        yield Stopped("stop")


@pytest.mark.server_may_fail
async def test_a_fault_while_a_title_is_made_is_logged_and_does_no_harm(
    processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    conversations = await processes.open(Broken())
    chat = await conversations.create()
    assert name_of(await ended(await chat.send(QUESTION))) == "turn.completed"
    await until(lambda: not conversations._runner._tasks)
    assert "a fault of the model" in caplog.text
    assert name_of(await ended(await chat.send("Still there?"))) == "turn.completed"


async def test_a_question_without_words_gets_no_empty_title(processes: Processes) -> None:
    conversations = await processes.open(ScriptedModel(says("?")))
    chat = await conversations.create()
    await ended(await chat.send("***"))
    await until(lambda: not conversations._runner._tasks)
    assert (await chat.read()).title is None


async def test_a_question_of_files_alone_is_titled_by_their_names(processes: Processes) -> None:
    conversations = await processes.open(ScriptedModel(says("A cat.")), attachments=MemoryAttachments())
    chat = await conversations.create()
    await chat.send("", attach=[("cat.png", b"\x89PNG\r\n\x1a\n"), ("notes.txt", b"Tom")])
    assert data_of(await seen(chat, "conversation.updated"))["title"] == "Cat.png, notes.txt"
