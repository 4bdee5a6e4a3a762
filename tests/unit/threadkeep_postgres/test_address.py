"""The parts of a URL that are ours, and its hosts."""

import pytest

from threadkeep.errors import InvalidStoreUrl
from threadkeep_postgres.address import POOL_SIZE, Address


@pytest.mark.parametrize(
    ("url", "rest", "size", "is_prepared"),
    [
        ("postgresql://u@h/d", "postgresql://u@h/d", POOL_SIZE, True),
        ("postgresql:///d?host=/tmp/x", "postgresql:///d?host=%2Ftmp%2Fx", POOL_SIZE, True),
        ("postgresql:///d?pool_size=5", "postgresql:///d", 5, True),
        ("postgresql:///d?pool_size=5&host=h&prepared_statements=off", "postgresql:///d?host=h", 5, False),
        ("postgresql://u:p%40@[::1]:5/d?pool_size=1000", "postgresql://u:p%40@[::1]:5/d", 1000, True),
    ],
)
def test_what_is_ours_is_taken_out_of_the_url(url: str, rest: str, size: int, is_prepared: bool) -> None:
    address = Address(url)
    assert address.urls() == [rest]
    assert (address.pool_size, address.is_prepared) == (size, is_prepared)


@pytest.mark.parametrize("size", ["", "0", "1001", "-1", "many", "٣"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    with pytest.raises(InvalidStoreUrl):
        Address(f"postgresql:///d?pool_size={size}")


def test_prepared_statements_are_on_or_off() -> None:
    with pytest.raises(InvalidStoreUrl):
        Address("postgresql:///d?prepared_statements=perhaps")


def test_of_several_hosts_the_one_that_can_be_written_is_meant_unless_the_url_says_otherwise() -> None:
    assert Address("postgresql://u@a:1,b:2/d").urls() == [
        "postgresql://u@a:1/d?target_session_attrs=read-write",
        "postgresql://u@b:2/d?target_session_attrs=read-write",
    ]
    assert Address("postgresql://a,b/d?target_session_attrs=any").urls() == [
        "postgresql://a/d?target_session_attrs=any",
        "postgresql://b/d?target_session_attrs=any",
    ]


def test_several_hosts_in_the_options_are_refused_with_the_right_spelling() -> None:
    with pytest.raises(InvalidStoreUrl, match="before the database"):
        Address("postgresql:///d?host=a,b")


def test_the_way_past_a_pooler_is_the_same_database_at_another_host() -> None:
    address = Address("postgresql://u:p@pooler:6432/d?prepared_statements=off&direct=db:5432&sslmode=disable")
    assert address.direct().urls() == ["postgresql://u:p@db:5432/d?sslmode=disable"]
    assert address.direct().is_prepared
    assert Address("postgresql://h/d").direct().urls() == ["postgresql://h/d"]


def test_replicas_are_the_same_database_at_hosts_that_may_only_be_read() -> None:
    address = Address("postgresql://u:p@one,two/d?replicas=three:5433,[::1]:5&sslmode=disable&pool_size=5")
    rest = "target_session_attrs=any&sslmode=disable&pool_size=5&prepared_statements=on"
    assert [sorted(url.partition("?")[2].split("&")) for url in address.replicas()] == [sorted(rest.split("&"))] * 2
    assert [url.partition("?")[0] for url in address.replicas()] == [
        "postgresql://u:p@three:5433/d",
        "postgresql://u:p@[::1]:5/d",
    ]
    assert Address("postgresql://h/d").replicas() == []


def test_notifications_go_past_a_pooler_or_to_a_server_of_their_own_or_nowhere() -> None:
    past = Address("postgresql://u@pooler:6432/d?direct=db:5432").notifications()
    assert past is not None
    assert past.urls() == ["postgresql://u@db:5432/d"]
    elsewhere = Address("postgresql://u@pooler:6432/d?direct=db:5432&notifications=words:5432").notifications()
    assert elsewhere is not None
    assert elsewhere.urls() == ["postgresql://u@words:5432/d"]
    assert Address("postgresql://u@pooler:6432/d?notifications=off").notifications() is None
