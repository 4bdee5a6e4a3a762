"""The ledger: what is in it, found however a person writes it, and told what comes close where it is not."""

import pytest

from threadkeep_assistants.skillian.comparison import CAUSES
from threadkeep_assistants.skillian.ledger import NotInLedger, ledger, source


def test_every_posting_belongs_to_a_company_an_account_and_a_source() -> None:
    kept = ledger()
    for posting in kept.postings:
        assert posting.company in kept.companies
        assert posting.account in kept.accounts
        assert posting.date.startswith(posting.period)
        assert (len(posting.sources) == 1) == bool(posting.cause), posting
    assert {posting.cause for posting in kept.postings if posting.cause} == CAUSES.keys()
    assert len({posting.document for posting in kept.postings}) == len(kept.postings)


def test_every_cost_centre_belongs_to_a_company() -> None:
    assert {centre.company for centre in ledger().cost_centres.values()} == ledger().companies.keys()


@pytest.mark.parametrize(
    "wanted", ["CC-1001", "cc-1001", "CC 1001", "cc1001", "1001", " 1001 ", "cost centre 1001", "Cost Center: 1001"]
)
def test_a_cost_centre_is_found_however_its_code_is_written(wanted: str) -> None:
    assert ledger().cost_centre(wanted).code == "CC-1001"


def test_a_cost_centre_is_found_by_its_name() -> None:
    assert ledger().cost_centre("field sales").code == "CC-1002"


def test_companies_accounts_periods_and_sources_are_found_by_code_or_name() -> None:
    kept = ledger()
    assert kept.company("Company 2000") == kept.company("birch trading")
    assert kept.account("account 120000") == kept.account("trade receivables")
    assert (kept.period("2025-05"), kept.period(None)) == ("2025-05", "2025-06")
    assert source("bpc") == "BPC"


def test_what_is_missing_is_told_with_what_comes_close() -> None:
    with pytest.raises(
        NotInLedger, match=r"There is no cost centre 'CC-1006'\. Close ones are: CC-1005 \(Facilities\)"
    ):
        ledger().cost_centre("CC-1006")
    with pytest.raises(NotInLedger, match=r"Close ones are: 120000 \(Trade receivables\)"):
        ledger().account("trade receivable")


def test_where_nothing_comes_close_or_there_are_few_all_are_told() -> None:
    with pytest.raises(NotInLedger, match=r"There are: CC-1001 \(Marketing\), .*CC-4002 \(Dispatch\)\."):
        ledger().cost_centre("the moon")
    with pytest.raises(NotInLedger, match=r"There are: 1000 \(Alder Works\), .*4000 \(Dogwood Logistics\)\."):
        ledger().company("5000")
    with pytest.raises(NotInLedger, match=r"There is no source 'SAP'\. There are: FI, BPC\."):
        source("SAP")
