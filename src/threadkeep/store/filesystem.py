"""Files of any store on a disk: errors of the operating system in our words, and who may read what is kept."""

import errno
import logging
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from threadkeep.errors import StoreDenied, StoreError, StoreFull, StoreReadOnly, StoreUnavailable

_ERRORS: dict[int, type[StoreError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EFBIG: StoreFull,
    errno.EROFS: StoreReadOnly,
    errno.EACCES: StoreDenied,
    errno.EPERM: StoreDenied,
}


def kind_of(number: int | None) -> type[StoreError]:
    """Return our error for an error number."""
    return _ERRORS.get(number or 0, StoreUnavailable)


def explain(kind: type[StoreError], reason: object) -> StoreError:
    """Return an error of this kind that says what it means and, in brackets, what was reported."""
    return kind(f"{(kind.__doc__ or '').splitlines()[0]} ({reason})")


@contextmanager
def translating_os_errors() -> Iterator[None]:
    """Turn errors of the operating system into errors of ours."""
    try:
        yield
    except OSError as error:
        raise explain(kind_of(error.errno), error) from error


logger = logging.getLogger(__name__)


def warn_if_shared(path: Path) -> None:
    """Tell in the log, where `threadkeep doctor` finds it, if other users of this machine may use a file or folder."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        logger.warning("%s is open to other users of this machine (mode %o): chmod go= %s", path, mode, path)
