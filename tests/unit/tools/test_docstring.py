"""Docstrings: the first paragraph, and parameters in Google's style."""

from collections.abc import Callable
from typing import Any

import pytest

from threadkeep.tools.docstring import Docstring


def documented(text: str | None) -> Callable[[], Any]:
    """Return a function with that docstring."""

    def function() -> None:
        return None

    function.__doc__ = text
    return function


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (None, ""),
        ("One line.", "One line."),
        ("Two\n    lines.\n\n    And more.", "Two lines."),
        ("Short.\n    Args:\n        a: A.", "Short."),
    ],
)
def test_the_summary_is_the_first_paragraph(text: str | None, summary: str) -> None:
    assert Docstring.of(documented(text)).summary == summary


def test_parameters_are_read_from_the_section_of_arguments() -> None:
    text = """Do it.

    Note: this is no parameter.

    Args:
        city (str, optional): Which city,
            for example: Bergen.
        *rest: All
        days:
            How many.

        unit: C or F.

    Returns:
        text: Not a parameter either.
    """
    assert Docstring.of(documented(text)).parameters == {
        "city": "Which city, for example: Bergen.",
        "rest": "All",
        "days": "How many.",
        "unit": "C or F.",
    }


def test_a_section_without_a_parameter_is_harmless() -> None:
    assert Docstring.of(documented("Do it.\n\nArgs:\n    nothing in particular\n")).parameters == {}
