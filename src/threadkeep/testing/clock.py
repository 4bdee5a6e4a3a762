"""A clock that stands still until a test moves it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Hands out the same moment until it is advanced."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now
        self._true = now
        self._followers: list[Callable[[datetime], None]] = []

    def __call__(self) -> datetime:
        return self.now

    def lead(self, follower: Callable[[datetime], None]) -> None:
        """Tell the time, now and whenever it passes, to another clock: that of a database that the store relies on."""
        follower(self._true)
        self._followers.append(follower)

    def advance(self, seconds: float) -> datetime:
        """Let time pass, for those who follow too, and return the new moment."""
        self._true += timedelta(seconds=seconds)
        for follower in self._followers:
            follower(self._true)
        return self.jump(seconds)

    def jump(self, seconds: float) -> datetime:
        """Set this clock alone to another time, as if somebody had put it right or wrong; return the new moment."""
        self.now += timedelta(seconds=seconds)
        return self.now
