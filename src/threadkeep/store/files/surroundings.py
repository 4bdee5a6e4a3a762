"""What all books of one folder share."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.store.files.problems import Problems


@dataclass(frozen=True)
class Surroundings:
    """The folder of a tenant, and what is needed to work in it."""

    folder: Path
    tenant: str
    clock: Clock
    max_bytes: int
    problems: Problems

    @property
    def hidden(self) -> Path:
        """The folder with the journals."""
        return self.folder / ".threadkeep"

    @property
    def importing(self) -> Scope:
        """Whose conversation it is that another program wrote."""
        return Scope(tenant=self.tenant, user=LOCAL.user)

    def now(self) -> datetime:
        """Return the present moment."""
        return self.clock()

    def report(self, path: Path, detail: str) -> None:
        """Report a problem with a file."""
        self.problems.report(path, detail, self.clock())
