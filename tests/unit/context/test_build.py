"""Whatever the log and wherever it is cut, the result is a request that every provider accepts."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.context.logs import (
    MODELS,
    assistant,
    built,
    cut_off,
    entries,
    material,
    materials,
    read_by,
    told,
    tool,
    user,
)
from threadkeep.context.base import Context, Cut, Material, Policy, Window
from threadkeep.context.marks import NO_CONTENT
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Reasoning
from threadkeep.llm.base import Request, ToolSpec
from threadkeep.testing.providers import PROVIDERS, check_everywhere
from threadkeep.text.excerpt import OLD

TOOLS = (ToolSpec(name="look", description="Look it up.", parameters={"type": "object", "properties": {}}),)


def request_of(material: Material) -> Request:
    return Request(messages=built(material).messages, tools=TOOLS if material.audience.has_tools else ())


def question_in(material: Material) -> Message | None:
    """Return the current question, found in another way than the product finds it."""
    entries = [line.entry for line in material.lines if line.entry is not None and line.seq >= material.cut.first]
    asked = [entry for entry in entries if isinstance(entry.body, Message) and entry.body.role is Role.USER]
    named = [entry for entry in asked if entry.turn == material.turn]
    chosen = named[0] if named else asked[-1] if asked else None
    return None if chosen is None or not isinstance(chosen.body, Message) else chosen.body


@settings(max_examples=600, deadline=None)
@given(materials())
def test_any_log_cut_anywhere_gives_a_request_that_all_providers_accept(material: Material) -> None:
    check_everywhere(request_of(material))


@settings(max_examples=600, deadline=None)
@given(
    materials(),
    st.sampled_from(sorted(MODELS)),
    st.frozensets(st.sampled_from(["image", "audio", "pdf", "tool image"])),
)
def test_each_provider_accepts_what_it_gets_back_of_any_log_with_reasoning_of_many_models(
    material: Material, model: str, accepts: frozenset[str]
) -> None:
    request = request_of(read_by(material, model=model, accepts=accepts))
    PROVIDERS[model.partition(":")[0]].check(request)
    thoughts = [part for message in request.messages for part in message.parts if isinstance(part, Reasoning)]
    assert {part.model for part in thoughts} <= {model}


@settings(max_examples=200, deadline=None)
@given(materials())
def test_the_current_question_is_always_there(material: Material) -> None:
    asked = question_in(material)
    if asked is None or (asked.parts and not asked.content.strip()):
        return
    question = asked.content
    shown = question.replace("\x00", "\ufffd") if question.strip() else NO_CONTENT
    messages = built(material).messages
    assert any(shown[: OLD // 2] in message.content for message in messages if message.role is Role.USER)
    if len(shown) <= OLD and not asked.parts:
        assert any(shown in message.content for message in messages if message.role is Role.USER)


@settings(max_examples=150, deadline=None)
@given(materials())
def test_the_same_material_gives_the_same_context(material: Material) -> None:
    assert built(material) == built(material)


@settings(max_examples=150, deadline=None)
@given(materials())
def test_a_context_with_its_own_cut_handed_in_again_keeps_its_window(material: Material) -> None:
    first = built(material)
    again = built(replace(material, cut=first.cut))
    assert again.cut.first >= first.cut.first
    assert again.cut.masked >= first.cut.masked


def test_a_plain_conversation_comes_out_as_it_is() -> None:
    context = _built(user("hello"), assistant("hi"), user("how are you?"), instructions="Be kind.")
    assert told(context.messages) == [
        ("system", "Be kind."),
        ("user", "hello"),
        ("assistant", "hi"),
        ("user", "how are you?"),
    ]


def test_the_steps_of_a_turn_come_out_as_they_are() -> None:
    context = _built(user("budget?"), assistant("", "a", "b"), tool("a", "1"), tool("b", "2"))
    assert told(context.messages) == [("user", "budget?"), ("assistant", ""), ("tool", "1"), ("tool", "2")]


def test_a_recovered_turn_shows_the_part_that_was_heard_and_asks_to_go_on() -> None:
    context = _built(user("tell me"), cut_off("Once upon"), notes=("the previous attempt was cut off; continue",))
    assert told(context.messages) == [
        ("user", "tell me"),
        ("assistant", "Once upon\n\n[Threadkeep: this answer was cut off here]"),
        ("user", "[Threadkeep: the previous attempt was cut off; continue]"),
    ]


def test_the_trace_tells_the_cut_and_the_size() -> None:
    context = _built(user("hello"), budget=1000)
    assert context.trace == (
        {
            "kind": "context",
            "first": 0,
            "masked": 0,
            "tokens": 2,
            "counter": "four_characters_each",
            "budget": 1000,
            "dropped": False,
        },
    )
    assert context.tokens == 2


def _built(*messages: Message, **fields: object) -> Context:
    return built(material(*messages, **fields))


@st.composite
def tool_logs(draw: st.DrawFn) -> list[Message]:
    """Return a history full of tool calls, the current turn too, some without a result and some without an answer."""
    log: list[Message] = []
    text = draw(st.sampled_from(["a value of it ", "关于它的数据。", '{"id": 17, "tags": ["a"]}, ', "| 17 | 0.5 |\n"]))
    for turn in range(draw(st.integers(1, 6))):
        log += [assistant("answer " * draw(st.integers(1, 60)))] if turn and draw(st.integers(0, 3)) else []
        log.append(user(f"Look at item {turn}, please."))
        for step in range(draw(st.integers(1, 4))):
            calls = [f"{turn}-{step}-{number}" for number in range(draw(st.integers(1, 2)))]
            log.append(assistant("", *calls))
            log += [tool(call, text * draw(st.integers(1, 300))) for call in calls if draw(st.integers(0, 9))]
    return [assistant("Hello.")] * draw(st.integers(0, 1)) + log


@settings(max_examples=150, deadline=None)
@given(tool_logs(), st.integers(300, 8000), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_a_small_budget_is_kept_and_the_question_stays_whole(
    log: list[Message], budget: int, is_policy: bool, has_tools: bool, dice: Random
) -> None:
    """Whether it is the model's or the policy's, with what the window does without, whatever of it is recalled, also
    where calls are told as text because the assistant has no tools any more."""
    branch, policy = entries(*log), Policy(window=Window.BUDGET, size=budget)
    taken = material(entries=branch, budget=budget, count=count_tokens, has_tools=has_tools)
    taken = replace(taken, budget=96_000, policy=policy) if is_policy else taken
    cut = built(taken).cut
    recalled = tuple(dice.sample(branch[:-1], dice.randrange(len(branch))))
    context = built(replace(taken, recalled=recalled, earlier=branch[::-1], cut=cut))
    question = next(message for message in reversed(log) if message.role is Role.USER)
    assert context.tokens <= budget + count_tokens(question) * is_policy
    assert any(question.content in message.content for message in context.messages)
    check_everywhere(Request(messages=context.messages, tools=TOOLS if has_tools else ()))


def test_a_cut_leaves_little_of_the_room_unused() -> None:
    turns = [
        user("Look, please."),
        assistant("", "a"),
        tool("a", "a value of it " * 90),
        assistant("It is there. " * 30),
    ]
    branch = entries(*turns * 30, user("And now?"))
    for budget in (500, 1000, 2000, 4000, 6000, 8000):
        taken = material(entries=branch, budget=budget, count=count_tokens, earlier=branch[::-1])
        assert 0.9 * budget < built(taken).tokens <= budget
        of_policy = replace(taken, budget=96_000, policy=Policy(window=Window.BUDGET, size=budget))
        assert 0.9 * budget < built(of_policy).tokens <= budget + 10


def test_neighbours_of_one_role_that_become_one_message_leave_their_room_to_recall() -> None:
    branch = entries(*[user(f"Remark {number}.") for number in range(500)], user("And now?"))
    for budget in (500, 1000, 2000):
        taken = material(entries=branch, budget=budget, count=count_tokens, earlier=branch[::-1])
        assert 0.9 * budget < built(taken).tokens <= budget


@pytest.mark.parametrize("budget", [500, 1000, 2000])
def test_many_short_messages_that_are_recalled_fill_the_room(budget: int) -> None:
    branch = entries(*[message for number in range(400) for message in (user(f"Item {number}?"), assistant("Yes."))])
    asked = entries(*[message.body for message in branch], user("Which items?"))[-1:]
    taken = material(entries=asked, budget=budget, count=count_tokens, recalled=branch, cut=Cut(first=801), turn=801)
    assert 0.9 * budget < built(taken).tokens <= budget
