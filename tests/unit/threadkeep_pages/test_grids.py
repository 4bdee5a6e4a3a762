"""Blocks as rows and columns, whatever their fields hold."""

from typing import Any

import pytest

from threadkeep.conversation.blocks import Chart, RankedList, SplitCompare, Table
from threadkeep_pages.grids import cell_text, charted, compared, ranked, tabled


def test_a_ranked_list_is_numbered_and_has_a_column_for_every_field() -> None:
    grid = ranked(RankedList(rows=[{"rank": 9, "why": "w", "score": 1}, {"name": "B", "score": 2}]))
    assert grid.columns == ("#", "name", "score", "why")
    assert grid.rows == (("1", "", "1", "w"), ("2", "B", "2", ""))


def test_two_sides_are_compared_by_name_where_both_have_names_and_else_by_place() -> None:
    by_name = compared(SplitCompare(leftTitle="l", rightTitle="r", left={"a": 1, "b": 2}, right={"b": 3}))
    assert (by_name.rows, by_name.named) == ((("a", "1", ""), ("b", "2", "3")), True)
    by_place = compared(SplitCompare(leftTitle="l", rightTitle="r", left=["x", "y"], right={"b": 3}))
    assert (by_place.rows, by_place.named) == ((("x", "b: 3"), ("y", "")), False)


def test_every_row_of_a_table_is_as_wide_as_the_widest() -> None:
    grid = tabled(Table(columns=["a"], rows=[[1, 2, 3], []]))
    assert (grid.columns, grid.rows) == (("a", "", ""), (("1", "2", "3"), ("", "", "")))


def test_the_series_of_a_chart_stand_beside_each_other_by_place() -> None:
    series: list[dict[str, Any]] = [
        {"name": "one", "unit": "kg", "values": [1, 2.5]},
        {"points": [["b", "3"], {"x": "c", "y": 4}]},
    ]
    grid = charted(Chart.model_validate({"type": "chart", "chart": "line", "series": series, "labels": ["a", "b"]}))
    assert grid.columns == ("", "one (kg)", "Series 2")
    assert grid.rows == (("a", "1", ""), ("b", "2.5", "3"), ("c", "", "4"))


def test_what_is_no_number_is_left_out_of_a_chart() -> None:
    odd = [True, None, "many", float("1e308"), "nan", "inf"]
    (row,) = charted(Chart(chart="bar", series=[{"values": odd}])).rows
    assert row == ("4", "1e+308")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("a b", "a b"),
        (["a", 1, None], "a, 1, "),
        ([[1]], "[[1]]"),
        ({"é": True}, '{"é": true}'),
        (False, "false"),
    ],
)
def test_any_value_is_a_text(value: object, text: str) -> None:
    assert cell_text(value) == text
