"""Caps: what is too much is refused, and a count is used again only while it surely holds."""

import pytest

from threadkeep.errors import StorageFull, TooManyConversations
from threadkeep.store.caps import FASTEST, Caps, Holder, Load
from threadkeep.store.values import Statistics
from threadkeep.testing.samples import ADA

MUCH = 100 * FASTEST.bytes
ONE = Load(conversations=1, bytes=10)


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_caps_nothing_is_counted() -> None:
    assert list(Caps().to_count(ADA, ONE)) == []


def test_a_user_and_the_tenant_are_counted_each_for_its_own_cap() -> None:
    caps = Caps(user=Load(1, 0), tenant=Load(0, 5))
    assert list(caps.to_count(ADA, ONE)) == [Holder("acme", "ada", Load(1, 0)), Holder("acme", None, Load(0, 5))]


def test_what_does_not_fit_is_refused_by_conversations_and_by_bytes() -> None:
    caps, holder = Caps(), Holder("acme", "ada", Load(conversations=3, bytes=100))
    caps.check(holder, Statistics(conversations=2, bytes=90), ONE)
    with pytest.raises(TooManyConversations):
        caps.check(holder, Statistics(conversations=3, bytes=0), ONE)
    with pytest.raises(StorageFull):
        caps.check(holder, Statistics(conversations=0, bytes=91), ONE)
    caps.check(holder, Statistics(conversations=3, bytes=0), Load(bytes=10))


def test_a_count_far_from_its_cap_is_used_again_until_others_could_have_filled_the_room() -> None:
    clock = Clock()
    caps = Caps(user=Load(bytes=MUCH), clock=clock)
    (holder,) = caps.to_count(ADA, ONE)
    assert caps.check(holder, Statistics(), ONE)
    assert list(caps.to_count(ADA, ONE)) == []
    clock.now = 101.0
    assert list(caps.to_count(ADA, ONE)) == [holder]


def test_close_to_a_cap_it_is_counted_while_nobody_else_can_write() -> None:
    caps = Caps(user=Load(bytes=1000), clock=Clock())
    (holder,) = caps.to_count(ADA, ONE)
    assert not caps.check(holder, Statistics(), ONE)
    assert list(caps.to_count(ADA, ONE)) == [holder]
