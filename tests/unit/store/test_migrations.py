"""Migrations are told apart by their numbers: two of one number would leave a file that has one without the other."""

from threadkeep.store.postgres import schema as postgres
from threadkeep.store.sqlite import schema as sqlite


def test_every_migration_has_a_number_of_its_own() -> None:
    for migrations in (sqlite.migrations(), postgres.migrations()):
        numbers = [number for number, _, _ in migrations]
        assert len(numbers) == len(set(numbers))
