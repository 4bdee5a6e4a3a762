"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Hands out the same moment until it is advanced."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> datetime:
        """Let time pass, and return the new moment."""
        self.now += timedelta(seconds=seconds)
        return self.now
