"""The OpenAPI document: complete, typed, and true of what the server answers."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.contract import FILE, document_of
from tests.documents import ROOT
from tests.integration.serving import serving

FREE_FORM = {
    "/v1/files/{file}": "application/octet-stream",
    "/v1/export": "application/jsonl",
    "/metrics": "text/plain",
    "/s/{token}": "text/html",
    "/v1/conversations/{id}/export": "text/html",
}
"""What answers with text or a file, and not with a typed object."""
LINES = "application/x-ndjson"
"""One JSON value a line, which OpenAPI 3.1 cannot describe; the reference of the HTTP API does."""


@pytest.fixture
async def document() -> AsyncIterator[dict[str, Any]]:
    async with serving(auth="keys", share=True) as server:
        yield server.app.openapi()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def is_typed(schema: dict[str, Any]) -> bool:
    """Whether a schema says what is in it."""
    if choices := schema.get("anyOf"):
        return all(is_typed(choice) for choice in choices)
    if "items" in schema:
        return is_typed(schema["items"])
    is_file = schema.get("format") == "binary"
    return "$ref" in schema or is_file or bool(schema.get("properties")) or schema.get("type") == "null"


def test_the_document_is_as_the_release_says(document: dict[str, Any]) -> None:
    assert document_of(document) == FILE.read_text(encoding="utf-8"), "run: python -m tests.contract"


async def test_every_operation_has_a_summary_of_its_own_and_a_tag(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        assert operation["tags"], name
        # FastAPI makes one of the function's name where there is none.
        made_up = operation["operationId"].partition("_v1")[0].replace("_", " ").title()
        assert operation["summary"] != made_up, name
        assert operation["summary"][0].isupper(), name


async def test_every_body_is_typed(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            assert kind == LINES or is_typed(content["schema"]), name


async def test_every_answer_is_typed_or_a_stream_or_a_file(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        for status, answer in operation["responses"].items():
            kinds = answer.get("content", {})
            if status == "default" or FREE_FORM.get(name.partition(" ")[2], "none") in kinds:
                continue
            if "application/json" in kinds:
                assert is_typed(kinds["application/json"]["schema"]), name
            else:
                assert status == "204" or {"text/event-stream", LINES} & kinds.keys(), f"{name} {status}: {kinds}"


FREE = {
    "details",
    "names",
    "metadata",
    "state",
    "set",
    "args",
    "parameters",
    "tool_trace",
    "series",
    "rows",
    "data",
    "payload",
}
"""Fields that hold what somebody else decides."""


def unnamed(document: dict[str, Any], schema: dict[str, Any], name: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the places of a schema that do not say which fields there are."""
    if "$ref" in schema:
        kind = schema["$ref"].rpartition("/")[2]
        if kind not in above:
            yield from unnamed(document, document["components"]["schemas"][kind], name, (*above, kind))
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from unnamed(document, choice, name, above)
    if "items" in schema:
        yield from unnamed(document, schema["items"], name, above)
    each = schema.get("additionalProperties")
    if isinstance(each, dict) and "$ref" in each:  # names that somebody else decides, but not what stands behind them
        yield from unnamed(document, each, name, above)
    elif schema.get("type") == "object" and "properties" not in schema:
        yield f"{'.'.join(above)}.{name}"
    for field, inside in schema.get("properties", {}).items():
        yield from unnamed(document, inside, field, above)


async def test_every_field_of_every_body_and_answer_is_named(document: dict[str, Any]) -> None:
    for call, operation in operations(document):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            free = [place for place in unnamed(document, content.get("schema", {}), "body") if "." in place]
            assert [place for place in free if place.rpartition(".")[2] not in FREE] == [], call


async def test_every_error_answer_is_a_problem(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        errors = {status: answer for status, answer in operation["responses"].items() if not status.startswith("2")}
        assert errors.keys() == {"default"}, name
        assert errors["default"]["content"].keys() == {"application/problem+json"}, name
    assert "HTTPValidationError" not in document["components"]["schemas"]


async def test_every_operation_has_a_name_of_its_own(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(names)) == len(names)


def test_requests_made_from_the_document_find_no_failure_and_no_undescribed_answer() -> None:
    command = [sys.executable, "-m", "tests.acceptance.fuzz", "--requests", "1", "--examples", "5", "--raw", "300"]
    command += ["--phases", "examples,fuzzing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no 5xx, no trace, no schema break" in done.stdout
