"""The demo model: scripted, deterministic, and honest about it."""

import threading
from time import perf_counter

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import ModelError
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import CallPart, Delta, Request, Stopped, Text, ToolSpec, Used
from threadkeep.llm.title import title_request
from threadkeep_assistants.demo.general_script import CONNECT, NOTICE
from threadkeep_assistants.demo.model import DemoModel, ScriptTimeout
from threadkeep_assistants.demo.script import Reply, Scene, Script, asked, calls

CLOCK = ToolSpec(name="current_time", description="The time.", parameters={"type": "object", "properties": {}})


def request(*said: str, tools: tuple[ToolSpec, ...] = ()) -> Request:
    """Return a request in which user and assistant spoke by turns."""
    roles = (Role.USER, Role.ASSISTANT)
    messages = [Message(id=f"m{i}", role=roles[i % 2], content=text) for i, text in enumerate(said)]
    return Request(messages=tuple(messages), tools=tools)


async def deltas(asked_for: Request, model: DemoModel | None = None) -> list[Delta]:
    return [delta async for delta in (model or DemoModel(pace=0)).stream(asked_for)]


async def says(*said: str, model: DemoModel | None = None) -> str:
    made = Answer()
    for delta in await deltas(request(*said), model):
        made.add(delta)
    return made.text


async def test_it_remembers_a_name_said_earlier() -> None:
    assert await says("My name is Alice", "Nice to meet you!", "What's my name?") == "Your name is Alice."


async def test_no_part_of_a_word_is_taken_for_a_name() -> None:
    assert "Arm" not in await says("I'm Armand x", "I see.", "What's my name?")


async def test_it_knows_a_name_said_in_the_same_message() -> None:
    assert (await says("My name is Alice.\n\nWhat's my name?")).startswith("Your name is Alice.")


async def test_it_knows_no_name_that_was_not_said() -> None:
    assert "not told me your name" in await says("What's my name?")


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("my favourite colour is blue", "What is my favorite color?", "Your favourite colour is blue."),
        ("Remember that the meeting is on Friday", "When is the meeting?", "You told me: the meeting is on Friday."),
        ("I live in Bonn.", "where do I live?", "You told me: you live in Bonn."),
        ("I'm Bob and I like tea", "What do you know about me?", "You told me that your name is Bob and you like tea."),
        ("Hello", "what do you remember about me", "You have not told me anything about yourself yet."),
        ("Hello", "What's my shoe size?", "You have not told me your shoe size yet."),
    ],
)
async def test_it_remembers_facts(told: str, question: str, answer: str) -> None:
    assert await says(told, "Fine.", question) == answer


async def test_it_confirms_what_it_will_remember() -> None:
    text = await says("Hi", "Hello!", "My name is Ann and my dog is called Rex")
    assert text == "Nice to meet you, Ann! I will remember that your dog is called Rex."


@pytest.mark.parametrize("greeting", ["Hello", "hi there!", "Good morning"])
async def test_it_greets(greeting: str) -> None:
    assert (await says(greeting)).startswith("Hello!")


async def test_the_first_answer_says_that_it_is_scripted_and_the_next_does_not() -> None:
    assert NOTICE in await says("My name is Alice")
    assert NOTICE not in await says("My name is Alice", "Nice to meet you!", "thanks")


async def test_off_its_script_it_says_what_it_can_answer_and_how_to_connect_a_model() -> None:
    script = Script(rules=(), examples=("What is the budget of CC-1001?",))
    text = await says("Explain quantum physics", model=DemoModel(script, pace=0))
    assert "scripted" in text
    assert "What is the budget of CC-1001?" in text
    assert "What's my name?" in text
    assert CONNECT in text


async def test_the_script_of_the_assistant_comes_first() -> None:
    script = Script(rules=(asked("hello", "Good day from the shop."),))
    assert (await says("hello", model=DemoModel(script, pace=0))).startswith("Good day from the shop.")


async def test_nothing_is_added_to_a_plain_reply() -> None:
    script = Script(rules=(asked("rewrite", lambda *_: Reply(text="phones under $500", is_plain=True)),))
    assert await says("rewrite", model=DemoModel(script, pace=0)) == "phones under $500"


async def test_a_rule_that_fails_is_a_model_error() -> None:
    def broken(scene: Scene) -> Reply | None:
        raise KeyError("budget")

    with pytest.raises(ModelError, match="KeyError: 'budget'"):
        await says("hello", model=DemoModel(Script(rules=(broken,)), pace=0))


async def test_a_rule_that_takes_too_long_is_given_up_and_holds_nobody_up() -> None:
    found = threading.Event()

    def slow(scene: Scene) -> Reply | None:
        found.wait()
        return None

    with pytest.raises(ScriptTimeout, match="no answer within"):
        await says("hello", model=DemoModel(Script(rules=(slow,)), pace=0, limit=0.01))
    found.set()


async def test_a_title_is_made_from_the_words() -> None:
    made = Answer()
    for delta in await deltas(title_request("Hello, what stocks benefit from rate cuts? Be brief.", "Banks.")):
        made.add(delta)
    assert made.text == "What stocks benefit from rate cuts?"


async def test_it_streams_word_by_word_and_tells_usage_and_end() -> None:
    *words, used, stopped = await deltas(request("Hi", "Hello!", "thanks"))
    assert words == [Text("You "), Text("are "), Text("welcome!")]
    assert isinstance(used, Used)
    assert used.usage.input_tokens == 4
    assert used.usage.output_tokens == 4
    assert stopped == Stopped("stop")


async def test_it_waits_its_pace_after_each_word() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    await deltas(request("Hi", "Hello!", "thanks"), DemoModel(pace=0.25, sleep=sleep))
    assert waits == [0.25] * 3


async def test_it_plays_a_tool_call_and_reads_out_the_result() -> None:
    asking = request("What time is it?", tools=(CLOCK,))
    called, args, _, stopped = await deltas(asking)
    assert isinstance(called, CallPart)
    assert (called.name, args, stopped) == ("current_time", CallPart(index=0, args="{}"), Stopped("tool_calls"))
    call = ToolCall(id=called.id or "", name="current_time")
    answered = Request(
        messages=(
            *asking.messages,
            Message(role=Role.ASSISTANT, tool_calls=(call,)),
            Message(role=Role.TOOL, content="10:15", tool_result=ToolResult(tool_call_id=call.id)),
        ),
        tools=(CLOCK,),
    )
    made = Answer()
    for delta in await deltas(answered):
        made.add(delta)
    assert made.text.startswith("current_time says: 10:15")


async def test_a_failed_tool_is_told() -> None:
    call = ToolCall(id="c", name="current_time")
    failed = ToolResult(tool_call_id="c", error="the clock is broken")
    messages = (
        Message(role=Role.USER, content="What time is it?"),
        Message(role=Role.ASSISTANT, tool_calls=(call,)),
        Message(role=Role.TOOL, content="", tool_result=failed),
    )
    made = Answer()
    for delta in await deltas(Request(messages=messages, tools=(CLOCK,))):
        made.add(delta)
    assert "current_time failed: the clock is broken" in made.text


async def test_call_ids_are_the_same_for_the_same_request_and_differ_elsewhere() -> None:
    script = Script(rules=(calls("time", "current_time"),))
    model = DemoModel(script, pace=0)

    async def id_of(*said: str) -> str | None:
        first, *_ = await deltas(request(*said, tools=(CLOCK,)), model)
        assert isinstance(first, CallPart)
        return first.id

    assert await id_of("time?") == await id_of("time?")
    assert await id_of("time?") != await id_of("time?", "10:15", "time?")


def test_it_is_marked_as_scripted() -> None:
    assert DemoModel().is_scripted
    assert DemoModel().name == "demo"


@pytest.mark.parametrize("text", ["what do you know ", "1", "my my ", "[Threadkeep: ", "I have a (", "remember "])
async def test_a_very_long_message_is_answered_as_quickly_as_a_short_one(text: str) -> None:
    before = perf_counter()
    await says(text * (1_000_000 // len(text)))
    assert perf_counter() - before < 5


@pytest.mark.parametrize("question", ["Nice to see you.", "Did you see you were wrong?", "My boss says thanks are due"])
async def test_words_of_a_courtesy_inside_of_something_else_are_none(question: str) -> None:
    told = await says(question)
    assert "Goodbye" not in told
    assert "welcome" not in told


@pytest.mark.parametrize("question", ["see you", "ok bye", "That was all. See you tomorrow!", "Good night, demo"])
async def test_a_farewell_is_answered(question: str) -> None:
    assert "Goodbye" in await says(question)


async def test_a_name_is_taken_from_who_goes_by_it() -> None:
    assert "Ezra" in await says("Nice to see you. I go by Ezra.")
    assert "Your name is Ezra" in await says("I go by Ezra.", "Nice to meet you!", "What is my name?")
    assert "bus" not in await says("I go by bus")


@pytest.mark.parametrize(
    "told", ["Don't call me Bob", "Please do not call me Bob", "My name is not Bob", "I'm called never"]
)
async def test_what_somebody_is_not_called_is_no_name(told: str) -> None:
    assert "Nice to meet you" not in await says(told)
    assert "Bob" not in await says(told, "I see.", "What is my name?")
