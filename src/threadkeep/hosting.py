"""What a server sets of its conversations beyond what a program needs, and how that is read from its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from threadkeep.context.base import Counter
from threadkeep.context.tokens import count_tokens
from threadkeep.conversion import IMAGE_SIDE
from threadkeep.jobs import AUDIT_DAYS, SESSION_TIMEOUT
from threadkeep.llm.prices import Price
from threadkeep.retention.rules import Retention
from threadkeep.settings import Settings
from threadkeep.store.attachments import FileLimits
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.caps import Caps, Load
from threadkeep.store.notify_channel import NotifyChannel
from threadkeep.store.spool.outage import SpoolLimits
from threadkeep.tally import Tally
from threadkeep.tools.base import DEFAULT_TIMEOUT
from threadkeep.turn.admission import Admission
from threadkeep.turn.observer import Observer


@dataclass(frozen=True, kw_only=True)
class SpoolSettings(SpoolLimits):
    """The folder that messages are kept in while the database is away, and the limits of the spool."""

    folder: Path


def spool_settings(settings: Settings) -> SpoolSettings | None:
    """Return the settings of the spool; None if there is none."""
    if settings.spool_dir is None:
        return None
    return SpoolSettings(
        folder=Path(settings.spool_dir),
        max_bytes=settings.spool_max_bytes,
        patience=settings.outage_after,
        answers=settings.spool_turns == "answer",
    )


def file_limits(settings: Settings) -> FileLimits:
    """Return how large files may be."""
    return FileLimits(
        file=settings.max_file_bytes,
        message=settings.max_attached_bytes,
        user=settings.user_file_bytes,
        tenant=settings.tenant_file_bytes,
    )


def caps_of(settings: Settings) -> Caps:
    """Return how much may be kept."""
    return Caps(
        Load(settings.user_conversations, settings.user_storage_bytes),
        Load(settings.tenant_conversations, settings.tenant_storage_bytes),
        settings.queued_turns,
    )


@dataclass(frozen=True, kw_only=True)
class Hosting:
    """What a server sets beyond what a program needs. `Settings` describes most of these; the others:

    - `models`: which may be chosen besides the default, the assistants' own and `demo` (None: any)
    - `retention`: the rules that are obeyed here (None: none are)
    - `files`: where attached files are kept (None: in the store)
    - `does_jobs`: whether the work that one process does for all is done here
    - `channel`: how other workers of this server are told of changes, where the store has no channel
    """

    max_bytes: int = MAX_BYTES
    caps: Caps = field(default_factory=Caps)
    max_history_length: int = 10
    count: Counter = count_tokens
    prices: Mapping[str, Price] = field(default_factory=dict)
    tool_timeout: float = DEFAULT_TIMEOUT
    lease_seconds: float = 10.0
    image_side: int = IMAGE_SIDE
    admission: Admission = field(default_factory=Admission)
    observers: tuple[Observer, ...] = ()
    models: tuple[str, ...] | None = None
    spool: SpoolSettings | None = None
    retention: Retention | None = None
    audit_days: float = AUDIT_DAYS
    session_timeout: float = SESSION_TIMEOUT
    file_limits: FileLimits | None = None
    files: str | None = None
    does_jobs: bool = True
    channel: NotifyChannel | None = None


def hosting_of(
    settings: Settings,
    *,
    count: Counter = count_tokens,
    observers: tuple[Observer, ...] = (),
    models: tuple[str, ...] | None = None,
    tally: Tally | None = None,
) -> Hosting:
    """Return what a server's settings say about conversations; `models` stands in where the settings name none."""
    return Hosting(
        caps=caps_of(settings),
        max_bytes=settings.max_message_bytes,
        max_history_length=settings.max_history_length,
        count=count,
        prices=settings.prices,
        tool_timeout=settings.tool_timeout,
        lease_seconds=settings.lease_seconds,
        image_side=settings.image_side,
        admission=Admission(user_turns=settings.user_turns, tenant_turns=settings.tenant_turns, tally=tally),
        observers=observers,
        models=settings.models or models or (),
        spool=spool_settings(settings),
        retention=settings.retention,
        audit_days=settings.audit_days,
        session_timeout=settings.session_timeout,
        file_limits=file_limits(settings),
        files=settings.files,
    )
