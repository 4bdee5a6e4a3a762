"""What lets an engine distribute the schema by tenant (Citus), proven from the catalogue and the text of functions."""

import re
from collections.abc import Iterator

import pytest

from tests.postgres_server import PostgresServer, Urls
from threadkeep_postgres.pool import _sql, statements

TABLE = r"\b(FROM|JOIN|USING|UPDATE|INTO)\s+threadkeep\.(\w+)\b(?!\()(?:\s+(?!WHERE\b|SET\b|VALUES\b|SELECT\b)(\w+))?"
WRITES = r"\b(INSERT INTO|UPDATE|DELETE FROM)\s+threadkeep\."
Functions = dict[str, tuple[str, str]]
SPANNING = "tenants"
"""The one statement that looks at the tables of all tenants: which of them have work for a background job."""


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
        for statement in re.split(r";|\bLOOP\b", text):
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
        if not re.search(
            rf"\b{alias}\.tenant = | = {alias}\.tenant\b" if verb != "INTO" else r"\bp_tenant\b", statement
        )
    }
    assert unnamed == set()


def test_every_statement_names_the_tenant_that_its_function_is_called_for(
    functions: Functions, distributed: set[str]
) -> None:
    unnamed = {name for name, text, _ in _statements(functions, distributed) if not re.search(r"\bp_tenant\b", text)}
    assert unnamed == set()


def test_a_function_over_distributed_tables_has_its_tenant_first_so_that_it_can_be_sent_there(
    postgres_server: PostgresServer, postgres_database: Urls, functions: Functions, distributed: set[str]
) -> None:
    first = dict(
        postgres_server.fetch(
            "SELECT p.proname::text, p.proargnames[1] FROM pg_proc p "
            "WHERE p.pronamespace = 'threadkeep'::regnamespace AND p.proargtypes[0] = 'integer'::regtype",
            postgres_server.as_admin(postgres_database),
        )
    )
    used = {name for name, *_ in _statements(functions, distributed)}
    assert {name for name in used if first.get(name) != "p_tenant"} == set()


def test_nothing_is_inserted_from_a_query(functions: Functions, distributed: set[str]) -> None:
    assert [
        (name, statement)
        for name, statement, _ in _statements(functions, distributed)
        if re.search(r"\bINSERT\b.*\bSELECT\b", statement, re.DOTALL)
    ] == []


def test_an_update_or_a_delete_names_one_table(functions: Functions, distributed: set[str]) -> None:
    assert [
        (name, statement)
        for name, statement, used in _statements(functions, distributed)
        if re.search(r"\b(UPDATE|DELETE FROM)\s+threadkeep\.", statement)
        and (len({table for _, table, _ in used}) > 1 or re.search(r"\b(USING|FROM)\s+unnest\b", statement))
    ] == []


def test_a_statement_that_writes_calls_no_function_of_ours(functions: Functions, distributed: set[str]) -> None:
    """Citus refuses volatile functions there, and stable ones of columns."""
    assert [
        (name, statement)
        for name, statement, _ in _statements(functions, distributed)
        if re.search(WRITES, statement) and re.search(r"\bthreadkeep\.\w+\(", statement)
    ] == []


def test_an_update_sets_nothing_to_an_element_of_an_array(functions: Functions, distributed: set[str]) -> None:
    """Citus 13.2 ends with a segmentation fault where it writes such a statement down for another machine."""
    assert [
        (name, statement)
        for name, statement, _ in _statements(functions, distributed)
        if re.search(r"\bUPDATE\b.*\bSET\b.*= \w+\[", statement, re.DOTALL)
    ] == []


def test_a_function_is_called_with_nothing_but_values() -> None:
    """With an expression among them a call is not sent to the machine of its tenant."""
    assert _sql("newest", 3) == "SELECT * FROM threadkeep.newest($1, $2, $3)"


def test_a_statement_names_the_tenant_of_every_table_and_tells_row_level_security_first(
    postgres_server: PostgresServer, postgres_database: Urls, distributed: set[str]
) -> None:
    guarded = {
        name
        for (name,) in postgres_server.fetch(
            "SELECT tablename::text FROM pg_policies WHERE schemaname = 'threadkeep'",
            postgres_server.as_admin(postgres_database),
        )
    }
    asked = {verb: re.sub(r"--[^\n]*", "", text) for verb, text in statements().items() if verb != SPANNING}
    used = {
        (verb, table, alias or table)
        for verb, text in asked.items()
        for _, table, alias in re.findall(TABLE, text)
        if table in distributed
    }
    unnamed = {
        (verb, table)
        for verb, table, alias in used
        if not re.search(rf"\b{alias}\.tenant = (\$1\b|\w+\.tenant\b)", asked[verb])
    }
    assert unnamed == set()
    assert [verb for verb, table, _ in used if table in guarded and "threadkeep.works_for($" not in asked[verb]] == []
    assert len(used) > 30


def test_a_statement_that_writes_to_a_distributed_table_needs_no_row_level_security(distributed: set[str]) -> None:
    """Its condition would be answered on the machine that plans it, and not where the tenant is."""
    writes = {
        (verb, table)
        for verb, text in statements().items()
        for _, table in re.findall(r"\b(INSERT INTO|UPDATE|DELETE FROM)\s+threadkeep\.(\w+)", text)
        if table in distributed
    }
    assert writes == {("forget_removals", "removal")}


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
    postgres_server: PostgresServer, postgres_database: Urls, distributed: set[str]
) -> None:
    """Citus takes no identity column that is smaller than a bigint."""
    drawn = postgres_server.fetch(
        "SELECT c.relname::text, a.atttypid::regtype::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r' AND a.attidentity = 'a'",
        postgres_server.as_admin(postgres_database),
    )
    assert {("tenant", "integer"), ("conversation", "bigint")} <= set(drawn)
    assert {size for table, size in drawn if table in distributed} == {"bigint"}


def test_replication_knows_every_row(postgres_server: PostgresServer, postgres_database: Urls) -> None:
    """Or it cannot be moved to another machine while somebody writes."""
    unknown = postgres_server.fetch(
        "SELECT c.relname::text FROM pg_class c "
        "WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r' AND c.relreplident = 'd' "
        "AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)",
        postgres_server.as_admin(postgres_database),
    )
    assert {name for (name,) in unknown} == {"definition", "pulse"}, "these two are never distributed"
