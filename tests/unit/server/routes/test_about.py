"""The models that people may choose over HTTP: those that are offered, and no path or account of the operator's."""

import pytest

from tests.unit.server.serving import conversation, served, store_behind
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import LOCAL
from threadkeep.settings import Settings

OTHERS = ["local:/dev/ptmx", "local", "openai:gpt-6.1-terra", "ollama:any", "demo:x"]


@pytest.mark.parametrize("name", OTHERS)
async def test_a_model_that_is_not_offered_is_refused(name: str) -> None:
    async with served() as client:
        path = await conversation(client)
        for answer in (
            await client.post("/v1/conversations", json={"model": name}),
            await client.patch(path, json={"model": name}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")
            assert "/v1/models" in answer.json()["detail"]


async def test_what_is_listed_can_be_chosen_and_settings_add_to_it() -> None:
    async with served(Settings(store="memory:", models=("ollama:offered",))) as client:
        listed = (await client.get("/v1/models")).json()["data"]
        assert listed == ["demo", "ollama:offered"]
        for name in listed:
            assert (await client.post("/v1/conversations", json={"model": name})).status_code == 201


async def test_a_choice_that_the_store_brings_along_is_not_loaded_either() -> None:
    async with served() as client:
        path = await conversation(client)
        store = store_behind(client)
        await store.update(LOCAL, path.rpartition("/")[2], Update(model="local:/dev/ptmx"))
        answer = await client.post(f"{path}/messages", json={"content": "hello"})
    assert "not offered" in answer.text


@pytest.mark.parametrize("options", [{"temperature": 9}, {"wish": 1}, "warm", [1]])
async def test_options_of_a_model_are_checked_before_they_are_stored(options: object) -> None:
    async with served() as client:
        path = await conversation(client)
        body = {"metadata": {"model_options": options}}
        for answer in (await client.post("/v1/conversations", json=body), await client.patch(path, json=body)):
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")
        right = {"metadata": {"model_options": {"temperature": 0.5}}}
        assert (await client.patch(path, json=right)).status_code == 200
