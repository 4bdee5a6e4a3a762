"""Pages of other sites: every way in which a browser tells of one is heard, for every method and every address."""

import pytest

from tests.unit.server.serving import URL, served
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
@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN.keys())
async def test_a_page_of_another_site_can_do_nothing(headers: dict[str, str], auth: str) -> None:
    async with served(Settings(auth=auth, cors_origins=(NAMED,))) as client:  # type: ignore[arg-type]
        for method, path in (("GET", ACTING), ("GET", "/v1/me"), ("POST", "/v1/conversations"), ("GET", "/metrics")):
            answer = await client.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin"), path


@pytest.mark.parametrize("headers", OURS.values(), ids=OURS.keys())
async def test_our_own_page_named_sites_and_programs_can(headers: dict[str, str]) -> None:
    async with served(Settings(cors_origins=(NAMED,))) as client:
        assert (await client.get(ACTING, headers=headers)).status_code == 200
        assert (await client.post("/v1/conversations", headers=headers)).status_code == 201


@pytest.mark.parametrize("path", ["/", "/c/00000000-0000-7000-8000-000000000000"])
async def test_a_link_on_another_site_opens_the_page(path: str) -> None:
    async with served() as client:
        answer = await client.get(path, headers={"Sec-Fetch-Site": "cross-site", "Referer": "https://mail.example/"})
    assert answer.status_code == 200
