"""Blocks as text: R-D5."""

import pytest

from tests.unit.context.logs import assistant, material, tool, user
from threadkeep.context.blocks import old_text_of, text_of, text_of_block
from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table


def ranked(*names: str) -> RankedList:
    return RankedList(rows=[{"ticker": name} for name in names])


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Narrative(text="Rates fell."), "Rates fell."),
        (ranked("A", "B", "C", "D", "E", "F"), "Showed ranked list: A, B, C, D, E..."),
        (ranked("A", "B"), "Showed ranked list: A, B"),
        (RankedList(rows=[{"ticker": "", "name": "Apple"}, {"score": 1}]), "Showed ranked list: Apple, unnamed"),
        (SplitCompare(leftTitle="NVDA", rightTitle="AAPL"), "Compared NVDA vs AAPL"),
        (Table(columns=["a", "b"], rows=[[1, 2], [3, 4]]), "Showed table: a, b (2 rows)"),
        (Chart(chart="line", series=[{"name": "NVDA"}]), "Showed line chart: NVDA"),
        (Citation(source="10-K 2024"), "Cited 10-K 2024"),
        (Block(type="map"), "Showed map"),
    ],
)
def test_each_kind_of_block_has_a_short_text(block: Block, text: str) -> None:
    assert text_of_block(block) == text


def test_blocks_are_joined_by_spaces_and_stand_before_the_content_or_instead_of_it() -> None:
    shown = (Narrative(text="Look:"), ranked("A"), Narrative(text=" "))
    assert text_of(assistant("", blocks=shown)) == "Look: Showed ranked list: A"
    assert text_of(assistant("Here.", blocks=shown)) == "Look: Showed ranked list: A\n\nHere."
    assert text_of(assistant("Look:", blocks=shown)) == "Look: Showed ranked list: A"
    assert text_of(assistant("I say: Look here.", blocks=(Narrative(text="Look here."),))) == "I say: Look here."


def test_a_message_without_anything_says_so_unless_it_calls_tools() -> None:
    given = material(user(" "), assistant("\n"), assistant(" ", "a"), tool("a", ""))
    assert [line.message.content for line in given.lines] == ["[No content]", "[No content]", "", "[No content]"]


def test_an_old_answer_is_told_by_its_blocks_in_at_most_200_characters() -> None:
    assert old_text_of(assistant("In detail", blocks=(ranked("A"),))) == "Showed ranked list: A"
    assert old_text_of(assistant("short")) == "short"
    long = old_text_of(assistant("word " * 100))
    assert len(long) <= 200
    assert long.endswith("wo...")


def test_a_count_of_the_former_text_is_not_kept() -> None:
    given = material(assistant("", blocks=(ranked("A"),), tokens=500), assistant("same", tokens=500))
    assert [line.message.tokens for line in given.lines] == [None, 500]
