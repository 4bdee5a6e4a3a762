"""Request ids: in every answer, in every problem, and never something harmful."""

import re

import pytest

from tests.unit.server.serving import app_behind, served
from threadkeep.cli.settings_loading import load_settings
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.mark.parametrize("path", ["/", "/health/live", "/static/style.css", "/v1/me", "/nowhere", "/metrics"])
async def test_every_answer_has_an_id(path: str) -> None:
    async with served() as client:
        first, second = await client.get(path), await client.get(path)
    assert UUID.fullmatch(first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_a_client_may_bring_its_own() -> None:
    async with served() as client:
        answer = await client.get("/nowhere", headers={"X-Request-Id": "trace-42"})
    assert answer.headers["x-request-id"] == "trace-42"
    assert answer.json()["request_id"] == "trace-42"


@pytest.mark.parametrize("brought", ["", "a b", 'x"y', "x\tlevel=error", "é", "x" * 129, "-x"])
async def test_one_that_could_do_harm_is_replaced(brought: str) -> None:
    async with served() as client:
        answer = await client.get("/health/live", headers=[(b"X-Request-Id", brought.encode())])
    assert UUID.fullmatch(answer.headers["x-request-id"])


async def test_of_two_neither_is_taken() -> None:
    async with served() as client:
        answer = await client.get("/health/live", headers=[("X-Request-Id", "one"), ("X-Request-Id", "two")])
    assert UUID.fullmatch(answer.headers["x-request-id"])


@pytest.mark.parametrize("path", ["/nowhere", "/v1/conversations/none", "/v1/search", "/v1/conversations?limit=0"])
async def test_every_problem_names_it(path: str) -> None:
    async with served() as client:
        answer = await client.get(path)
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_a_refused_host_gets_one_too() -> None:
    async with served() as client:
        answer = await client.get("/", headers={"Host": "evil.example"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


@pytest.mark.server_may_fail
async def test_so_does_a_request_that_failed() -> None:
    async def broken() -> None:
        raise RuntimeError

    async with served() as client:
        app_behind(client).add_api_route("/broken", broken)
        answer = await client.get("/broken", headers={"X-Request-Id": "trace-42"})
        numbers = (await client.get("/metrics")).text
    assert (answer.status_code, answer.headers["x-request-id"], answer.json()["request_id"]) == (500, *["trace-42"] * 2)
    assert 'threadkeep_requests_total{method="GET",route="/broken",status="500"} 1' in numbers
    assert 'threadkeep_errors_total{code="internal_error"} 1' in numbers


@pytest.mark.parametrize("root_path", ["/threads", "/a/b", "/v1"])
@pytest.mark.parametrize("is_taken_off", [False, True], ids=["left on", "taken off"])
async def test_a_proxy_may_take_the_prefix_off_or_leave_it_on(root_path: str, is_taken_off: bool) -> None:
    prefix = "" if is_taken_off and root_path != "/v1" else root_path
    async with served(Settings(store="memory:", root_path=root_path)) as client:
        made = await client.post(f"{prefix}/v1/conversations")
        assert made.status_code == 201
        location = made.headers["location"]
        assert location.startswith(f"{root_path}/v1/conversations/")
        assert (await client.get(location)).status_code == 200
        page = (await client.get(f"{prefix}/")).text
        assert f'src="{root_path}/static/whole.js"' in page
        assert f'data-root="{root_path}"' in page
        assert (await client.get(f"{prefix}/openapi.json")).json()["servers"] == [{"url": root_path}]


@pytest.mark.parametrize("wrong", ["threads", "/threads/", "/a//b", '/"><script>', "/\n", "/" + "x" * 200])
def test_a_prefix_that_is_no_path_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidValue, match="root_path"):
        load_settings({}, {"root_path": wrong})
