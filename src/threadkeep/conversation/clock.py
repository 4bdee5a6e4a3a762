"""The clock, which is passed in wherever a moment is recorded so that tests can replace it; moments and periods as
text."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from threadkeep.errors import InvalidPeriod, InvalidValue

Clock = Callable[[], datetime]
LONGEST = timedelta(days=36_500)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
_PERIOD = re.compile(r"(?P<number>[0-9]{1,8})(?P<unit>[dhm])")


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def in_utc(moment: datetime) -> datetime:
    """Return the moment in UTC; a naive one is taken as UTC. `InvalidValue` if that is in no year."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise InvalidValue("A moment lies in the years 1 to 9999 of UTC.") from None


def moment_text(moment: datetime) -> str:
    """Return a moment in ISO 8601, in UTC, with `Z` as the zone."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def second_text(moment: datetime) -> str:
    """Return a moment in whole seconds, for documents that other programs read: some know no fractions."""
    return moment_text(moment.replace(microsecond=0))


def period(text: object) -> timedelta:
    """Return the period that a text such as `90d`, `12h` or `30m` names; `InvalidPeriod` if it names none."""
    found = _PERIOD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidPeriod
    value = int(found["number"]) * _UNITS[found["unit"]]
    if not timedelta(0) < value <= LONGEST:
        raise InvalidPeriod
    return value


def period_text(value: timedelta) -> str:
    """Return a period as a text, in the largest unit that divides it; seconds are dropped."""
    name, unit = next((pair for pair in _UNITS.items() if not value % pair[1]), ("m", _UNITS["m"]))
    return f"{value // unit}{name}"


def moment_of(text: str, now: datetime) -> datetime:
    """Return the moment that a text names: a date or a moment in ISO 8601 (UTC unless it says otherwise), or a period
    from now on, such as `+120d`."""
    text = text.strip()
    if text[-1:] in _UNITS:
        return now + period(text.removeprefix("+"))
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        raise InvalidValue("A moment is a date such as 2026-12-31, or a period from now on such as +120d.") from None
