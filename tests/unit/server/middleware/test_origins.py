"""Pages of other sites: every way in which a browser tells of one is heard, for every method and every address."""

from itertools import product

import httpx
import pytest

from tests.unit.server.serving import URL, conversation, served
from threadkeep.server.middleware.headers import SECURITY_HEADERS
from threadkeep.settings import Settings

NAMED = "https://app.example.org"
ACTING = "/v1/chat/query/stream?query=What+is+2+%2B+2%3F"
FOREIGN = {
    "an image": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "a window": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    "another port of this host": {"Sec-Fetch-Site": "same-site"},
    "an image without a referrer in an old browser": {"Origin": "null"},
    "a script in an old browser": {"Referer": "http://evil.example/page"},
    "another port in an old browser": {"Referer": "http://127.0.0.1:9999/"},
    "a referrer that cannot be read": {"Referer": "http://["},
    "a fetch": {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    "an image on a site that is named, which tells no origin": {"Sec-Fetch-Site": "cross-site", "Referer": NAMED},
}
OURS = {
    "a program": {},
    "our page": {"Sec-Fetch-Site": "same-origin", "Referer": f"{URL}/c/1"},
    "our page in an old browser": {"Origin": URL},
    "an address that was typed": {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
    "a site that is named": {"Origin": NAMED, "Sec-Fetch-Site": "cross-site", "Referer": f"{NAMED}/"},
}


@pytest.mark.parametrize("auth", ["none", "keys"])
async def test_a_page_of_another_site_can_do_nothing(auth: str) -> None:
    requests = (("GET", ACTING), ("GET", "/v1/me"), ("POST", "/v1/conversations"), ("GET", "/metrics"))
    async with served(Settings(auth=auth, cors_origins=(NAMED,))) as client:  # type: ignore[arg-type]
        for (how, headers), (method, path) in product(FOREIGN.items(), requests):
            answer = await client.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin"), (how, path)


async def test_our_own_page_named_sites_and_programs_can() -> None:
    async with served(Settings(cors_origins=(NAMED,))) as client:
        for how, headers in OURS.items():
            acting = 403 if how == "an address that was typed" else 200
            assert (await client.get(ACTING, headers=headers)).status_code == acting
            assert (await client.post("/v1/conversations", headers=headers)).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Accept": "text/html,*/*"},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"},
        {"Accept": "image/avif,image/webp,*/*", "Sec-Fetch-Mode": "cors"},
    ],
    ids=["link", "image", "frame", "beacon", "old browser"],
)
async def test_what_a_browser_loads_by_itself_runs_no_turn_not_even_on_our_page(headers: dict[str, str]) -> None:
    async with served() as client:
        ours = {"Sec-Fetch-Site": "same-origin", **headers}
        answer = await client.get(ACTING, headers=ours)
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
        source = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Accept": "text/event-stream"}
        assert (await client.get(ACTING, headers={"Sec-Fetch-Site": "same-origin", **source})).status_code == 200


async def test_a_link_on_another_site_opens_a_shared_conversation() -> None:
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Referer": "https://mail.example/"}
    async with served() as client:
        assert (await client.get("/s/nonsense", headers=linked)).json()["code"] == "share_not_found"


async def test_a_link_on_another_site_opens_the_page() -> None:
    linked = {"Sec-Fetch-Site": "cross-site", "Referer": "https://mail.example/"}
    async with served() as client:
        for path in ("/", "/c/00000000-0000-7000-8000-000000000000"):
            assert (await client.get(path, headers=linked)).status_code == 200


APP = "https://app.example.org"
OPENED = Settings(cors_origins=(APP,))
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,idempotency-key"}


def granted(answer: httpx.Response) -> str | None:
    granted_to: str | None = answer.headers.get("access-control-allow-origin")
    return granted_to


async def test_by_default_no_other_site_is_let_in() -> None:
    async with served() as client:
        asked = await client.options("/v1/conversations", headers={"Origin": APP, **PREFLIGHT})
        called = await client.get("/v1/me", headers={"Origin": APP})
    assert (asked.status_code, granted(asked)) == (403, None)
    assert (called.status_code, granted(called)) == (403, None)


async def test_a_named_site_may_call_and_read_the_answer() -> None:
    async with served(OPENED) as client:
        asked = await client.options("/v1/conversations", headers={"Origin": APP, **PREFLIGHT})
        own = {**PREFLIGHT, "Access-Control-Request-Headers": "aui-sdk,content-type"}
        with_its_own = await client.options("/v1/conversations", headers={"Origin": APP, **own})
        called = await client.post("/v1/conversations", headers={"Origin": APP})
        failed = await client.get("/v1/conversations/none", headers={"Origin": APP})
    assert (asked.status_code, granted(asked)) == (200, APP)
    assert "aui-sdk" in with_its_own.headers["access-control-allow-headers"]
    assert (called.status_code, granted(called)) == (201, APP)
    assert "ETag" in called.headers["access-control-expose-headers"]
    assert (failed.status_code, granted(failed)) == (404, APP)
    assert "access-control-allow-credentials" not in asked.headers


async def test_others_stay_outside() -> None:
    async with served(OPENED) as client:
        for origin in ("https://evil.example", "http://app.example.org", f"{APP}.evil.example", "null"):
            answer = await client.get("/v1/me", headers={"Origin": origin})
            assert (answer.status_code, granted(answer)) == (403, None)


async def test_every_kind_of_answer_carries_the_security_headers() -> None:
    async with served(Settings(max_body_bytes=1000, cors_origins=(APP,))) as client:
        path = await conversation(client)
        streamed = {"Accept": "text/event-stream"}
        answers = [
            await client.get("/metrics"),
            await client.get("/openapi.json"),
            await client.get(path),
            await client.get("/v1/conversations/none"),
            await client.put("/v1/me"),
            await client.post("/v1/conversations", content=b"x" * 2000),
            await client.options("/v1/me", headers={"Origin": APP, **PREFLIGHT}),
            await client.post(f"{path}/messages", json={"content": "x"}, headers=streamed),
            await client.delete(path),
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 404, 405, 413, 200, 200, 204]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS
        assert "x-request-id" in answer.headers


async def test_no_cache_holds_conversations_and_every_cache_asks_for_the_page_again() -> None:
    async with served() as client:
        for path, kept in (("/", "no-cache"), ("/static/app.js", "no-cache"), ("/v1/conversations", "no-store")):
            assert (await client.get(path)).headers["cache-control"] == kept
