"""What `threadkeep doctor` finds: how good something is, what was found of it, and what to do."""

from enum import StrEnum
from typing import NamedTuple


class Grade(StrEnum):
    """How good it is: a warning does not keep a server from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """What was looked at, what was found, and what to do about it."""

    grade: Grade
    what: str
    said: str
    advice: str | None = None
