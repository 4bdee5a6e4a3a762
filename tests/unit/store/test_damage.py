"""Telling a damaged store from a damaged conversation."""

from contextlib import suppress

import pytest

from threadkeep.errors import StoreCorrupt
from threadkeep.store.damage import ENOUGH, TOLD_FOR, Damage
from threadkeep.testing.clock import FakeClock


def _refuse(damage: Damage, conversation: str | None) -> None:
    with suppress(StoreCorrupt), damage.noted(conversation):
        raise StoreCorrupt


def test_one_conversation_that_is_refused_again_and_again_leaves_the_store_well() -> None:
    damage = Damage(FakeClock())
    for _ in range(2 * ENOUGH):
        _refuse(damage, "the same")
    damage.check()


def test_a_store_that_refuses_several_conversations_and_writes_none_is_damaged() -> None:
    damage = Damage(FakeClock())
    for number in range(2 * ENOUGH):
        _refuse(damage, f"{number}")
    with pytest.raises(StoreCorrupt):
        damage.check()
    with damage.noted("another"):
        pass
    damage.check()


def test_a_store_in_which_nothing_can_be_created_is_damaged() -> None:
    damage = Damage(FakeClock())
    for _ in range(ENOUGH):
        _refuse(damage, None)
    with pytest.raises(StoreCorrupt):
        damage.check()


def test_damage_that_nobody_meets_any_more_is_forgotten() -> None:
    clock = FakeClock()
    damage = Damage(clock)
    for number in range(ENOUGH):
        _refuse(damage, f"{number}")
    clock.advance(TOLD_FOR.total_seconds() + 1)
    damage.check()
