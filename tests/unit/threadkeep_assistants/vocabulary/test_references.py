"""What words point at, given what was shown."""

import pytest

from threadkeep_assistants.vocabulary.references import Shown, list_named
from threadkeep_assistants.vocabulary.words import Text

LISTED = ("a", "b", "c", "d", "e")
AFTER_LIST = Shown((("x", "y", "z"), LISTED))
AFTER_ONE = Shown((LISTED, ("b",)))
AFTER_TWO = Shown((LISTED, ("b",), ("d",)))
AFTER_PAIR = Shown((LISTED, ("a", "z")))


def meant(shown: Shown[str], text: str) -> str:
    return "".join(item for _, item in shown.meant(Text(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tell me more about the top one", "a"),
        ("the second one", "b"),
        ("2nd", "b"),
        ("#3", "c"),
        ("number four", "d"),
        ("the last one", "e"),
        ("the second to last", "d"),
        ("the next one", "b"),
        ("tell me more about that", "a"),
        ("why is it first?", "a"),
        ("compare the first two", "ab"),
        ("the last two", "de"),
        ("the second and the fourth", "bd"),
        ("how heavy are they?", "abcde"),
        ("the second one in the first list", "y"),
        ("the ninth one", ""),
        ("which of the two?", ""),
        ("the first quarter", ""),
        ("stocks that benefit", ""),
        ("the second cheapest", ""),
        ("the two cheapest", ""),
        ("the penultimate one", "d"),
        ("the last but one", "d"),
        ("all but the first", "bcde"),
        ("everything except the last two", "abc"),
        ("not the first but the second one", "b"),
        ("no, the second one", "b"),
        ("neither of these", ""),
        ("no 5G phones", ""),
    ],
)
def test_after_a_list(text: str, expected: str) -> None:
    assert meant(AFTER_LIST, text) == expected


@pytest.mark.parametrize(
    ("shown", "text", "expected"),
    [
        (AFTER_ONE, "is it good?", "b"),
        (AFTER_ONE, "the next one", "c"),
        (AFTER_ONE, "and the one after that", "c"),
        (AFTER_ONE, "it and the last one", "be"),
        (AFTER_ONE, "what about the others?", "acde"),
        (AFTER_ONE, "and the rest?", "acde"),
        (AFTER_ONE, "which of them is lighter?", "abcde"),
        (AFTER_ONE, "which of the two is cheaper?", ""),
        (AFTER_TWO, "which of the two is cheaper?", "bd"),
        (AFTER_TWO, "compare them", "bd"),
        (AFTER_TWO, "the others", "ace"),
        (AFTER_PAIR, "it", "a"),
        (AFTER_PAIR, "the other one", "z"),
        (AFTER_PAIR, "the latter", "z"),
        (AFTER_PAIR, "which of the two?", "az"),
        (AFTER_PAIR, "the third one", "c"),
        (AFTER_PAIR, "and the other four?", "bcde"),
        (Shown[str](), "compare it to the second one of the first list", ""),
    ],
)
def test_after_what_was_looked_at(shown: Shown[str], text: str, expected: str) -> None:
    assert meant(shown, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no, the first list", ("x", "y", "z")),
        ("the second list", LISTED),
        ("the previous list", ("x", "y", "z")),
        ("the list again", LISTED),
        ("the third list", ()),
    ],
)
def test_lists_count_in_the_order_in_which_they_were_shown(text: str, expected: tuple[str, ...]) -> None:
    named = list_named(Text(text))
    assert named is not None
    assert Shown((("x", "y", "z"), LISTED, ("b",), LISTED)).list_at(named) == expected
