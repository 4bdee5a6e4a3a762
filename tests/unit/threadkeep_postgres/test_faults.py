"""Errors of the driver as errors of ours: each by its SQLSTATE, and none is left over."""

import asyncpg
import pytest

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
from threadkeep_postgres.faults import FAULTS, is_transient, spoils, translate


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (asyncpg.DiskFullError("x"), StoreFull),
        (asyncpg.ReadOnlySQLTransactionError("x"), StoreReadOnly),
        (asyncpg.InsufficientPrivilegeError("x"), StoreDenied),
        (asyncpg.InvalidPasswordError("x"), StoreDenied),
        (asyncpg.InvalidSchemaNameError("x"), StoreNotMigrated),
        (asyncpg.UndefinedFunctionError("x"), StoreNotMigrated),
        (asyncpg.UndefinedTableError("x"), StoreNotMigrated),
        (asyncpg.SerializationError("x"), StoreBusy),
        (asyncpg.DeadlockDetectedError("x"), StoreBusy),
        (asyncpg.LockNotAvailableError("x"), StoreUnavailable),
        (asyncpg.TooManyConnectionsError("x"), StoreUnavailable),
        (asyncpg.AdminShutdownError("x"), StoreUnavailable),
        (asyncpg.CannotConnectNowError("x"), StoreUnavailable),
        (asyncpg.InvalidCatalogNameError("x"), StoreUnavailable),
        (asyncpg.ConnectionDoesNotExistError("x"), StoreUnavailable),
        (asyncpg.DataCorruptedError("x"), StoreCorrupt),
        (asyncpg.DivisionByZeroError("x"), StoreError),
        (asyncpg.InterfaceError("x"), StoreUnavailable),
        (ConnectionRefusedError("x"), StoreUnavailable),
        (TimeoutError(), StoreUnavailable),
    ],
)
def test_a_fault_becomes_the_error_that_a_user_can_act_on(fault: Exception, error: type[StoreError]) -> None:
    assert isinstance(fault, FAULTS)
    assert type(translate(fault)) is error
    assert str(translate(fault))


def test_when_two_transactions_met_the_call_may_be_made_again_on_the_same_connection() -> None:
    for fault in (
        asyncpg.SerializationError("x"),
        asyncpg.DeadlockDetectedError("x"),
        asyncpg.UniqueViolationError("x"),
    ):
        assert is_transient(fault)
        assert not spoils(fault)


def test_after_a_migration_the_call_may_be_made_again_on_a_fresh_connection() -> None:
    outdated = asyncpg.InvalidCachedStatementError("x")
    assert is_transient(outdated)
    assert spoils(outdated)


def test_a_lost_connection_is_not_used_again_and_the_call_is_not_repeated() -> None:
    for fault in (ConnectionResetError("x"), asyncpg.InterfaceError("x")):
        assert spoils(fault)
        assert not is_transient(fault)
