"""The brake on wrong keys: by address, forgiving, and never larger than its bound."""

import pytest

from threadkeep.errors import RateLimited
from threadkeep.server.brake import AT_ONCE, MOST_ADDRESSES, PER_SECOND, Brake


def scope(address: str | None) -> dict[str, object]:
    return {"client": None if address is None else (address, 1)}


def is_braked(brake: Brake, address: str | None) -> bool:
    try:
        brake.check(scope(address))
    except RateLimited:
        return True
    return False


@pytest.mark.parametrize(
    ("shown", "same", "other"),
    [
        ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"),
        (None, None, "192.0.2.1"),
        ("a socket", "a socket", "another"),
    ],
)
def test_many_wrong_keys_hold_up_their_address_and_no_other(
    shown: str | None, same: str | None, other: str | None
) -> None:
    brake = Brake(lambda: 0.0)
    for _ in range(AT_ONCE):
        assert not is_braked(brake, same)
        brake.note(scope(shown))
    assert is_braked(brake, same)
    assert not is_braked(brake, other)


def test_it_lets_go_with_time() -> None:
    now = 0.0
    brake = Brake(lambda: now)
    for _ in range(AT_ONCE):
        brake.note(scope("192.0.2.1"))
    with pytest.raises(RateLimited) as held:
        brake.check(scope("192.0.2.1"))
    now += held.value.retry_after
    assert not is_braked(brake, "192.0.2.1")
    now += AT_ONCE / PER_SECOND
    for _ in range(AT_ONCE - 1):
        brake.note(scope("192.0.2.1"))
    assert not is_braked(brake, "192.0.2.1")


def test_its_table_does_not_grow_beyond_its_bound() -> None:
    brake = Brake(lambda: 0.0)
    for number in range(MOST_ADDRESSES + 50):
        brake.note(scope(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"))
    assert len(brake._wrong) == MOST_ADDRESSES
