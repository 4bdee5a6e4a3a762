"""What is ours in a context: summary, passages, recall, notes, and calls told as text."""

from typing import Any

from tests.unit.context.logs import assistant, built, entries, entry, material, told, tool, user
from threadkeep.context.base import Context, Cut, Sought
from threadkeep.conversation.entry import Summary
from threadkeep.conversation.message import Message

LOG = entries(
    user("My name is Alice"), assistant("Hello Alice"), user("Old"), assistant("Yes"), user("What is my name?")
)


def context_of(*messages: Message, **fields: Any) -> Context:
    return built(material(*messages, **fields))


def test_a_summary_stands_before_the_history_once_something_is_cut_off() -> None:
    summary = entry(Summary(content="Alice said hello."), 9)
    text = "[Threadkeep: summary of the earlier conversation, which is not shown in full:\nAlice said hello.]"
    cut = context_of(entries=LOG, summary=summary, cut=Cut(first=5))
    assert told(cut.messages) == [("user", f"{text}\n\nWhat is my name?")]
    assert told(context_of(entries=LOG[:1], summary=summary).messages) == [("user", "My name is Alice")]


def test_passages_stand_with_the_question_behind_the_history() -> None:
    context = context_of(user("1"), assistant("a"), user("2"), passages=("P", " ", "Q"))
    passages = "[Threadkeep: passages found for the question below:\n[1] P\n\n[2] Q]"
    assert told(context.messages)[2] == ("user", f"{passages}\n\n2")
    assert told(context.messages)[:2] == [("user", "1"), ("assistant", "a")]


def test_passages_take_no_more_than_half_of_the_budget() -> None:
    context = context_of(user("q"), passages=("P" * 4000, "Q" * 4000), budget=1000)
    assert "characters left out" in context.messages[0].content
    assert "Q" not in context.messages[0].content
    assert context.tokens < 600


def test_what_fell_out_of_the_window_is_recalled_with_the_question_dated_and_traced() -> None:
    context = context_of(entries=LOG, recalled=(LOG[1], LOG[0], LOG[4]), cut=Cut(first=5))
    assert told(context.messages) == [
        (
            "user",
            "[Threadkeep: from earlier in this conversation, because it may matter now:\n"
            "2025-01-01\n(user) My name is Alice\n(assistant) Hello Alice]\n\n"
            "What is my name?",
        )
    ]
    assert context.trace[0] == {"kind": "recall", "entries": [1, 2], "why": [{"entry": 1}, {"entry": 2}]}


def test_the_trace_says_why_something_was_recalled() -> None:
    said = ("Ada: Boats.", "Bob: A boat in Bergen.", "ok", *["so"] * 8, "Well.", "Who had boats?")
    log = entries(*map(user, said))
    sought = Sought((("boat", "boats"), ("oslo",)), (("ada",), ("20250101", "20240101")))
    fields = {"entries": log[-1:], "turn": 13, "recalled": log[:3], "earlier": log[11:12], "sought": sought}
    (recalled, _) = context_of(**fields, cut=Cut(first=13)).trace
    date = {"date": "20250101"}
    assert recalled["why"] == [
        {"entry": 1, "words": ["boat"], "speaker": "ada", **date},
        {"entry": 2, "words": ["boat"], **date},
        {"entry": 3, **date},
        {"entry": 12, **date},
    ]
    (recalled, _) = context_of(**{**fields, "sought": Sought((("boat", "boats"),))}, cut=Cut(first=13)).trace
    assert recalled["why"][2:] == [{"entry": 3, "beside": 2}, {"entry": 12}]


def test_nothing_is_recalled_that_is_in_the_window() -> None:
    context = context_of(entries=LOG, recalled=LOG[:2])
    assert [item["kind"] for item in context.trace] == ["context"]


def test_recall_prefers_the_best_and_keeps_to_its_room() -> None:
    facts = [entry(user(f"fact {number} " + "x" * 400), number, number // 2) for number in range(2, 10)]
    question = entry(user("which fact?"), 99, 99)
    recalled = (facts[7], facts[0], facts[1], *facts[2:7])
    context = context_of(entries=(question,), recalled=recalled, cut=Cut(first=99), budget=500, turn=99)
    assert context.trace[0]["entries"] == [2, 3, 4, 9]
    assert context.tokens <= 500


def test_a_message_that_the_window_has_shortened_is_recalled_in_full() -> None:
    answer = assistant("The code is 1234. " + "x" * 300 + " Keep it safe.")
    log = entries(user("What is the code?"), answer, user("And now?"))
    shortened = context_of(entries=log, recalled=(log[1],), cut=Cut(masked=3))
    assert shortened.trace[0]["entries"] == [2]
    assert "Keep it safe." in shortened.messages[-1].content
    assert "recall" not in {item["kind"] for item in context_of(entries=log, recalled=(log[1],)).trace}


def test_a_long_message_is_recalled_around_the_words_of_the_question() -> None:
    long = entry(assistant("x " * 5000 + "The budget is 50,000. " + "y " * 5000), 1)
    context = context_of(entries=(entry(user("What was the budget?"), 9),), recalled=(long,), cut=Cut(first=9))
    assert "The budget is 50,000." in context.messages[0].content
    assert len(context.messages[0].content) < 1500


def test_a_note_comes_last_and_after_a_result_within_it() -> None:
    last = context_of(user("q"), assistant("", "a"), tool("a", "A"), notes=("answer now",)).messages[-1]
    assert (last.role, last.content) == ("tool", "A\n\n[Threadkeep: answer now]")
    assert context_of(user("q"), notes=("answer now", "")).messages[-1].content == "q\n\n[Threadkeep: answer now]"
    assert context_of(notes=("answer now",)).messages[-1].content == "[Threadkeep: answer now]"


def test_without_tools_the_calls_of_the_history_are_told_as_text() -> None:
    context = context_of(user("q"), assistant("Let me see.", "a"), tool("a", "A"), has_tools=False)
    assert told(context.messages) == [
        ("user", "q"),
        ("assistant", 'Let me see.\n\n[Threadkeep: called the tool look with {"at": "a"}]'),
        ("user", "[Threadkeep: result of the tool look:\nA]"),
    ]
