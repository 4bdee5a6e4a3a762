"""The clock that is passed in wherever a moment is recorded, so that tests can hand in another; moments as text."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def moment_text(moment: datetime) -> str:
    """Return a moment in ISO 8601, in UTC, which is written Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
