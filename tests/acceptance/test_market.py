"""The worked example of the market assistant (R-D7) over HTTP, asked of real server processes that come and go.

Paraphrases and follow-ups are asked of one server, each as a branch behind the questions that came before it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.server_process import server_process
from tests.unit.threadkeep_assistants.market.phrases import CHAIN, COMPARED, FOLLOW_UPS, LISTED, TOP, WORKED, Phrase
from threadkeep_assistants.market.companies import FICTION

TURNS: dict[str, tuple[str, list[str], str]] = {
    LISTED: ("rank_stocks", ["ranked_list", "narrative"], "1. D.R. Horton (DHI), 2. Lennar (LEN)"),
    TOP: ("describe_company", ["narrative", "chart"], "D.R. Horton (DHI) belongs to Homebuilders"),
    CHAIN: ("supply_chain", ["narrative", "table"], "The supply chain risk of D.R. Horton (DHI) is high, 4 of 5"),
    COMPARED: ("compare_companies", ["split_compare", "narrative"], "Compared D.R. Horton (DHI) vs Apple (AAPL)"),
    "tell me more about that": ("describe_company", ["narrative", "chart"], "D.R. Horton (DHI) belongs to"),
    "what about AAPL instead?": ("describe_company", ["narrative", "chart"], "Apple (AAPL) belongs to"),
}


async def begun(client: httpx.AsyncClient) -> str:
    created = await client.post("/v1/conversations", json={"assistant": "market", "title": "Stocks"})
    return str(created.headers["location"])


async def asked(client: httpx.AsyncClient, path: str, question: str, **place: int) -> dict[str, Any]:
    """Ask, wait, and return the answer as it was told."""
    told = (await client.post(f"{path}/messages", json={"content": question, **place})).json()
    assert told["turn"]["state"] == "completed", told
    answer: dict[str, Any] = told["message"]
    return answer


async def calls_of(client: httpx.AsyncClient, path: str, answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of the turn of an answer."""
    branch = (await client.get(path, params={"head": answer["seq"]})).json()["messages"]
    turn = [message for message in branch if message["turn"] == answer["turn"]]
    return [(call["name"], call["args"]) for message in turn for call in message["tool_calls"]]


async def test_the_worked_example_survives_a_restart_between_all_turns(tmp_path: Path) -> None:
    path = ""
    for question, (tool, blocks, text) in TURNS.items():
        async with server_process(tmp_path, pace="0") as (_, client):
            path = path or await begun(client)
            answer = await asked(client, path, question)
            assert text in answer["content"]
            assert FICTION in answer["content"]
            assert [block["type"] for block in answer["blocks"]] == blocks
            assert [name for name, _ in await calls_of(client, path, answer)] == [tool]
    async with server_process(tmp_path, pace="0") as (_, client):
        kept = (await client.get(path)).json()["messages"]
        assert [message["content"] for message in kept if message["role"] == "user"] == list(TURNS)
        blocks_kept = [[block["type"] for block in each["blocks"]] for each in kept if each["role"] == "assistant"]
        assert [types for types in blocks_kept if types] == [blocks for _, blocks, _ in TURNS.values()]


def _histories(phrases: Sequence[Phrase]) -> dict[tuple[str, ...], list[Phrase]]:
    found: dict[tuple[str, ...], list[Phrase]] = {}
    for phrase in phrases:
        found.setdefault(phrase.before, []).append(phrase)
    return found


HISTORIES = _histories([*WORKED, *FOLLOW_UPS])


@pytest.mark.parametrize("before", HISTORIES, ids=lambda before: before[-1] if before else "the beginning")
async def test_paraphrases_and_follow_ups_are_answered_from_what_came_before(
    tmp_path: Path, before: tuple[str, ...]
) -> None:
    async with server_process(tmp_path, pace="0") as (_, client):
        path, head = await begun(client), 0
        for question in before:
            head = (await asked(client, path, question))["seq"]
        for phrase in HISTORIES[before]:
            answer = await asked(client, path, phrase.question, parent=head)
            assert await calls_of(client, path, answer) == [(phrase.tool, phrase.args)], phrase.question
            assert FICTION in answer["content"]


async def test_a_history_that_a_client_brings_along_is_understood(tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": LISTED},
        {"role": "assistant", "content": "Showed ranked list: NEE, PLD, DHI"},
    ]
    body = {"query": "Tell me more about the second one", "history": history}
    async with server_process(tmp_path, pace="0") as (_, client):
        told = (await client.post("/v1/chat/query/stream", json=body)).text
        assert "Prologis (PLD) belongs to REITs" in told
        assert (await client.get("/v1/conversations")).json()["data"] == []
