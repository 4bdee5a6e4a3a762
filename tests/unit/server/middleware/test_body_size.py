"""Large bodies: refused before they are read, or as soon as they get too large."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.unit.server.serving import served
from threadkeep.server.middleware.body_size import MOST_VALUES, ValueCount
from threadkeep.settings import Settings

SMALL = Settings(max_body_bytes=1000)


def assert_too_large(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"], answer.json()["most"]) == (413, "body_too_large", 1000)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["connection"] == "close"
    assert "x-request-id" in answer.headers
    assert "content-security-policy" in answer.headers


async def test_a_body_that_says_it_is_too_large_is_not_even_read() -> None:
    read: list[bytes] = []

    async def content() -> AsyncIterator[bytes]:
        read.append(b"x")
        yield b"x"

    async with served(SMALL) as client:
        headers = {"Content-Length": "1001", "Content-Type": "application/json"}
        assert_too_large(await client.post("/v1/conversations", content=content(), headers=headers))
    assert read == []


async def test_a_body_that_gets_too_large_is_read_no_further() -> None:
    sent = 0

    async def growing() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 400
            yield b"x" * 400

    async with served(SMALL) as client:
        answer = await client.post("/v1/conversations", content=growing(), headers={"Content-Type": "application/json"})
    assert_too_large(answer)
    assert sent == 1200


@pytest.mark.parametrize("size", [0, 1, 900])
async def test_a_body_that_fits_arrives_whole(size: int) -> None:
    async with served(SMALL) as client:
        answer = await client.post("/v1/conversations", json={"system": "x" * size})
    assert answer.json()["system"] == "x" * size


async def test_zero_is_no_limit() -> None:
    async with served(Settings(max_body_bytes=0)) as client:
        assert (await client.post("/v1/conversations", json={"title": "x" * 5000})).json()["code"] == "invalid_request"


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_values_are_counted_outside_of_text_however_the_pieces_are_cut(size: int) -> None:
    text = json.dumps({"a": ['[{,"\\', '\\"', "", {}, 1, [[]]], "\\": "\\\\"}).encode()
    count = ValueCount()
    for start in range(0, len(text), size):
        count.add(text[start : start + size])
    assert count.count - len(range(0, len(text), size)) <= 22
    assert count.count >= 12


async def test_json_of_very_many_values_is_refused_and_long_text_is_not() -> None:
    async with served() as client:
        for values in ("[" + "[]," * MOST_VALUES + "[]]", "[" + '"",' * MOST_VALUES + "1]"):
            body = '{"metadata": {"a": ' + values + "}}"
            answer = await client.post("/v1/conversations", content=body, headers={"Content-Type": "application/json"})
            assert (answer.status_code, answer.json()["code"]) == (413, "too_many_values")
        assert (await client.post("/v1/conversations", json={"system": '1,[2,{"3"' * 10_000})).status_code == 201


@pytest.mark.parametrize("path", ["/v1/conversations?assistant=%00", "/v1/search?q=a%00b", "/health/live?%00"])
async def test_a_nul_in_the_query_is_refused(path: str) -> None:
    async with served(Settings()) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_text")
    assert "x-request-id" in answer.headers
