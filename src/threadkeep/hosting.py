"""What a server sets of its conversations beyond what a program needs, and how that is read from its settings."""

from dataclasses import dataclass, field
from pathlib import Path

from threadkeep.context.base import Counter
from threadkeep.context.tokens import count_tokens
from threadkeep.retention.rules import Retention
from threadkeep.settings import Settings
from threadkeep.store.attachments import FileLimits
from threadkeep.store.caps import Caps, Load
from threadkeep.store.changes import NotifyChannel
from threadkeep.tally import Tally
from threadkeep.turn.admission import Admission
from threadkeep.turn.observer import Observer


@dataclass(frozen=True, kw_only=True)
class SpoolSettings:
    """The folder that messages are kept in while the database is away, after how many seconds without an answer it
    counts as away, how much text the spool may hold, and whether turns are answered meanwhile or wait for the end."""

    folder: Path
    patience: float = 3.0
    max_bytes: int = 1024**3
    answers: bool = True


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


@dataclass(frozen=True, kw_only=True)
class Hosting:
    """Who has conversations open: a program or, with `is_server`, a server for people, which alone limits how much they
    may keep and ask for, obeys the rules of retention and has a spool. `Settings` describes the rest, but for:

    - `models`: which may be chosen besides the default, the assistants' own and `demo` (None: any)
    - `tally`: where turns are counted, if not here alone
    - `does_jobs`: whether the work that one process does for all is done here
    - `channel`: how other workers of this server are told of changes, where the store has no channel
    """

    settings: Settings = field(default_factory=Settings)
    is_server: bool = False
    count: Counter = count_tokens
    observers: tuple[Observer, ...] = ()
    models: tuple[str, ...] | None = None
    tally: Tally | None = None
    does_jobs: bool = True
    channel: NotifyChannel | None = None

    @property
    def spool(self) -> SpoolSettings | None:
        """The settings of the spool; None if there is none."""
        return spool_settings(self.settings) if self.is_server else None

    @property
    def caps(self) -> Caps:
        """How much may be kept."""
        limits = self.settings
        if not self.is_server:
            return Caps()
        user = Load(limits.user_conversations, limits.user_storage_bytes)
        tenant = Load(limits.tenant_conversations, limits.tenant_storage_bytes)
        return Caps(user, tenant, limits.queued_turns)

    @property
    def file_limits(self) -> FileLimits:
        """How large files may be."""
        limits = self.settings
        return FileLimits(
            limits.max_file_bytes, limits.max_attached_bytes, limits.user_file_bytes, limits.tenant_file_bytes
        )

    @property
    def admission(self) -> Admission:
        """Who may begin a turn."""
        limits = self.settings
        if not self.is_server:
            return Admission()
        return Admission(user_turns=limits.user_turns, tenant_turns=limits.tenant_turns, tally=self.tally)

    @property
    def retention(self) -> Retention | None:
        """The rules that are obeyed; None if there are none."""
        return self.settings.retention if self.is_server else None


def hosting_of(
    settings: Settings,
    *,
    count: Counter = count_tokens,
    observers: tuple[Observer, ...] = (),
    models: tuple[str, ...] | None = None,
    tally: Tally | None = None,
) -> Hosting:
    """Return what a server's settings say about conversations; `models` stands in where the settings name none."""
    chosen = settings.models or models or ()
    return Hosting(settings=settings, is_server=True, count=count, observers=observers, models=chosen, tally=tally)
