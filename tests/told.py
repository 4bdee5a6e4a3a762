"""Events as clients are told of them, for tests that look at names and JSON."""

from typing import Any

from threadkeep.conversation.event_json import to_json
from threadkeep.conversation.events import Event, TurnEnded


def name_of(event: Event) -> str:
    """Return the name of an event."""
    return to_json(event.what)[0]


def data_of(event: Event) -> dict[str, Any]:
    """Return the data of an event."""
    return to_json(event.what)[1]


def failure_of(event: Event) -> str:
    """Return why a turn failed, by the event of its end."""
    assert isinstance(event.what, TurnEnded)
    return str(event.what.failure)
