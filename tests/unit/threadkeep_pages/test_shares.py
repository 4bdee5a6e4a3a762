"""Share links over HTTP: read by whoever has one, without signing in; made and taken back by the owner alone."""

import logging
import re
from typing import Any

import httpx
import pytest

from tests.integration.serving import Server, assert_problem, serving
from threadkeep.server.identity import api_keys
from threadkeep_pages import shares
from threadkeep_pages.html_export import shell

HTML = {"Accept": "text/html"}


async def _talk(server: Server, who: dict[str, str], *texts: str) -> str:
    created = await server.client.post("/v1/conversations", json={"title": "Trip"}, headers=who)
    path = str(created.headers["location"])
    for text in texts:
        assert (await server.say(path, text, **who)).status_code == 200
    return path


async def test_whoever_has_a_link_reads_what_was_said_up_to_then_and_nothing_else() -> None:
    async with serving(auth="keys", share=True) as server:
        client, (_, ada) = server.client, await server.key("acme", "ada")
        path = await _talk(server, ada, "the first question")
        made = await client.post(f"{path}/shares", headers=ada)
        assert made.status_code == 201, made.text
        await server.say(path, "the second question", **ada)
        renamed = await client.patch(path, json={"title": "Secret plans"}, headers={"If-Match": "*", **ada})
        assert renamed.status_code == 200, renamed.text
        seen = await client.get(made.json()["path"], headers={"Cookie": "threadkeep=nonsense"})
        assert seen.status_code == 200
        assert "the first question" in seen.text
        assert "the second question" not in seen.text
        assert not any(name in seen.text for name in ("acme", path.rpartition("/")[2]))
        assert "<title>Trip" in seen.text
        assert "Secret plans" not in seen.text
        policy = seen.headers["content-security-policy"]
        assert policy.startswith(f"{shell().policy}; frame-ancestors 'none'; sandbox allow-scripts")
        assert "allow-same-origin" not in policy
        assert seen.headers["x-robots-tag"] == "noindex, nofollow"
        assert (seen.headers["referrer-policy"], seen.headers["cache-control"]) == ("no-referrer", "no-store")
        assert "set-cookie" not in seen.headers
        assert (await client.get(f"{path}/shares")).status_code == 401


async def test_a_link_can_show_less_and_end_by_itself() -> None:
    async with serving(share=True) as server:
        path = await _talk(server, {}, "the first question", "the second question")
        made = (await server.client.post(f"{path}/shares", json={"head": 1, "expires": "7d"})).json()
        assert (made["head"], made["expires_at"][:10] > made["created_at"][:10]) == (1, True)
        text = (await server.client.get(made["path"])).text
        assert text.count("data-message>{") == 1
        listed = (await server.client.get(f"{path}/shares")).json()["data"]
        assert listed == [{name: value for name, value in made.items() if name != "path"}]
        for body, status, code in (
            ({"head": 99}, 404, "entry_not_found"),
            ({"head": 0}, 422, "invalid_request"),
            ({"expires": "soon"}, 400, "invalid_period"),
        ):
            assert_problem(await server.client.post(f"{path}/shares", json=body), status, code)


async def test_every_link_that_does_not_work_is_the_same_404() -> None:
    async with serving(auth="keys", share=True) as server:
        client, (_, ada) = server.client, await server.key("acme", "ada")
        path = await _talk(server, ada, "a secret")
        one, other, third = [(await client.post(f"{path}/shares", headers=ada)).json() for _ in range(3)]
        assert (await client.delete(f"{path}/shares/{one['id']}", headers=ada)).status_code == 204
        links = [one["path"], "/s/nonsense", f"{other['path']}x", other["path"].replace(".", "!"), "/s/%00", "/s/.é"]
        assert (await client.get(other["path"])).status_code == 200
        assert (await client.delete(f"{path}/shares", headers=ada)).status_code == 204
        gone = [await client.get(link) for link in (*links, other["path"])]
        await client.delete(path, headers=ada)
        gone += [await client.get(third["path"])]
        for answer in gone:
            assert_problem(answer, 404, "share_not_found")
        assert len({answer.json()["detail"] for answer in gone}) == 1
        pages = {(await client.get(link, headers=HTML)).text for link in (one["path"], "/s/nonsense", third["path"])}
        assert len(pages) == 1
        assert "leads nowhere" in pages.pop()


async def test_only_the_owner_makes_lists_and_ends_links() -> None:
    async with serving(auth="keys", share=True) as server:
        client, (_, ada) = server.client, await server.key("acme", "ada")
        path = await _talk(server, ada, "a secret")
        made = (await client.post(f"{path}/shares", headers=ada)).json()
        for tenant, user in (("acme", "bob"), ("globex", "ada")):
            _, stranger = await server.key(tenant, user)
            for method, place in (
                *(("POST", "/shares"), ("GET", "/shares"), ("DELETE", "/shares")),
                ("DELETE", f"/shares/{made['id']}"),
            ):
                answer = await client.request(method, path + place, headers=stranger)
                assert_problem(answer, 404, "conversation_not_found")
        assert (await client.get(made["path"])).status_code == 200


async def test_no_log_and_no_record_holds_the_secret_of_a_link(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(share=True) as server:
        path = await _talk(server, {}, "a question")
        made = (await server.client.post(f"{path}/shares")).json()
        await server.client.get(made["path"])
        await server.client.get(f"{made['path']}x")
        audit = await server.client.get("/v1/audit", params={"action": "conversation.shares"})
        assert audit.json()["data"][0]["details"] == {"links": [made["id"]]}
        ours = [record for record in caplog.records if record.name.startswith("threadkeep")]
        said = [record.getMessage() + str(record.__dict__.get("fields")) for record in ours]
        assert sum("GET /s/... " in line for line in said) == 2
        secret = made["path"].rpartition(".")[2]
        assert not [line for line in (*said, audit.text) if secret in line]


async def test_strangers_cannot_have_the_store_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "AT_ONCE", 3)
    monkeypatch.setattr(api_keys, "PER_SECOND", 1e-6)
    async with serving(share=True) as server:
        made = (await server.client.post(f"{await _talk(server, {}, 'a question')}/shares")).json()
        answers = [await server.client.get(f"/s/{number}") for number in range(4)]
        assert (await server.client.get(made["path"])).status_code == 200, "a good link always works"
        assert {answer.status_code for answer in answers[:-1]} == {404}
        assert_problem(answers[-1], 429, "rate_limited")


async def test_only_so_many_readers_are_answered_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MOST_READERS", 0)
    async with serving(share=True) as server:
        assert_problem(await server.client.get("/s/any"), 429, "rate_limited")


@pytest.mark.parametrize(("settings", "is_on"), [({}, True), ({"share": False}, False), ({"auth": "keys"}, False)])
async def test_sharing_is_off_where_people_sign_in_unless_it_is_allowed(settings: dict[str, Any], is_on: bool) -> None:
    async with serving(**settings) as server:
        assert ("/s/{token}" in server.app.openapi()["paths"]) is is_on
        page: httpx.Response = await server.client.get("/", headers=HTML)
        assert ("data-share" in page.text) is is_on


async def test_a_link_tells_other_programs_what_it_looks_like_and_opens_from_any_site() -> None:
    async with serving(share=True) as server:
        path = await _talk(server, {}, "a question")
        made = (await server.client.post(f"{path}/shares")).json()
        elsewhere = {"Sec-Fetch-Site": "cross-site", "Referer": "https://elsewhere.example/", **HTML}
        seen = await server.client.get(made["path"], headers=elsewhere)
        assert (seen.status_code, seen.headers["cross-origin-opener-policy"]) == (200, "unsafe-none")
        told = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', seen.text))
        assert told["title"] == "Trip"
        assert told["description"].startswith("A conversation with Chat, 20")
        picture = await server.client.get(told["image"])
        assert picture.headers["content-type"] == "image/png"


async def test_what_a_link_shows_comes_compressed_to_whoever_takes_that() -> None:
    async with serving(share=True) as server:
        made = (await server.client.post(f"{await _talk(server, {}, 'a question')}/shares")).json()
        plain = await server.client.get(made["path"], headers={"Accept-Encoding": "identity"})
        packed = await server.client.get(made["path"], headers={"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.text == plain.text
        assert packed.num_bytes_downloaded * 3 < plain.num_bytes_downloaded
