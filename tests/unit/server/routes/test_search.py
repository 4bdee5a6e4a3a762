"""Conversations are found by title; what is not there is told, to people and to programs."""

from tests.unit.server.serving import conversation, served


async def test_titles_and_messages_are_found_in_one_answer() -> None:
    async with served() as client:
        for number in range(30):
            await client.post("/v1/conversations", json={"title": f"Number {number}"})
        await client.post("/v1/conversations", json={"title": "Straße"})
        for text, titles in (("NUMBER 0", ["Number 0"]), ("STRASSE", ["Straße"]), ("nothing", [])):
            found = (await client.get("/v1/search", params={"q": text})).json()
            assert [(hit["kind"], hit["title"], hit["entry"]) for hit in found["data"]] == [
                ("title", title, None) for title in titles
            ]
        newest = (await client.get("/v1/search", params={"q": "number", "order": "newest", "limit": 5})).json()
        assert [hit["title"] for hit in newest["data"]] == [f"Number {number}" for number in range(29, 24, -1)]
        more = (
            await client.get("/v1/search", params={"q": "number", "order": "newest", "after": newest["next"]})
        ).json()
        assert more["data"][0]["title"] == "Number 24"


async def test_the_words_can_be_sent_in_a_body() -> None:
    async with served() as client:
        for number in range(3):
            await client.post("/v1/conversations", json={"title": f"Number {number}"})
        asked = {"q": "number", "order": "newest", "limit": 2}
        found = (await client.post("/v1/search", json=asked)).json()
        assert [hit["title"] for hit in found["data"]] == ["Number 2", "Number 1"]
        more = (await client.post("/v1/search", json=asked | {"after": found["next"]})).json()
        assert [hit["title"] for hit in more["data"]] == ["Number 0"]
        assert (await client.post("/v1/search", json={"q": ""})).status_code == 422
        assert (await client.post("/v1/search", json={"q": "x", "limit": 201})).status_code == 422


async def test_what_is_wrong_with_a_search_is_told() -> None:
    async with served() as client:
        answer = await client.get("/v1/search", params={"q": "otter colour:red"})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_search")
        assert "no filter colour:" in answer.json()["detail"]


async def test_the_list_is_filtered_by_archive_metadata_and_title() -> None:
    async with served() as client:
        await client.post("/v1/conversations", json={"title": "A plan", "metadata": {"kind": "a=b", "size": 3}})
        await client.post("/v1/conversations", json={"title": "No plans", "metadata": {"kind": "other"}})
        asked: list[tuple[dict[str, str | list[str]], list[str]]] = [
            ({"metadata": "kind=a=b"}, ["A plan"]),
            ({"metadata": ["kind=a=b", "size=3"]}, ["A plan"]),
            ({"metadata": ["kind=a=b", "size=4"]}, []),
            ({"title": "plan "}, ["A plan"]),
            ({"title": "plan"}, ["No plans", "A plan"]),
            ({"archived": "true"}, []),
            ({"archived": "false", "title": "no"}, ["No plans"]),
        ]
        for params, titles in asked:
            found = (await client.get("/v1/conversations", params=params)).json()
            assert [item["title"] for item in found["data"]] == titles, params
        for metadata in ("kind", "=a"):
            answer = await client.get("/v1/conversations", params={"metadata": metadata})
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")


async def test_an_unknown_turn_cannot_be_taken_back() -> None:
    async with served() as client:
        path = await conversation(client)
        answer = await client.post(f"{path}/cancel", params={"turn": 7})
        assert (answer.status_code, answer.json()["code"]) == (404, "turn_not_found")


async def test_a_person_gets_a_page_for_an_unknown_address_and_a_program_a_problem() -> None:
    async with served() as client:
        for accept, kind in (("text/html,*/*", "text/html"), ("*/*", "application/problem+json")):
            answer = await client.get("/no/such", headers={"Accept": accept})
            assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, kind)
        assert (await client.post("/no/such", headers={"Accept": "text/html"})).status_code == 404
