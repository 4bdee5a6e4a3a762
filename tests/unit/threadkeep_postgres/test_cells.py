"""In which cell somebody lives, and how lists of several cells are one."""

from datetime import UTC, datetime, timedelta

from threadkeep.conversation.conversation import Conversation
from threadkeep.store.paging import Listing
from threadkeep.testing.samples import ADA
from threadkeep_postgres.cells import GRACE, OPENS_AFTER, Cells, merged

NOW = datetime(2026, 11, 19, tzinfo=UTC)
USERS = [f"user-{number}" for number in range(200)]


def _cells(*opens: datetime | None, at: datetime = NOW) -> Cells:
    return Cells(tuple(range(100, 100 + len(opens))), opens, at)


def test_a_tenant_of_one_cell_has_everybody_at_home() -> None:
    cells = _cells(None)
    assert {cells.home_of(user) for user in USERS} == {100}
    assert {cells.may_have(user) for user in USERS} == {(100,)}
    assert cells.until == NOW + OPENS_AFTER - GRACE


def test_people_are_spread_over_the_cells_that_are_open() -> None:
    opens = NOW + timedelta(seconds=30)
    narrow, wide = _cells(None, opens, opens), _cells(None, opens, opens, at=opens)
    assert {narrow.home_of(user) for user in USERS} == {100}
    assert narrow.until == opens - GRACE
    counts = [sum(wide.home_of(user) == cell for user in USERS) for cell in wide.keys]
    assert min(counts) > 40


def test_somebody_is_looked_for_in_every_cell_that_they_may_have_chosen() -> None:
    first, second = NOW - timedelta(days=2), NOW - timedelta(days=1)
    widths = [_cells(None), _cells(None, first), _cells(None, first, second, second)]
    for user in USERS:
        chosen = [cells.home_of(user) for cells in reversed(widths)]
        assert widths[-1].may_have(user) == tuple(dict.fromkeys(chosen))


def _listed(second: int, key: int) -> tuple[Conversation, int]:
    at = NOW + timedelta(seconds=second)
    made = {"scope": ADA, "id": str(key), "version": 1, "created_at": at, "updated_at": at, "entries": 0}
    return Conversation.model_validate(made), key


def test_lists_of_cells_are_one_list_down_to_where_all_have_looked() -> None:
    floor = (int((NOW + timedelta(seconds=5)).timestamp() * 1_000_000), 0)
    one = Listing([_listed(9, 1), _listed(6, 2)], floor)
    other = Listing([_listed(8, 3), _listed(4, 4)])
    assert [key for _, key in merged([one, other]).found] == [1, 3, 2]
    assert merged([one, other]).reached == floor
    assert [key for _, key in merged([other, other._replace(found=[_listed(5, 5)])]).found] == [3, 5, 4]
    assert merged([]) == Listing([], None)
