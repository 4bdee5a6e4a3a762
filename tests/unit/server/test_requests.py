"""Bodies are taken as they are written: a number is no text, a yes is no `true`, and null changes nothing."""

from tests.unit.server.serving import conversation, served


async def test_a_value_of_another_type_is_refused() -> None:
    async with served() as client:
        for method, path, body in (
            ("POST", "/messages", {"content": "hi", "parent": "1"}),
            ("POST", "/messages", {"content": "hi", "parent": True}),
            ("POST", "/messages", {"content": "hi", "expected_head": 1.5}),
            ("PUT", "/head", {"head": False}),
            ("PUT", "/head", {"head": None}),
            ("PATCH", "", {"archived": "true"}),
            ("PATCH", "", {"archived": 1}),
            ("POST", "/approve", {"tool_call_id": "c", "approved": "yes"}),
            ("POST", "/approve", {"tool_call_id": "c", "approved": 1}),
        ):
            answer = await client.request(method, await conversation(client) + path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_what_is_no_text_is_told_by_the_name_of_its_field() -> None:
    async with served() as client:
        for field in ("title", "system", "model"):
            answer = await client.post("/v1/conversations", json={field: 5})
            assert answer.status_code == 422
            assert answer.json()["detail"] == f"body.{field}: Input should be a valid string"


async def test_a_change_of_nothing_is_refused_and_makes_no_version() -> None:
    async with served() as client:
        for body in ({}, {"title": None}, {"metadata": None, "status": None, "archived": None, "model": None}):
            path = await conversation(client)
            answer = await client.patch(path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")
            read = (await client.get(path)).json()
            assert (read["version"], read["entries"]) == (1, 0)


async def test_null_beside_a_change_leaves_its_field_as_it_is() -> None:
    async with served() as client:
        path = await conversation(client)
        await client.patch(path, json={"metadata": {"a": 1}})
        changed = (await client.patch(path, json={"title": "New", "metadata": None})).json()
        assert (changed["title"], changed["metadata"]) == ("New", {"a": 1})


async def test_what_is_gone_has_no_body_and_no_type() -> None:
    async with served() as client:
        answer = await client.delete(await conversation(client))
        assert (answer.status_code, answer.content, "content-type" in answer.headers) == (204, b"", False)
