"""How many tokens a text has: by the kinds of its signs, corrected by what the model counted."""

import pytest

from tests.unit.context.logs import assistant, built, entry, four_characters_each, material, user
from threadkeep.context.base import Context
from threadkeep.context.tokens import calibration, count_tokens, tokens_in
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Usage

PROSE = "The committee agreed on Tuesday that the old bridge, closed since the flood, would be repaired. "


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        (PROSE * 20, 0.7, 1.1),
        ('{"id": 4711, "rows": [{"ticker": "NVDA", "score": 0.8312, "isActive": true}]}' * 20, 1.5, 2.5),
        ("2024-01-07,CC-1001,4711,EUR,1290.55,open\n" * 20, 1.8, 3.0),
        ("委员会在星期二同意，自洪水以来一直关闭的旧桥将在冬天之前修复。" * 20, 3.0, 4.0),
        ("委員会は火曜日に、洪水以来閉鎖されていた古い橋を修理することに同意しました。" * 20, 3.0, 4.0),
        ("😀🎉👍🔥🚀🥳" * 20, 5.5, 8.0),
        ("Комитет решил во вторник, что старый мост будет отремонтирован. " * 20, 1.2, 2.0),
        ("qzvkxwjplmtrgbnhydcsfuqvxzkwjpm" * 20, 1.5, 3.0),
        ("TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5" * 20, 1.5, 3.5),
        (" " * 2000, 0.1, 0.5),
    ],
)
def test_each_kind_of_text_has_as_many_tokens_for_four_characters_as_tokenizers_give(
    text: str, least: float, most: float
) -> None:
    assert least <= tokens_in(text) / (len(text) / 4) <= most


def test_no_text_is_without_weight_however_it_is_repeated() -> None:
    for sign in "aA0.\n\t -é中あ한αбאع ह😀\u200d\ufe0f\x00\ud800":
        assert tokens_in(sign * 10_000) >= 600, ascii(sign)


def test_calls_count_and_so_does_every_message() -> None:
    assert count_tokens(user("")) == 4
    assert count_tokens(assistant("", "a", "b")) > count_tokens(assistant("", "a")) > 10


def test_a_count_that_was_stored_is_kept() -> None:
    assert count_tokens(user("委员会在星期二同意", tokens=7)) == 7


def answered(context: Context, counted_by_model: int) -> Entry:
    return entry(assistant(tool_trace=context.trace, usage=Usage(input_tokens=counted_by_model), model="m"), 9)


@pytest.mark.parametrize(("times", "expected"), [(1.0, 1.0), (2.0, 2.0), (0.1, 0.75), (50.0, 4.0)])
def test_the_last_answer_tells_how_the_model_counts_within_bounds(times: float, expected: float) -> None:
    context = built(material(user(PROSE * 100), count=count_tokens))
    last = answered(context, int(context.tokens * times))
    assert calibration([last], count_tokens, "m") == pytest.approx(expected, rel=0.01)


def test_another_model_another_counter_a_small_request_or_none_tells_nothing() -> None:
    context = built(material(user(PROSE * 100), count=count_tokens))
    small = built(material(user(PROSE), count=count_tokens))
    assert calibration([answered(context, 9_000)], count_tokens, "other") == 1.0
    assert calibration([answered(context, 9_000)], four_characters_each, "m") == 1.0
    assert calibration([answered(small, 9_000)], count_tokens, "m") == 1.0
    assert calibration([], count_tokens, "m") == 1.0


def test_a_trace_that_names_no_counter_tells_nothing() -> None:
    old = ({"kind": "context", "first": 0, "masked": 0, "tokens": 4_000, "budget": 96_000, "dropped": False},)
    message: Message = assistant(tool_trace=old, usage=Usage(input_tokens=12_000), model="m")
    assert calibration([entry(message, 9)], count_tokens, "m") == 1.0


def test_tool_definitions_take_their_room_and_are_part_of_what_is_counted() -> None:
    log = [user(PROSE * 10), assistant(PROSE * 10)] * 20
    bare = built(material(*log, user("now"), budget=8_000))
    laden = built(material(*log, user("now"), budget=8_000, tool_tokens=4_000))
    assert len(laden.messages) < len(bare.messages)
    assert 4_000 < laden.tokens <= 8_000
