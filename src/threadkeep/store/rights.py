"""Who may read what a store keeps: its owner alone. What was made otherwise is told, not changed."""

import logging
import stat
from pathlib import Path

logger = logging.getLogger(__name__)


def warn_if_shared(path: Path) -> None:
    """Tell in the log, where `threadkeep doctor` finds it, if other users of this machine may use a file or folder."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        logger.warning("%s is open to other users of this machine (mode %o): chmod go= %s", path, mode, path)
