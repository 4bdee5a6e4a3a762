"""Scripts: rules look at a scene and give a reply or pass."""

from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.llm.base import Request, ToolSpec
from threadkeep.text.notes import earlier_note, note, spoken_line
from threadkeep_assistants.demo.script import Call, Reply, Scene, Script, after, asked, calls

BUDGET = ToolSpec(name="get_budget", description="The budget of a cost centre.", parameters={"type": "object"})


def user(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def assistant(text: str = "", *called: ToolCall) -> Message:
    return Message(role=Role.ASSISTANT, content=text, tool_calls=called)


def result(id: str, content: str, error: str | None = None) -> Message:
    return Message(role=Role.TOOL, content=content, tool_result=ToolResult(tool_call_id=id, error=error))


def scene(*messages: Message, tools: tuple[ToolSpec, ...] = (BUDGET,)) -> Scene:
    return Scene(Request(messages=messages, tools=tools))


CALLED = (
    user("Budget of CC-1001?"),
    assistant("", ToolCall(id="c1", name="get_budget", args={"cost_center": "CC-1001"})),
)
SCRIPT = Script(
    rules=(
        after("get_budget", lambda found, _: f"{found['budget'] - found['spent']} are left."),
        calls(r"budget of (?P<cost_center>CC-\d+)(?P<year> \d{4})?", "get_budget"),
        asked(r"top (?P<count>\d)", lambda match, at: f"{match['count']} of {at.found('get_budget')}"),
        asked(r"\bI am (?P<name>\w+)", "Hello {name}."),
    )
)


def test_a_question_that_matches_calls_the_tool_with_the_named_groups() -> None:
    reply = SCRIPT.reply(scene(user("What is the budget of CC-1001?")))
    assert reply == Reply(calls=(Call("get_budget", {"cost_center": "CC-1001"}),))


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert SCRIPT.reply(scene(user("What is the budget of CC-1001?"), tools=())) is None


def test_a_text_may_use_the_named_groups() -> None:
    assert SCRIPT.reply(scene(user("I am Alice"))) == Reply(text="Hello Alice.")


def test_the_result_of_a_tool_is_given_to_the_rule_as_json() -> None:
    reply = SCRIPT.reply(scene(*CALLED, result("c1", '{"budget": 50000, "spent": 35000}')))
    assert reply == Reply(text="15000 are left.")


def test_a_note_of_ours_behind_a_result_does_not_hide_the_result() -> None:
    content = '{"budget": 50000, "spent": 35000}\n\n' + note("the limit of tool calls was reached")
    assert SCRIPT.reply(scene(*CALLED, result("c1", content))) == Reply(text="15000 are left.")


def test_a_failed_call_is_not_for_the_rule_of_its_tool() -> None:
    assert SCRIPT.reply(scene(*CALLED, result("c1", "no such cost centre", error="no such cost centre"))) is None


def test_a_question_is_not_asked_again_once_results_are_there() -> None:
    asking = Script(rules=(asked("budget", "I would ask again."),))
    assert asking.reply(scene(*CALLED, result("c1", "{}"))) is None


def test_what_an_earlier_turn_found_is_still_there() -> None:
    earlier = (*CALLED, result("c1", "[1, 2, 3]"), assistant("Three."))
    assert SCRIPT.reply(scene(*earlier, user("show me the top 2"))) == Reply(text="2 of [1, 2, 3]")


def test_only_the_newest_results_are_this_steps_results() -> None:
    steps = (*CALLED, result("c1", "1"), assistant("", ToolCall(id="c2", name="other")), result("c2", "2"))
    assert [(found.tool, found.value) for found in scene(*steps).results] == [("other", 2)]


@pytest.mark.parametrize("content", ["plain text", "", "[" * 100_000])
def test_a_result_that_is_no_json_is_given_as_it_is(content: str) -> None:
    assert scene(*CALLED, result("c1", content)).results[0].value == content


def test_our_notes_are_not_taken_for_the_users_words() -> None:
    passages = "passages found for the question below:\n[1] A phone.\n\n[2] A lamp."
    at = scene(user(f"{note(passages)}\n\nWhich is cheaper?"), assistant("The"), user(note("your answer was cut off")))
    assert at.question == "Which is cheaper?"
    assert at.notes == (passages,)


def test_what_the_user_said_is_remembered_also_when_it_was_recalled() -> None:
    lines = [("2026-01-01", "user", "My name is\nAlice"), ("2026-01-01", "assistant", "My name is Demo")]
    lines += [("2026-01-02", "user", "I live in Rome"), ("2026-01-02", "tool result", "Rome")]
    recalled = earlier_note((day, spoken_line(speaker, text)) for day, speaker, text in lines)
    at = scene(user("Hello"), assistant("Hello"), user(f"{recalled}\n\nWhat's my name?"))
    assert at.said == ("My name is\nAlice", "I live in Rome", "Hello")


def test_a_request_without_a_user_has_no_question() -> None:
    at = scene(Message(role=Role.SYSTEM, content="Be kind."))
    assert (at.question, at.said, at.results, at.notes) == ("", (), (), ())


def test_a_rule_can_be_any_function() -> None:
    def shout(at: Scene) -> Reply | None:
        return Reply(text=at.question.upper())

    rules: Any = (shout,)
    assert Script(rules=rules).reply(scene(user("hi"))) == Reply(text="HI")
