"""Which turns a model sees: whole turns, nothing changed until the room is used up, the current turn always."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from tests.unit.context.logs import assistant, built, entries, entry, material, tool, user
from threadkeep.context.base import Cut, Material, Policy, Window, cut_in
from threadkeep.context.lines import Line
from threadkeep.context.tokens import count_tokens
from threadkeep.context.window import MAX_MESSAGES, window
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message

NO_RECALL = Policy(recall=False)


class Windowed(NamedTuple):
    lines: list[Line]
    cut: Cut


def windowed(given: Material) -> Windowed:
    lines = [line for line in given.lines if line.seq >= given.cut.first]
    shown = window(given, lines, given.budget)
    return Windowed([line for turn in (*shown.earlier, shown.current) for line in turn], shown.cut)


def seqs(given: Material) -> list[int]:
    return [line.seq for line in windowed(given).lines]


def exchanges(count: int, size: int = 400) -> list[Message]:
    """Return so many questions and answers, each of so many characters."""
    return [message for _ in range(count) for message in (user("q" * size), assistant("a" * size))]


def newest(size: int, **fields: Any) -> Policy:
    return Policy(window=Window.NEWEST, size=size, **fields)


def test_everything_that_fits_is_shown() -> None:
    given = material(*exchanges(9), user("now"), budget=10_000)
    assert len(seqs(given)) == 19
    assert windowed(given).cut == Cut()


@pytest.mark.parametrize(
    ("size", "expected"), [(1, [7]), (2, [7]), (3, [5, 6, 7]), (6, [3, 4, 5, 6, 7]), (7, [1, 2, 3, 4, 5, 6, 7])]
)
def test_the_newest_messages_are_whole_turns(size: int, expected: list[int]) -> None:
    given = material(*exchanges(3), user("now"), policy=newest(size))
    assert seqs(given) == expected
    assert windowed(given).cut.first == (expected[0] if expected[0] > 1 else 0)


def test_the_newest_messages_do_not_slide_while_a_turn_runs() -> None:
    steps = [assistant("", "a"), tool("a"), assistant("", "b"), tool("b")]
    assert seqs(material(*exchanges(3), user("now"), *steps, policy=newest(3))) == [5, 6, 7, 8, 9, 10, 11]


def test_a_budget_of_tokens_keeps_the_newest_and_2000_is_the_default() -> None:
    given = material(*exchanges(30), user("now"), policy=Policy(window=Window.BUDGET))
    kept = windowed(given)
    assert kept.lines[-1].message.content == "now"
    assert 1000 < sum(len(line.message.content) for line in kept.lines) / 4 <= 1500
    assert kept.cut.first == kept.lines[0].seq > 1


def test_old_results_and_answers_are_shortened_before_anything_is_cut_off() -> None:
    old = [user("q"), assistant("", "a"), tool("a", "r" * 8000), assistant("a" * 4000)]
    given = material(*old, *exchanges(1, 100), user("now"), budget=2500, policy=NO_RECALL)
    kept = windowed(given)
    assert [line.seq for line in kept.lines] == [1, 2, 3, 4, 5, 6, 7]
    assert "characters left out" in kept.lines[2].message.content
    assert len(kept.lines[3].message.content) <= 200
    assert kept.lines[5].message.content == "a" * 100
    assert kept.cut == Cut(first=0, masked=5)


def test_a_cut_frees_a_quarter_of_the_room_and_never_splits_a_turn() -> None:
    turn = [user("q" * 400), assistant("", "a"), tool("a", "r" * 400), assistant("a" * 400)]
    given = material(*turn * 20, user("now"), budget=2000, policy=NO_RECALL)
    kept = windowed(given)
    size = sum(given.audience.count(line.message) for line in kept.lines)
    assert 1200 < size <= 1500
    assert kept.lines[0].opens
    assert kept.cut.first == kept.lines[0].seq


def test_a_cut_that_is_handed_in_again_changes_nothing_until_the_room_is_used_up() -> None:
    log = exchanges(30)
    first = windowed(material(*log, user("now"), budget=2000, policy=NO_RECALL))
    longer = windowed(
        material(*log, user("now"), *exchanges(1)[1:], user("next"), budget=2000, policy=NO_RECALL, cut=first.cut)
    )
    assert longer.cut == first.cut
    shown = [line.message for line in first.lines]
    assert [line.message for line in longer.lines][: len(shown)] == shown


def test_a_current_turn_that_is_too_large_is_shortened_from_its_oldest_step_on_and_never_its_question() -> None:
    steps = [step for id in "abcde" for step in (assistant("", id), tool(id, id * 4000))]
    question = user("question " * 20)
    given = material(*exchanges(3), question, *steps, budget=2000, policy=NO_RECALL)
    kept = windowed(given)
    current = kept.lines[-11:]
    assert current[0].message == question
    assert "characters left out" in current[2].message.content
    assert current[-1].message.content == "e" * 4000
    assert sum(given.audience.count(line.message) for line in kept.lines) <= 2000
    assert kept.cut.masked > current[0].seq


def test_a_newest_result_that_is_too_large_keeps_as_much_of_its_ends_as_fits() -> None:
    given = material(user("q"), assistant("", "a"), tool("a", "x" * 5_000_000 + "END"), budget=2000, policy=NO_RECALL)
    text = windowed(given).lines[-1].message.content
    assert 6000 < len(text) <= 8000
    assert text.endswith("END")
    assert "characters left out" in text


def test_a_large_current_turn_leaves_an_eighth_to_what_was_before() -> None:
    given = material(
        *exchanges(5, 40), user("q"), assistant("", "a"), tool("a", "x" * 50_000), budget=2000, policy=NO_RECALL
    )
    assert seqs(given) == list(range(1, 14))
    many = material(*exchanges(90, 40), user("q"), assistant("", "a"), tool("a", "x" * 50_000), budget=2000)
    assert 1800 < given.audience.count(windowed(given).lines[-1].message) <= 2000
    assert 1700 < many.audience.count(windowed(many).lines[-1].message) < 1800
    assert sum(many.audience.count(line.message) for line in windowed(many).lines[:-3]) > 150


@pytest.mark.parametrize(
    "text", ["words and more ", "数据和更多内容。", '{"id": 17, "tags": ["a", "b"]}, ', "| 17 | 0.5 |\n"]
)
def test_a_fresh_result_of_any_kind_of_text_gets_nearly_the_whole_room(text: str) -> None:
    log = [user("q"), assistant("", "a"), tool("a", (text * 200_000)[:200_000])]
    given = material(*log, budget=3000, policy=NO_RECALL, count=count_tokens)
    assert 2900 < sum(count_tokens(line.message) for line in windowed(given).lines) <= 3000


def test_a_question_is_shortened_only_if_it_alone_is_too_large() -> None:
    fits = material(*exchanges(5), user("q" * 7000), budget=2000, policy=NO_RECALL)
    assert windowed(fits).lines[-1].message.content == "q" * 7000
    text = windowed(material(user("HEAD" + "q" * 70_000 + "TAIL"), budget=2000)).lines[-1].message.content
    assert text.startswith("HEAD")
    assert text.endswith("TAIL")
    assert 7000 < len(text) <= 8000


def test_room_is_left_for_what_was_recalled_and_only_for_that() -> None:
    log = entries(*exchanges(100), user("now"))
    without = windowed(material(entries=log, budget=4000))
    given = material(entries=log, budget=4000, cut=without.cut)
    assert len(windowed(replace(given, recalled=log[:80])).lines) < len(without.lines) / 2
    assert len(windowed(replace(given, recalled=log[:1])).lines) >= len(without.lines) - 4


def test_the_current_turn_gets_the_room_before_recall() -> None:
    log = entries(*exchanges(100), user("now"), assistant("", "a"), tool("a", "x " * 5000))
    result = windowed(material(entries=log, budget=3000, recalled=log[:80])).lines[-1].message
    assert count_tokens(result) > 2000


def test_no_more_messages_are_shown_than_providers_take() -> None:
    kept = windowed(material(*exchanges(1500, 4), user("now"), budget=1_000_000))
    assert len(kept.lines) <= MAX_MESSAGES
    assert kept.cut.first > 0


def test_an_exact_counter_can_be_passed_in() -> None:
    given = material(*exchanges(10), user("now"), budget=50, policy=NO_RECALL, count=lambda message: 10)
    assert len(seqs(given)) == 3


def test_the_cut_is_found_again_in_the_trace_of_an_answer() -> None:
    context = built(material(*exchanges(30), user("now"), budget=2000))
    assert context.trace[-1]["dropped"] is True
    assert cut_in(context.trace) == context.cut
    assert cut_in([{"kind": "tool"}]) is None


def test_the_beginning_stays_the_same_bytes_for_at_least_95_percent_over_a_long_conversation() -> None:
    budget, cut, before = 40_000, Cut(), b""
    log: list[Entry] = []
    same = sent = 0
    for number in range(350):
        turn = len(log) + 1
        texts = [user(f"{number} " * 50), assistant("", f"c{number}"), tool(f"c{number}", f"{number}," * 200)]
        log += [entry(body, turn + place, turn) for place, body in enumerate(texts)]
        window_entries = tuple(entry for entry in log if entry.seq >= cut.first)
        context = built(material(entries=window_entries, turn=turn, budget=budget, cut=cut))
        bytes_now = "".join(f"{m.role}{m.content}{m.tool_calls}" for m in context.messages).encode()
        same += _common(before, bytes_now)
        sent += len(before)
        assert context.tokens <= budget
        cut, before = context.cut, bytes_now
        log.append(entry(assistant(f"{number}. " * 200), len(log) + 1, turn))
    assert cut.first > 0
    assert same / sent >= 0.95


def _common(before: bytes, now: bytes) -> int:
    if now.startswith(before):
        return len(before)
    return next(place for place, (old, new) in enumerate(zip(before, now, strict=False)) if old != new)
