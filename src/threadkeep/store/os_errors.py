"""Errors of the operating system in our words, the same for every store on a disk."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

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
def translated() -> Iterator[None]:
    """Turn errors of the operating system into errors of ours."""
    try:
        yield
    except OSError as error:
        raise explain(kind_of(error.errno), error) from error
