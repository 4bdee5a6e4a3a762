"""The page about PostgreSQL: its roles and commands make a database that a server can use."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.documents import blocks_of, is_like
from tests.postgres_server import PostgresServer

PAGE = "docs/howto/use-postgresql.md"
NAMES = {"threadkeep_owner": "tk_docs_owner", "threadkeep_app": "tk_docs_app"}


@pytest.fixture
def named(postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    """What stands in the page, and what it is called here; nothing of it is left afterwards."""
    database = f"tk_docs_{os.getpid()}"
    parts = urlsplit(postgres_server.admin)
    place = f"@{parts.netloc.rpartition('@')[2]}/{database}"
    yield {**NAMES, "@localhost/threadkeep": place, "DATABASE threadkeep ": f"DATABASE {database} ", "?": parts.query}
    postgres_server.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
    for role in NAMES.values():
        postgres_server.execute(f"DROP ROLE IF EXISTS {role}")


def test_the_roles_and_commands_of_the_page_make_a_database_for_servers(
    postgres_server: PostgresServer, named: dict[str, str], tmp_path: Path
) -> None:
    query = named.pop("?")
    shown = ""
    for kind, text in blocks_of(PAGE)[:-1]:
        here = text
        for name, other in named.items():
            here = here.replace(name, other)
        if kind == "sql":
            for statement in here.split(";\n"):
                # The role of all servers may be there from other tests.
                if statement and "threadkeep_server NOLOGIN" not in statement:
                    postgres_server.execute(statement)
        elif kind == "sh":
            place = named["@localhost/threadkeep"]
            shown = _run(here.replace(place, f"'{place}?{query}'" if query else place), tmp_path)
        else:
            assert is_like(shown, here), shown


def _run(script: str, folder: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
