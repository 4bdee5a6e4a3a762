"""The general assistant, asked as people would ask it, with the scripted model and real tools."""

import pytest

import threadkeep
from threadkeep.assistants.chat import ASSISTANT
from threadkeep.assistants.chat.arithmetic import value_of
from threadkeep.assistants.chat.clock import zone_named
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidValue
from threadkeep.keeper import Chat
from threadkeep.llm.demo import DemoModel

DEMO = DemoModel(ASSISTANT.script, pace=0)


async def answer(chat: Chat, question: str) -> str:
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
        ("the square root of 144", "= 12"),
        ("2 to the power of 10", "= 1024"),
        ("1,000 + 1", "= 1001"),
        ("what is 1/0?", "division by zero"),
        ("What time is it?", "(UTC)"),
        ("what time is it in New York", "(America/New_York)"),
        ("What's the date in Tokyo?", "(Asia/Tokyo)"),
        ("what day is it today?", "(UTC)"),
    ],
)
async def test_time_and_arithmetic_are_left_to_tools(question: str, told: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as keeper:
        chat = await keeper.create(title="Kept")
        assert told in await answer(chat, question)


@pytest.mark.parametrize("question", ["Call me at 555-1234", "We meet on 2026-11-15", "Rooms 3 - 5 are mine"])
async def test_numbers_that_are_no_sum_are_left_alone(question: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as keeper:
        chat = await keeper.create(title="Kept")
        events = [event.name async for event in (await chat.send(question)).events()]
        assert "tool.called" not in events


async def test_it_remembers_a_name_in_a_conversation() -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as keeper:
        chat = await keeper.create(title="Kept")
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
    ],
)
async def test_earlier_conversations_of_the_same_user_are_found(question: str) -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as keeper:
        earlier = await keeper.create(title="Holidays")
        await answer(earlier, "Remember that I want to see Zanzibar in March")
        chat = await keeper.create(title="Kept")
        told = await answer(chat, question)
        assert "Holidays" in told
        assert "March" in told


async def test_nobody_finds_what_somebody_else_said() -> None:
    async with threadkeep.open("memory:", [ASSISTANT], model=DEMO) as keeper:
        theirs = await keeper.create(title="Secret", scope=Scope(tenant="acme", user="bob"))
        await answer(theirs, "Remember that I want to see Zanzibar")
        same_tenant = await keeper.create(title="Kept", scope=Scope(tenant="acme", user="eve"))
        other_tenant = await keeper.create(title="Kept", scope=Scope(tenant="zeta", user="bob"))
        for chat in (same_tenant, other_tenant):
            assert "found nothing" in await answer(chat, "Search my conversations for Zanzibar")


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "x + 1",
        "__import__('os')",
        "9**9**9**9",
        "10**400",
        "'a' * 3",
        "(1).real",
        "1 +",
        "f" * 600,
        "(" * 400,
        "-1 ** 0.5j",
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
        ("round(2/3, 2)", "0.67"),
        ("max(1, 2, 3)", "3"),
        ("2^8", "256"),
    ],
)
def test_expressions_have_the_value_that_mathematics_gives_them(expression: str, value: str) -> None:
    assert value_of(expression) == value


def test_a_city_stands_for_its_zone() -> None:
    found = zone_named("new york")
    assert found is not None
    assert found[0] == "America/New_York"
    assert zone_named("Atlantis") is None
