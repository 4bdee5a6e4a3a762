"""The webhooks of a tenant over HTTP. What is sent: tests/integration/test_webhooks.py."""

import asyncio

from tests.integration.serving import serving
from tests.webhook_receiver import PRIVATE, receiving, settings_of
from threadkeep.conversation.api_key import KeyRole

PATH = "/v1/admin/webhooks"


async def test_a_secret_is_shown_once_and_a_webhook_belongs_to_its_tenant() -> None:
    with receiving() as receiver:
        async with serving(auth="keys", webhooks={"private": PRIVATE}) as server:
            _, boss = await server.key("acme", "boss", KeyRole.ADMIN)
            _, stranger = await server.key("umbrella", "boss", KeyRole.ADMIN)
            _, ada = await server.key("acme", "ada")
            made = await server.client.post(PATH, json={"url": receiver.url}, headers=boss)
            assert made.status_code == 201, made.text
            receiver.secret, id = made.json()["secret"], made.json()["id"]
            shown = await server.client.get(PATH, headers=boss)
            assert [each["id"] for each in shown.json()["data"]] == [id]
            assert receiver.secret not in shown.text
            assert (await server.client.get(PATH, headers=stranger)).json()["data"] == []
            for method, path in (("POST", "/test"), ("GET", "/dead"), ("POST", "/dead/x"), ("DELETE", "")):
                other = await server.client.request(method, f"{PATH}/{id}{path}", headers=stranger)
                assert (other.status_code, other.json()["code"]) == (404, "webhook_not_found")
                assert (await server.client.request(method, f"{PATH}/{id}{path}", headers=ada)).status_code == 403
            tested = (await server.client.post(f"{PATH}/{id}/test", headers=boss)).json()
            assert (tested["delivered"], tested["detail"]) == (True, None)
            assert [event["type"] for _, event in receiver.taken] == ["test"]
            receiver.answers = lambda _: 500
            tested = (await server.client.post(f"{PATH}/{id}/test", headers=boss)).json()
            assert (tested["delivered"], tested["detail"]) == (False, "it answered 500")
            assert (await server.client.delete(f"{PATH}/{id}", headers=boss)).status_code == 204
            assert (await server.client.delete(f"{PATH}/{id}", headers=boss)).status_code == 404


async def test_what_is_no_webhook_is_refused_with_a_problem() -> None:
    async with serving() as server:
        for body in ({}, {"url": "nowhere"}, {"url": "https://x.org", "events": ["text.delta"]}, {"url": 7}):
            answer = await server.client.post(PATH, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), answer.text
        made = (await server.client.post(PATH, json={"url": "https://127.0.0.1/"})).json()
        tested = (await server.client.post(f"{PATH}/{made['id']}/test")).json()
        assert not tested["delivered"]
        assert "private" in tested["detail"]
        for _ in range(19):
            assert (await server.client.post(PATH, json={"url": "https://127.0.0.1/"})).status_code == 201
        full = await server.client.post(PATH, json={"url": "https://127.0.0.1/"})
        assert (full.status_code, full.json()["code"]) == (429, "too_many_webhooks")


async def test_one_of_the_settings_is_shown_and_tested_and_stays() -> None:
    with receiving() as receiver:
        async with serving(webhooks=settings_of(receiver)) as server:
            (shown,) = (await server.client.get(PATH)).json()["data"]
            assert (shown["id"], shown["is_set"]) == ("app", True)
            assert (await server.client.post(f"{PATH}/app/test")).json()["delivered"]
            assert (await server.client.delete(f"{PATH}/app")).status_code == 404
            await asyncio.sleep(0)
