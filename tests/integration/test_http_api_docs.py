"""The page of the HTTP API: its commands are run against a real server, its tables held against the code."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tests.acceptance.fuzz import serving
from tests.documents import ROOT, assert_commands_answer
from tests.integration.serving import serving as serving_here
from threadkeep.conversation import event_json
from threadkeep.errors import (
    ContentTooLarge,
    InvalidImport,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    RetrievalError,
    StaleHead,
    StaleVersion,
    ThreadkeepError,
)
from threadkeep.server.problems import PROBLEM, problem_of
from threadkeep_assistants.demo.model import ScriptTimeout
from threadkeep_integrations.graphs.graph_agent import PauseUnsupported
from threadkeep_retrieval.errors import EmbeddingFailed, IndexUnusable, WrongEmbeddings
from threadkeep_usage.errors import BudgetExhausted
from threadkeep_webhooks.targets import TooManyWebhooks, WebhookNotFound

PAGE = "docs/reference/http-api.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
MADE = {"turn.completed", "turn.failed", "turn.cancelled", "turn.interrupted"}
"""Events whose names are put together from the state of a turn."""
OF_RINGS: set[type[ThreadkeepError]] = {
    BudgetExhausted,
    EmbeddingFailed,
    IndexUnusable,
    PauseUnsupported,
    ScriptTimeout,
    TooManyWebhooks,
    WebhookNotFound,
    WrongEmbeddings,
}
"""Errors that are known as soon as their ring is imported."""


def test_every_command_answers_as_the_page_shows(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        assert_commands_answer(PAGE, url, tmp_path)
    assert (tmp_path / "alice.json").stat().st_size > 1000


def leaves(kind: type[ThreadkeepError]) -> Iterator[type[ThreadkeepError]]:
    """Yield our errors that are raised, not only classes of them; another test may have made its own."""
    below = [each for each in kind.__subclasses__() if each.__module__.startswith("threadkeep.") or each in OF_RINGS]
    if not below or kind in (
        ContentTooLarge,
        InvalidImport,
        ModelError,
        ModelRefused,
        ModelUnavailable,
        RetrievalError,
    ):
        yield kind
    for each in below:
        yield from leaves(each)


def groups(kind: type[ThreadkeepError]) -> Iterator[type[ThreadkeepError]]:
    """Yield our errors that are classes of others."""
    for each in kind.__subclasses__():
        if each.__subclasses__():
            yield each
            yield from groups(each)


def test_every_problem_is_in_the_table_with_its_status_and_meaning() -> None:
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \| (.*) \|$", TEXT.partition("Some come before")[0], re.MULTILINE)
    known = set()
    for kind in leaves(ThreadkeepError):
        error = kind(1) if kind in (StaleHead, StaleVersion) else kind()
        meaning = (kind.__doc__ or "").partition("\n")[0]
        known.add((str(problem_of(error).status_code), kind.code, meaning))
    assert set(rows) == known
    assert {kind.code for kind in OF_RINGS} <= {code for _, code, _ in known}
    assert len(rows) == len(known)


def test_every_problem_that_only_the_server_knows_is_in_the_second_table() -> None:
    rows = set(re.findall(r"^\| (\d{3}) \| `(\w+)` \|", TEXT.partition("Some come before")[2], re.MULTILINE))
    source = "".join(path.read_text() for path in (ROOT / "src/threadkeep/server").rglob("*.py"))
    written = set(re.findall(r"problem\(\s*(\d{3}), \"(\w+)\"", source))
    assert rows == written | {("404", "not_found"), ("405", "method_not_allowed")}


def test_every_code_of_the_tables_is_in_the_openapi_document_unless_a_ring_has_added_it() -> None:
    rows = set(re.findall(r"^\| \d{3} \| `(\w+)` \|", TEXT, re.MULTILINE))
    of_rings = {kind.code for kind in OF_RINGS}
    listed = set(PROBLEM["properties"]["code"]["x-extensible-enum"])
    assert rows - of_rings <= listed
    assert listed - rows <= {ThreadkeepError.code, *(kind.code for kind in groups(ThreadkeepError))}


def test_every_event_is_in_the_table() -> None:
    named = set(re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", TEXT, re.MULTILINE))
    written = set(
        re.findall(
            r'"((?:message|text|reasoning|tool|call|block|state|conversation|feedback|head|turn)\.\w+)"',
            inspect.getsource(event_json),
        )
    )
    assert named == written | MADE


async def test_every_header_that_a_route_reads_is_in_the_table() -> None:
    named = {name.lower() for name in re.findall(r"`([A-Z][A-Za-z-]+)`", TEXT.partition("## Headers")[2])}
    async with serving_here(auth="keys") as server:
        document = server.app.openapi()
    for operations in document["paths"].values():
        for operation in operations.values():
            read = {each["name"] for each in operation.get("parameters", []) if each["in"] == "header"}
            assert read <= named
