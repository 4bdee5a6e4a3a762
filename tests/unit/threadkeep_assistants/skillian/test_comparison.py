"""Comparisons: what two sources say, the largest difference first, and why."""

import pytest

from threadkeep_assistants.skillian.comparison import compare
from threadkeep_assistants.skillian.ledger import NotInLedger, ledger


def test_fi_and_bpc_differ_on_fifteen_accounts_of_company_1000() -> None:
    compared = compare(ledger(), "FI", "BPC", "1000")
    assert len(compared.differences) == 15
    sizes = [abs(balance.difference) for balance in compared.differences]
    assert sizes == sorted(sizes, reverse=True)
    assert [balance.account.number for balance in compared.differences[:3]] == ["120000", "400000", "121000"]


def test_a_difference_is_what_the_postings_of_one_source_add_up_to() -> None:
    for company in ledger().companies:
        for period in ledger().periods:
            for balance in compare(ledger(), "FI", "BPC", company, period).balances:
                signed = [posting.amount * (1 if "FI" in posting.sources else -1) for posting in balance.one_sided]
                assert balance.difference == sum(signed)
                assert bool(balance.difference) == bool(balance.causes)


def test_the_other_way_round_every_difference_has_the_other_sign() -> None:
    there, back = compare(ledger(), "FI", "BPC", "2000"), compare(ledger(), "bpc", "fi", "2000")
    assert [one.difference for one in there.balances] == [-one.difference for one in back.balances]


def test_sources_may_agree() -> None:
    compared = compare(ledger(), "FI", "BPC", "4000", "2025-04")
    assert compared.differences == ()
    assert all(balance.left == balance.right for balance in compared.balances)


def test_a_source_is_not_compared_with_itself() -> None:
    with pytest.raises(NotInLedger, match="name two different sources"):
        compare(ledger(), "FI", "fi", "1000")
