"""The clock that is passed in wherever a moment is recorded, so that tests can hand in another; moments and periods as
text."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from threadkeep.errors import InvalidPeriod, InvalidValue

Clock = Callable[[], datetime]
LONGEST = timedelta(days=36_500)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def moment_text(moment: datetime) -> str:
    """Return a moment in ISO 8601, in UTC, which is written Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def period(text: object) -> timedelta:
    """Return the period that a text such as `90d`, `12h` or `30m` names; `InvalidPeriod` if it is none."""
    unit = _UNITS.get(text[-1:]) if isinstance(text, str) else None
    number = text[:-1] if isinstance(text, str) else ""
    if unit is None or not (number.isascii() and number.isdecimal()) or len(number) > 8:
        raise InvalidPeriod
    if not timedelta(0) < int(number) * unit <= LONGEST:
        raise InvalidPeriod
    return int(number) * unit


def period_text(value: timedelta) -> str:
    """Return a period as a text, in the largest unit that fits; what is shorter than a minute is left out."""
    name, unit = next((pair for pair in _UNITS.items() if not value % pair[1]), ("m", _UNITS["m"]))
    return f"{value // unit}{name}"


def moment_of(text: str, now: datetime) -> datetime:
    """Return the moment that a text names: a date or a moment in ISO 8601 (UTC unless it says otherwise), or a period
    from now on, such as `+120d`."""
    text = text.strip()
    if text[-1:] in _UNITS:
        return now + period(text.removeprefix("+"))
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidValue("A moment is a date such as 2026-12-31, or a period from now on such as +120d.") from None
