"""The table `[webhooks]` of the settings, and what an address that gets events is."""

import base64
import binascii
from datetime import datetime
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from threadkeep.conversation.event_json import NAMES
from threadkeep.conversation.events import (
    MessageStarted,
    ReadersCounted,
    ReasoningDelta,
    SpoolChanged,
    TextDelta,
    TurnRetrying,
)
from threadkeep.conversation.ids import Id
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.value import Moment, Value

PREFIX = "whsec_"
_LIVE = (MessageStarted, ReadersCounted, ReasoningDelta, SpoolChanged, TextDelta, TurnRetrying)
SENT = frozenset(name for kind, names in NAMES.items() if kind not in _LIVE for name in names)
"""The events that can be sent: those that are in the log."""
USUAL = ("message.completed", "turn.cancelled", "turn.completed", "turn.failed", "turn.interrupted", "turn.waiting")


def check_url(url: str) -> str:
    """Return an address that may be one; where it leads is looked at each time that something is sent."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        is_one = False
    if not is_one or any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError("an address is https:// and a host, without a name or a password")
    return url


def check_secret(secret: SecretStr) -> SecretStr:
    """Return a secret of at least 24 bytes in base64, behind `whsec_`."""
    try:
        long_enough = len(base64.b64decode(secret.get_secret_value().removeprefix(PREFIX), validate=True)) >= 24
    except (binascii.Error, ValueError):
        long_enough = False
    if not long_enough:
        raise ValueError("a secret is whsec_ and at least 24 bytes in base64")
    return secret


def _check_event(name: str) -> str:
    if name not in SENT:
        raise ValueError(f"there is no event {name} that is sent: {', '.join(sorted(SENT))}")
    return name


def _check_network(network: str) -> str:
    ip_network(network, strict=False)
    return network


Url = Annotated[str, Field(max_length=2000), AfterValidator(check_url)]
Secret = Annotated[SecretStr, Field(max_length=500), AfterValidator(check_secret)]
EventNames = Annotated[tuple[Annotated[str, AfterValidator(_check_event)], ...], Field(min_length=1, max_length=50)]


class TargetTable(Value):
    """An address that gets events of a tenant, from when this is first seen."""

    url: Url
    secret: Secret
    tenant: Id = LOCAL.tenant
    events: EventNames = USUAL


class WebhooksTable(Value):
    """Addresses by name, beside those that administrators add. Private ones are reached only within `private`
    networks, the only ones where http is spoken. After so many `attempts` an event is given up; one takes at most
    `seconds`."""

    targets: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")], TargetTable] = Field(
        default_factory=dict
    )
    private: tuple[Annotated[str, AfterValidator(_check_network)], ...] = ()
    attempts: int = Field(default=10, ge=1, le=30)
    seconds: float = Field(default=10, ge=0.1, le=60)


class WebhookTarget(Value):
    """An address that gets events of a tenant from a moment on."""

    id: str
    tenant: str
    url: Url
    secret: Secret
    events: EventNames = USUAL
    since: Moment
    is_set: bool = False

    @classmethod
    def of_settings(cls, name: str, table: TargetTable, since: datetime) -> "WebhookTarget":
        """Return one that the settings have."""
        return cls(id=name, since=since, is_set=True, **dict(table))
