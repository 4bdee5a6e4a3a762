"""The general assistant, asked as people would ask it, with the scripted model and real tools."""

from contextlib import suppress
from time import process_time

import pytest

import threadkeep
from tests.told import name_of
from tests.unit.threadkeep_assistants.long_inputs import slow_inputs
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import InvalidValue
from threadkeep.llm.base import Request, ToolSpec
from threadkeep_assistants.chat import ASSISTANT
from threadkeep_assistants.chat.arithmetic import value_of
from threadkeep_assistants.chat.tools import zone_named
from threadkeep_assistants.demo.model import DemoModel

DEMO = DemoModel(ASSISTANT.script, pace=0)


async def answer(chat: ConversationHandle, question: str) -> str:
    message = await (await chat.send(question)).answer()
    assert message is not None
    return message.content


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is 17 * 23?", "391"),
        ("what's 2+2", "= 4"),
        ("calculate (3 + 4) * 5 please", "= 35"),
        ("How much is 15% of 80?", "= 12"),
        ("12 times 8?", "= 96"),
        ("what is 100 divided by 8", "= 12.5"),
        ("sqrt(144)", "= 12"),
        ("2 to the power of 10", "= 1024"),
        ("1,000 + 1", "= 1001"),
        ("what is 1/0?", "division by zero"),
        ("what is 1e3 + 1", "= 1001"),
        ("what is 200 - 20%", "= 160"),
        ("٣ + ٤", "= 7"),
        ("3 + ４", "= 7"),
        ("what is 1111111111111111111111111111111111111111y", "not in my script"),
        ("half of 90", "= 45"),
        ("17 mod 5", "= 2"),
        ("max(3, 7)", "= 7"),
        ("what is pi * 2", "= 6.28"),
        ("10-4", "= 6"),
        ("2**1000", "= 10715086"),
        ("9**9**9", "That is too large"),
        ("sqrt(-1)", "no value among the real numbers"),
        ("(1+2", "no arithmetic expression"),
        ("What time is it?", "(UTC)"),
        ("whats the time", "(UTC)"),
        ("time in new york", "(America/New_York)"),
        ("how late is it in Oslo right now?", "(Europe/Oslo)"),
        ("What time is it in Atlantis?", "I know no time zone 'Atlantis'"),
        ("what time is it in india", "Name a large city there."),
        ("what time is it in New York", "(America/New_York)"),
        ("What's the date in Tokyo?", "(Asia/Tokyo)"),
        ("what day is it today?", "(UTC)"),
    ],
)
async def test_time_and_arithmetic_are_left_to_tools(question: str, told: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        chat = await conversations.create(title="Kept")
        assert told in await answer(chat, question)


@pytest.mark.parametrize(
    "question",
    [
        "Call me at 555-1234",
        "We meet on 2026-11-15",
        "Rooms 3 - 5 are mine",
        "what day is 2026-11-15?",
        "We are open 24/7",
        "$5 + $3",
        "what time is the meeting?",
        "did you have a good time?",
    ],
)
async def test_numbers_that_are_no_sum_are_left_alone(question: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        chat = await conversations.create(title="Kept")
        events = [name_of(event) async for event in (await chat.send(question)).events()]
        assert "tool.called" not in events


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        (["What is 17 * 23?", "times 2"], "not in my script"),
        (["My name is Alice", "whats my name"], "Your name is Alice."),
        (["my dog is called Rex", "what's my dog's name?"], "Your dog is called Rex."),
        (["I am allergic to nuts", "what am I allergic to?"], "you are allergic to nuts"),
        (["what can you do?"], "I am the scripted demo, not a language model.\n\nTry:"),
        (["Remember that the party is on Friday", "what did we say about the party?"], "the party is on Friday"),
        (["search my conversations"], "not in my script"),
    ],
)
async def test_what_was_said_is_remembered_and_what_is_beyond_the_script_is_said_to_be(
    questions: list[str], told: str
) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        chat = await conversations.create(title="Kept")
        assert told in [await answer(chat, question) for question in questions][-1]


async def test_it_remembers_a_name_in_a_conversation() -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        chat = await conversations.create(title="Kept")
        await answer(chat, "My name is Alice")
        await answer(chat, "What is 2 + 2?")
        assert "Alice" in await answer(chat, "What's my name?")


@pytest.mark.parametrize(
    "question",
    [
        "Search my conversations for zanzibar",
        "search my earlier chats for Zanzibar",
        "Have we talked about Zanzibar?",
        "did I ever mention zanzibar",
        "find the conversation about Zanzibar",
        "What did I say about Zanzibar last time?",
        "look through our history for zanzibar, please",
        "what did we say about Zanzibar last week?",
        "What did we discuss about zanzibar two weeks ago?",
        "what did we say about zanzibar?",
        "do you remember what we said about Zanzibar?",
        "remind me what we said about zanzibar last time",
        "look up Zanzibar in my old chats",
        "find where we talked about zanzibar",
        "when did we talk about Zanzibar?",
    ],
)
async def test_earlier_conversations_of_the_same_user_are_found(question: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        earlier = await conversations.create(title="Holidays")
        await answer(earlier, "Remember that I want to see Zanzibar in March")
        chat = await conversations.create(title="Kept")
        told = await answer(chat, question)
        assert "Holidays" in told
        assert "March" in told


async def test_nobody_finds_what_somebody_else_said() -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        theirs = await conversations.create(title="Secret", scope=Scope(tenant="acme", user="bob"))
        await answer(theirs, "Remember that I want to see Zanzibar")
        same_tenant = await conversations.create(title="Kept", scope=Scope(tenant="acme", user="eve"))
        other_tenant = await conversations.create(title="Kept", scope=Scope(tenant="zeta", user="bob"))
        for chat in (same_tenant, other_tenant):
            assert "found nothing" in await answer(chat, "Search my conversations for Zanzibar")


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "x + 1",
        "__import__('os')",
        "9**9**9**9",
        "10**4000",
        "'a' * 3",
        "(1).real",
        "1 +",
        "f" * 600,
        "(" * 400,
        "-1 ** 0.5j",
        "10 ** 10 ** 10",
        "(10 ** 999) ** 999",
        "0.5 ** -(10 ** 9)",
        "10 ** 999 * 1.5",
        "10 ** 999 / 3 * 10 ** 999",
        "1e308 * 10",
        "1e999",
        "sin(10 ** 999)",
        "9" * 501,
        "max()",
        "abs(1, 2)",
    ],
)
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(InvalidValue):
        value_of(expression)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1.5 * 2", "3"),
        ("10 // 4", "2"),
        ("-2 ** 2", "-4"),
        ("max(1, 2, 3)", "3"),
        ("2^8", "256"),
    ],
)
def test_expressions_have_the_value_that_mathematics_gives_them(expression: str, value: str) -> None:
    assert value_of(expression) == value


def test_long_questions_of_any_kind_are_answered_quickly() -> None:
    tools = tuple(ToolSpec(name=tool.spec.name, description="", parameters={}) for tool in ASSISTANT.tools)

    def answered(text: str) -> None:
        said = (Message(role=Role.USER, content=text), Message(role=Role.USER, content=text))
        DEMO._reply(Request(messages=said, tools=tools))

    for lead in ("", "what is ", "my name is "):
        assert slow_inputs(answered, lead) == []


@pytest.mark.parametrize("expression", ["2**10", "1+", "((", "max(", "1,", "--", "9**", "sqrt(5,-"])
def test_long_expressions_of_any_kind_are_refused_or_worked_out_quickly(expression: str) -> None:
    started = process_time()
    for length in (50, 499, 100_000):
        with suppress(InvalidValue):
            value_of((expression * length)[:length])
    assert process_time() - started < 1.0


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("I am Dr. Jane O'Neil", "Dr. Jane O'Neil"),
        ("My name is Alice", "Alice"),
        ("Hi, I'm Prof. Müller. I live in Bern", "Prof. Müller"),
        ("my name is Mary Ann Smith and I live in Oslo", "Mary Ann Smith"),
        ("call me Bo", "Bo"),
        ("I am Groot.", "Groot"),
        ("I am Mr. Smith, and my dog is Rex", "Mr. Smith"),
    ],
)
async def test_a_name_is_remembered_whole(said: str, name: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as conversations:
        chat = await conversations.create(title="Kept")
        await answer(chat, said)
        assert await answer(chat, "What's my name?") == f"Your name is {name}."


def test_a_city_stands_for_its_zone() -> None:
    found = zone_named("new york")
    assert found is not None
    assert found[0] == "America/New_York"
    assert zone_named("Atlantis") is None
