"""Requests that cannot be understood: what is said of them names the mistake, and nothing of the server's inside."""

import httpx
import pytest

from tests.unit.server.serving import conversation, served

CREATE = "/v1/conversations"
JSON = {"Content-Type": "application/json"}


def _assert_says(answer: httpx.Response, status: int, code: str, words: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert words in answer.json()["detail"]


async def test_a_body_that_cannot_be_used_says_why() -> None:
    async with served() as client:
        for body, status, words in (
            (b"{", 422, "not JSON: Expecting property name"),
            (b'{"title": "a\x00b"}', 422, "(character 12)"),
            (b"[]", 422, "should be a JSON object"),
            (b'"text"', 422, "should be a JSON object"),
            (b'{"title": "\xff"}', 422, "not JSON in UTF-8"),
            (b"[" * 40_000, 422, "nested too deeply"),
            (b'{"metadata": {"a": ' + b"9" * 5000 + b"}}", 422, "not JSON in UTF-8"),
            (b'{"titel": "a"}', 422, "body.titel"),
            (b'{"title": "' + b"x" * 501 + b'"}', 422, "at most 500 characters"),
            (b'{"model": ""}', 422, "at least 1 character"),
        ):
            _assert_says(await client.post(CREATE, content=body, headers=JSON), status, "invalid_request", words)


async def test_json_that_is_not_called_so_is_told_how_to_call_it() -> None:
    async with served() as client:
        for sent in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
            headers = {} if sent is None else {"Content-Type": sent}
            answer = await client.post(CREATE, content=b'{"title": "x"}', headers=headers)
            _assert_says(answer, 415, "unsupported_media_type", "Content-Type: application/json")


async def test_an_address_names_every_method_that_it_takes() -> None:
    async with served() as client:
        for method in ("POST", "OPTIONS", "TRACE", "NONSENSE"):
            answer = await client.request(method, await conversation(client))
            _assert_says(answer, 405, "method_not_allowed", "Allow")
            assert answer.headers["allow"] == "GET, PUT, PATCH, DELETE, HEAD"
        assert (await client.delete("/v1/conversations")).headers["allow"] == "GET, POST, HEAD"
        assert (await client.get("/chat")).headers["allow"] == "POST"


async def test_a_slash_at_the_end_is_another_address_and_redirects_nowhere() -> None:
    async with served() as client:
        for path in ("/v1/conversations/", "/health/live/", "/static"):
            _assert_says(await client.get(path), 404, "not_found", "nothing at this address")


async def test_who_changed_too_late_is_told_the_new_version() -> None:
    async with served() as client:
        path = await conversation(client)
        await client.patch(path, json={"title": "First"})
        late = await client.patch(path, json={"title": "Second"}, headers={"If-Match": '"1"'})
        _assert_says(late, 412, "stale_version", "version is now 2")
        assert late.json()["version"] == 2


async def test_what_can_be_no_id_is_as_unknown_as_any_other() -> None:
    async with served() as client:
        for id in ("%00", "%ff", "%20", "..%2e", "a%0d%0ab", "x" * 129):
            for method in ("GET", "PATCH", "DELETE"):
                path, body = f"/v1/conversations/{id}", {"title": "x"} if method == "PATCH" else None
                _assert_says(await client.request(method, path, json=body), 404, "conversation_not_found", "no such")


async def test_a_search_in_what_can_be_no_conversation_finds_none() -> None:
    async with served() as client:
        answer = await client.get("/v1/search", params={"q": "word", "conversation": "no id"})
        _assert_says(answer, 404, "conversation_not_found", "no such")


@pytest.mark.server_may_fail
async def test_a_body_that_there_is_no_memory_for_is_not_the_clients_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(text: bytes) -> None:
        raise MemoryError

    async with served() as client:
        monkeypatch.setattr("starlette.requests.json.loads", full)
        answer = await client.post(CREATE, content=b"{}", headers=JSON)
        monkeypatch.undo()
        _assert_says(answer, 503, "out_of_memory", "memory")
        assert answer.headers["retry-after"] == "1"
