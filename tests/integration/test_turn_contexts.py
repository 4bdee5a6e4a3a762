"""What the model is shown, through the Python API: blocks, long questions, how much of the history."""

from itertools import cycle, pairwise
from pathlib import Path

import pytest

import threadkeep
from threadkeep.context.base import Policy, Window
from threadkeep.conversation.blocks import RankedList
from threadkeep.conversation.message import Message, Role
from threadkeep.hosting import Hosting
from threadkeep.runtime import open_conversations
from threadkeep.settings import Settings
from threadkeep.store.values import Append
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant

SMALL = Policy(window=Window.BUDGET, size=2000)


@tool
def rank() -> ToolOutcome:
    """Rank the stocks."""
    rows = [{"ticker": ticker, "score": 1} for ticker in ("NVDA", "AAPL", "MSFT", "AMZN", "META", "TSLA")]
    return ToolOutcome(content="ranked", blocks=(RankedList(rows=rows),))


async def test_the_model_is_told_what_was_shown_beside_an_answer() -> None:
    model = ScriptedModel(wants(("1", "rank", {})), says("Chips stand out."), says("Nvidia."))
    async with threadkeep.open("memory:", [Assistant(name="a", tools=Registry([rank]))], model=model) as conversations:
        chat = await conversations.create()
        for question in ("Which stocks?", "The first one?"):
            await (await chat.send(question)).answer()
    told = model.requests[-1].messages[-2].content
    assert told == "Showed ranked list: NVDA, AAPL, MSFT, AMZN, META...\n\nChips stand out."


@pytest.mark.parametrize("size", [9_000, 30_000, 300_000])
async def test_the_current_question_is_never_cut_by_the_budget_of_the_history(size: int) -> None:
    model = ScriptedModel(says("Noted."), wants(("1", "rank", {})), says("Done."), says("Yes."))
    question = ("all of it matters " * size)[:size]
    assistant = Assistant(name="small", policy=SMALL, tools=Registry([rank]))
    async with threadkeep.open("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create()
        for text in ("My name is Alice.", question, "Was it long?"):
            await (await chat.send(text)).answer()
    assert [message.content for message in model.requests[1].messages] == ["My name is Alice.", "Noted.", question]
    assert model.requests[2].messages[2].content == question
    assert model.requests[3].messages[-1].content.endswith("Was it long?")


@pytest.mark.parametrize(
    ("policy", "seen"), [(Policy(), 3), (Policy(window=Window.FULL), 13), (Policy(window=Window.NEWEST, size=5), 5)]
)
async def test_the_setting_governs_the_history_of_every_assistant_without_a_window(policy: Policy, seen: int) -> None:
    model = ScriptedModel(*[says(f"Answer {number}.") for number in range(7)])
    hosting = Hosting(settings=Settings(max_history_length=3))
    conversations = await open_conversations(
        "memory:", [Assistant(name="a", policy=policy)], model=model, hosting=hosting
    )
    async with conversations:
        chat = await conversations.create()
        for number in range(7):
            await (await chat.send(f"Question {number}?")).answer()
    assert len(model.requests[-1].messages) == seen


async def test_ten_messages_are_the_default_of_the_setting_and_of_the_newest_that_are_given_back() -> None:
    model = ScriptedModel(*[says(f"Answer {number}.") for number in range(12)])
    async with threadkeep.open("memory:", [Assistant(name="a")], model=model) as conversations:
        chat = await conversations.create()
        for number in range(12):
            await (await chat.send(f"Question {number}?")).answer()
        assert [message.content for message in await chat.messages()][::9] == ["Question 7?", "Answer 11."]
        assert len(await chat.messages(limit=24)) == 24
    assert len(model.requests[-1].messages) == 10 + 1


async def test_the_demo_remembers_a_name_that_fell_out_of_its_window() -> None:
    assistant = Assistant(name="a", policy=Policy(window=Window.NEWEST, size=10))
    async with await open_conversations("memory:", [assistant], model="demo", pace=0) as conversations:
        chat = await conversations.create()
        await (await chat.send("My name is Alice.")).answer()
        for number in range(8):
            await (await chat.send(f"What is {number} plus 2?")).answer()
        await (await chat.send("What is my name?")).answer()
        assert "Alice" in (await chat.messages())[-1].content


async def test_what_other_branches_say_does_not_keep_a_message_from_being_recalled() -> None:
    model = ScriptedModel(says("Yes."))
    policy = Policy(window=Window.NEWEST, size=3)
    async with threadkeep.open("memory:", [Assistant(name="a", policy=policy)], model=model) as conversations:
        chat = await conversations.create()
        told = Message(role=Role.USER, content="The harbour key is 4711.")
        since = tuple(Message(role=Role.USER, content=f"Aside {number}.") for number in range(6))
        await conversations._store.append(chat.scope, chat.id, Append(bodies=(told,)))
        for number in range(20):
            elsewhere = Message(role=Role.USER, content=f"Where is the harbour key {number}?")
            await conversations._store.append(chat.scope, chat.id, Append(bodies=(elsewhere,), parent=1))
        await conversations._store.append(chat.scope, chat.id, Append(bodies=since, parent=1))
        await (await chat.send("Where is the harbour key?")).answer()
    assert "4711" in model.requests[0].messages[-1].content


async def test_another_form_of_a_word_and_the_answer_beside_it_are_recalled() -> None:
    context = await _asked_after(
        "Which boats did they repair in Bergen?", "Only the Fram, by Nansen.", "Repairing a boat?"
    )
    assert "Nansen" in context


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Der Schlüssel für den Keller liegt unter dem Blumentopf.", "Wo finde ich die Kellerschlüssel?"),
        ("Je suis allergique aux arachides.", "Quelles allergies ai-je ?"),
        ("Soy alérgico a los cacahuetes.", "¿Cuáles son mis alergias?"),
        ("Ik ben allergisch voor pinda's.", "Welke allergieën heb ik?"),
        ("У меня аллергия на арахис.", "Какие у меня аллергии?"),
        ("قطتنا اسمها موريتز وعمرها إحدى عشرة سنة.", "كم عمر القطة؟"),
    ],
)
async def test_compound_and_derived_words_of_other_languages_are_recalled(told: str, question: str) -> None:
    assert told in await _asked_after(told, "OK.", question)


async def test_a_question_that_says_nothing_is_recalled_by_what_is_talked_about() -> None:
    context = await _asked_after(
        "The harbour key is 4711.", "Noted.", "And where is it?", "We are at the harbour again."
    )
    assert "4711" in context


@pytest.mark.parametrize(("cached_from", "stays"), [(0, True), (1_024, False)])
async def test_the_beginning_of_a_request_that_is_long_enough_for_a_cache_stays_until_another_question_is_asked(
    cached_from: int, stays: bool
) -> None:
    model = ScriptedModel(*[says("Yes, so it is. " * 12)] * 43)
    model.window, model.cached_from = 1_600, cached_from
    assistant = Assistant(name="a", policy=Policy(window=Window.FULL))
    async with threadkeep.open("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create()
        await (await chat.send("The harbour key in Bergen is 4711.")).answer()
        for number in range(40):
            await (await chat.send(f"Is the weather good for a walk on day {number}?")).answer()
        await (await chat.send("What was the harbour key in Bergen?")).answer()
        await (await chat.send("Again, what was the harbour key in Bergen?")).answer()
    *running, asked, again = [request.messages for request in model.requests]
    kept = [now[: len(before) - 1] == before[:-1] for before, now in pairwise(running)]
    assert (sum(kept) > len(kept) * 3 // 4) is stays
    assert "4711" in asked[-1].content
    assert "4711" in again[-1].content


async def test_the_next_turn_takes_up_what_the_last_one_has_prepared() -> None:
    model = ScriptedModel(*[says(f"Answer {number}.") for number in range(3)])
    assistant = Assistant(name="a", policy=Policy(window=Window.FULL))
    async with threadkeep.open("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create()
        for number in range(3):
            await (await chat.send(f"Question {number}?")).answer()
    *_, before, after = model.requests
    assert all(now is then for now, then in zip(after.messages, before.messages, strict=False))
    assert len(after.messages) == 5


async def test_what_was_prepared_is_right_after_an_edit_another_instance_and_a_new_conversation_of_the_same_id(
    tmp_path: Path,
) -> None:
    model, elsewhere = (ScriptedModel(*[says(f"{who} {number}.") for number in range(9)]) for who in "AB")
    assistant, place = Assistant(name="a", policy=Policy(window=Window.FULL)), f"sqlite:///{tmp_path / 'log.db'}"
    async with (
        threadkeep.open(place, [assistant], model=model) as here,
        threadkeep.open(place, [assistant], model=elsewhere) as there,
    ):
        chat = await here.create(id="chat")
        await (await chat.send("One?")).answer()
        first = (await here._store.newest(chat.scope, chat.id))[-1].seq
        await (await chat.send("Two?")).answer()
        await (await chat.send("Two, edited?", parent=first)).answer()
        assert _texts(model) == ["One?", "A 0.", "Two, edited?"]
        for number in range(9):
            await (await (await there.get("chat")).send(f"There {number}?")).answer()
        await (await chat.send("Here again?")).answer()
        assert _texts(model)[:5] == ["One?", "A 0.", "Two, edited?", "A 2.", "There 0?"]
        assert _texts(model)[-3:] == ["There 8?", "B 8.", "Here again?"]
        await (await there.get("chat")).delete()
        chat = await here.create(id="chat")
        await (await chat.send("Anew?")).answer()
        assert _texts(model) == ["Anew?"]


def _texts(model: ScriptedModel) -> list[str]:
    return [message.content for message in model.requests[-1].messages]


async def _asked_after(told: str, reply: str, question: str, latest: str = "Aside.") -> str:
    """Return what the model sees with a question long after something was told, just after something else."""
    model = ScriptedModel(says("Yes."))
    assistant = Assistant(name="a", policy=Policy(window=Window.NEWEST, size=3))
    aside = [text for number in range(10) for text in (f"Aside {number}.", "Fine.")]
    texts = [told, reply, *aside, latest, "Fine."]
    roles = cycle((Role.USER, Role.ASSISTANT))
    async with threadkeep.open("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create()
        bodies = tuple(Message(role=role, content=text) for role, text in zip(roles, texts, strict=False))
        await conversations._store.append(chat.scope, chat.id, Append(bodies=bodies))
        await (await chat.send(question)).answer()
    return model.requests[0].messages[-1].content
