"""Moments as whole numbers: microseconds since 1970, as SQLite keeps them and as lists are sorted by."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Return a moment as a whole number."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(number: int) -> datetime:
    """Return the moment behind the number."""
    return EPOCH + timedelta(microseconds=number)
