"""What went wrong in the driver or the server, as an error of ours. No exception of asyncpg leaves this folder."""

import asyncpg

from threadkeep.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreNotMigrated,
    StoreReadOnly,
    StoreUnavailable,
)


class MovedError(Exception):
    """Somebody else was faster: what a write was decided upon is not so any more. Nothing was written."""


FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""Everything that the driver raises."""

# By SQLSTATE, the whole code or its class.
_STATES: dict[str, type[StoreError]] = {
    "08": StoreUnavailable,
    "23505": StoreBusy,
    "25006": StoreReadOnly,
    "28": StoreDenied,
    "3D000": StoreUnavailable,
    "3F000": StoreNotMigrated,
    "40": StoreBusy,
    "42501": StoreDenied,
    "42704": StoreNotMigrated,
    "42883": StoreNotMigrated,
    "42P01": StoreNotMigrated,
    "53": StoreUnavailable,
    "53100": StoreFull,
    "55P03": StoreUnavailable,
    "57": StoreUnavailable,
    "57014": StoreBusy,
    "58": StoreUnavailable,
    "XX001": StoreCorrupt,
    "XX002": StoreCorrupt,
}
# Two transactions met: the same call, made again, finds the world in order. `40001` is also what our functions raise,
# and `TK001` where others have filled the room that was left under a cap.
_TRANSIENT = {"23505", "40001", "40P01", "55P03", "TK001"}
# The server stops, was told to end the connection, or may only be read by now: perhaps another one is the first.
_ENDED = {"57P01", "57P02", "57P03", "57P05", "25006"}
# The schema was migrated while the connection was open; a fresh one knows the new one.
_OUTDATED = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)


def is_transient(error: BaseException) -> bool:
    """Whether nothing was written and the same call may succeed at once."""
    return isinstance(error, _OUTDATED) or getattr(error, "sqlstate", None) in _TRANSIENT


def is_locked(error: BaseException) -> bool:
    """Whether somebody else holds a lock for longer than a call waits."""
    return isinstance(error, asyncpg.LockNotAvailableError)


def is_undone(error: BaseException) -> bool:
    """Whether a server says that it ended a call, or its connection, without writing anything: another may do it."""
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate in _ENDED


def is_cut(error: BaseException | None) -> bool:
    """Whether the connection was cut before the answer came: what was asked may have been done."""
    kinds = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError, ConnectionError)
    return isinstance(error, kinds)


def refuses_settings(error: BaseException) -> bool:
    """Whether a pooler does not pass on what a connection is to begin with."""
    return isinstance(error, asyncpg.ProtocolViolationError) and "startup parameter" in str(error)


def lacks_statement(error: BaseException) -> bool:
    """Whether a prepared statement is on another connection than ours: a pooler is between that does not know them."""
    return isinstance(error, asyncpg.InvalidSQLStatementNameError | asyncpg.DuplicatePreparedStatementError)


def is_too_many(error: BaseException | None) -> bool:
    """Whether the server has no connection left for us."""
    return isinstance(error, asyncpg.TooManyConnectionsError)


def spoils(error: BaseException) -> bool:
    """Whether the connection must not be used again."""
    return not isinstance(error, asyncpg.PostgresError) or isinstance(error, _OUTDATED) or is_undone(error)


def translate(error: BaseException) -> StoreError:
    """Return the error of ours for one of the driver's."""
    if not isinstance(error, asyncpg.PostgresError):
        return StoreUnavailable(f"The database cannot be reached: {str(error) or type(error).__name__}.")
    state = error.sqlstate or ""
    kind = _STATES.get(state) or _STATES.get(state[:2]) or StoreError
    if kind in (StoreBusy, StoreFull, StoreReadOnly, StoreNotMigrated):
        return kind()
    return kind(f"The database answered: {error}.")
