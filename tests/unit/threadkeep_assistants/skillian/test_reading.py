"""What a question names, in the many ways that people write it."""

from typing import Any

import pytest

from threadkeep_assistants.skillian.ledger import ledger
from threadkeep_assistants.skillian.reading import PREVIOUS, read


def names(question: str) -> dict[str, Any]:
    """Return what a question names, without what it does not name."""
    found = vars(read(question, ledger())).items()
    return {name: value for name, value in found if value not in (None, ()) and name not in ("text", "numbers")}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the budget of cost centre CC-1001?", {"cost_centres": ("CC-1001",)}),
        ("cost center 1001", {"cost_centres": ("CC-1001",)}),
        ("cc1001 and CC 1002", {"cost_centres": ("CC-1001", "CC-1002")}),
        ("CC-9999", {"cost_centres": ("CC-9999",)}),
        ("and field sales?", {"cost_centres": ("CC-1002",)}),
        ("Compare FI and BPC for company 1000", {"sources": ("FI", "BPC"), "companies": ("1000",)}),
        ("bpc against fi, Birch", {"sources": ("BPC", "FI"), "companies": ("2000",)}),
        ("compare fi and fi", {"sources": ("FI", "FI")}),
        ("company 7000", {"companies": ("7000",)}),
        ("account 120000", {"accounts": ("120000",)}),
        ("why do trade receivables differ?", {"accounts": ("120000",)}),
        ("only receivables", {"group": "receivables"}),
        ("the taxes", {"group": "tax"}),
        ("any payable?", {"group": "payables"}),
        ("in May", {"period": "2025-05"}),
        ("for 2025-04", {"period": "2025-04"}),
        ("for 4/2025", {"period": "2025-04"}),
        ("June 2024", {"period": "2024-06"}),
        ("and the month before?", {"period": PREVIOUS}),
        ("may I see it?", {}),
        ("above 20,000", {"over": 20000}),
        ("more than 10k", {"over": 10000}),
        ("more than EUR 5000", {"over": 5000}),
        ("over budget?", {}),
        ("show me the top 3", {"count": 3}),
        ("the next three", {"count": 3}),
        ("the 2 biggest", {"count": 2}),
        ("5 more", {"count": 5}),
        ("top3", {"count": 3}),
        ("Which three are the biggest?", {"count": 3}),
        ("the 3 accounts with the largest gap", {"count": 3}),
        ("the biggest one?", {"count": 1}),
        ("the largest difference", {"count": 1}),
        ("the top differences", {}),
        ("the second one", {"position": 1}),
        ("the 3rd", {"position": 2}),
        ("number two", {"position": 1}),
        ("#4", {"position": 3}),
        ("the last one", {"position": -1}),
        ("which are due to fx?", {"cause": "fx"}),
    ],
)
def test_a_question_is_read(question: str, expected: dict[str, Any]) -> None:
    assert names(question) == expected


def test_a_long_question_is_read_in_no_time() -> None:
    assert names("top " * 1000)["count"] == 1
