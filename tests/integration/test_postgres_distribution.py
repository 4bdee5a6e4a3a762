"""What lets an engine distribute the schema by tenant (Citus), proven from the catalogue and the text of functions."""

import re
from collections.abc import Iterator

import pytest

from tests.postgres_server import PostgresServer, Urls

TABLE = r"\b(FROM|JOIN|USING|UPDATE|INTO)\s+threadkeep\.(\w+)\b(?!\()(?:\s+(?!WHERE\b|SET\b|VALUES\b|SELECT\b)(\w+))?"
ACROSS_TENANTS = {
    "emptied": {"removal"},
    "expired": {"turn"},
    "forget_removals": {"removal"},
    "unindexed": {"behind"},
}
"""What background jobs ask of all tenants, and of which table; all else names its tenant."""
TWO_TABLES = {"file_drop", "keep_keys"}
"""Functions in which an UPDATE or a DELETE looks into a second table, of the same tenant."""

Functions = dict[str, tuple[str, str]]


@pytest.fixture
def functions(postgres_server: PostgresServer, postgres_database: Urls) -> Functions:
    """Language and text of every function, by name."""
    found = postgres_server.fetch(
        "SELECT p.proname::text, l.lanname::text, p.prosrc FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang "
        "WHERE p.pronamespace = 'threadkeep'::regnamespace",
        postgres_server.as_admin(postgres_database),
    )
    return {name: (language, re.sub(r"--[^\n]*", "", text)) for name, language, text in found}


@pytest.fixture
def distributed(postgres_server: PostgresServer, postgres_database: Urls) -> set[str]:
    """The tables that have a tenant by its number."""
    found = postgres_server.fetch(
        "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' "
        "WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r' AND a.atttypid = 'integer'::regtype",
        postgres_server.as_admin(postgres_database),
    )
    return {name for (name,) in found}


def _statements(functions: Functions, tables: set[str]) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Yield each statement that uses distributed tables: its function, its text, and how it names each table."""
    for name, (_, text) in sorted(functions.items()):
        for statement in text.split(";"):
            used = [match.groups() for match in re.finditer(TABLE, statement) if match[2] in tables]
            if used:
                yield name, statement, [(verb, table, alias or table) for verb, table, alias in used]


def test_no_function_over_distributed_tables_is_in_sql(functions: Functions, distributed: set[str]) -> None:
    used = {name for name, *_ in _statements(functions, distributed)}
    assert {name for name in used if functions[name][0] == "sql"} == set()
    assert len(used) > 40


def test_every_table_of_a_statement_has_its_tenant_named(functions: Functions, distributed: set[str]) -> None:
    unnamed = {
        (name, table)
        for name, statement, used in _statements(functions, distributed)
        for verb, table, alias in used
        if verb != "INTO" and not re.search(rf"\b{alias}\.tenant\b", statement)
    }
    assert {name: {table for each, table in unnamed if each == name} for name, _ in unnamed}.items() <= (
        ACROSS_TENANTS.items()
    )


def test_an_update_or_a_delete_names_one_table(functions: Functions, distributed: set[str]) -> None:
    several = {
        name
        for name, statement, used in _statements(functions, distributed)
        if re.search(r"\b(UPDATE|DELETE FROM)\s+threadkeep\.", statement) and len({table for _, table, _ in used}) > 1
    }
    assert several <= TWO_TABLES


def test_the_planner_derives_nothing_from_a_policy(
    postgres_server: PostgresServer, postgres_database: Urls, distributed: set[str]
) -> None:
    policies = dict(
        postgres_server.fetch(
            "SELECT tablename::text, qual FROM pg_policies WHERE schemaname = 'threadkeep'",
            postgres_server.as_admin(postgres_database),
        )
    )
    assert {"entry", "conversation", "person", "chunk", "key", "word", "file"} <= set(policies) <= distributed
    assert set(policies.values()) == {"(NOT (tenant IS DISTINCT FROM threadkeep.present_tenant()))"}


def test_keys_of_tenants_people_and_conversations_are_drawn_from_sequences(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    drawn = postgres_server.fetch(
        "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'key' "
        "WHERE c.relnamespace = 'threadkeep'::regnamespace AND a.attidentity = 'a'",
        postgres_server.as_admin(postgres_database),
    )
    assert {"tenant", "person", "conversation"} <= {name for (name,) in drawn}
