"""A server is killed again and again while its webhooks are sent: each event comes, in order for each conversation."""

import asyncio
import json
import random
from functools import partial
from pathlib import Path

import httpx

from tests.acceptance.server_process import server_process
from tests.webhook_receiver import PRIVATE, Receiver, receiving

KILLS, CONVERSATIONS = 3, 2


def configured(folder: Path, receiver: Receiver) -> Path:
    path = folder / "hooks.toml"
    target = f'url = {json.dumps(receiver.url)}\nsecret = "{receiver.secret}"\n'
    path.write_text(f"[webhooks]\nprivate = {json.dumps(PRIVATE)}\n[webhooks.targets.app]\n{target}")
    return path


async def test_no_event_is_lost_when_the_server_is_killed_between_log_and_receiver(tmp_path: Path) -> None:
    chance, paths = random.Random(7), list[str]()
    with receiving() as receiver:
        variables = {"THREADKEEP_CONFIG": str(configured(tmp_path, receiver))}
        for _ in range(KILLS):
            async with server_process(tmp_path, pace="0", **variables) as (process, client):
                paths = paths or [await _begun(client, receiver) for _ in range(CONVERSATIONS)]
                for path in chance.choices(paths, k=4):
                    answer = await client.post(f"{path}/messages", json={"content": "hello"})
                    assert answer.status_code == 200, answer.text
                await asyncio.sleep(chance.random())
                process.kill()
        async with server_process(tmp_path, pace="0", **variables) as (_, client):
            for path in paths:
                told = (await client.get(path, params={"limit": 200})).json()["messages"]
                name, ids = path.rsplit("/", 1)[1], [message["id"] for message in told]
                await asyncio.to_thread(receiver.wait, partial(_came, receiver, name, ids))


async def _begun(client: httpx.AsyncClient, receiver: Receiver) -> str:
    """Return a conversation that the sender has found."""
    path = str((await client.post("/v1/conversations", json={})).headers["location"])
    await client.post(f"{path}/messages", json={"content": "hello"})
    name = path.rsplit("/", 1)[1]
    while not receiver.types(name):
        await client.post(f"{path}/messages", json={"content": "is anybody there?"})
        await asyncio.sleep(0.5)
    return path


def _messages(receiver: Receiver, conversation: str) -> list[str]:
    """Return the ids of the messages of a conversation that came, in the order of their first coming."""
    events = [event["data"] for _, event in receiver.taken if event["type"] == "message.completed"]
    return list(dict.fromkeys(data["message"]["id"] for data in events if data["conversation"] == conversation))


def _came(receiver: Receiver, conversation: str, ids: list[str]) -> bool:
    """Whether all messages came since the first that did: before, the sender had not seen the target."""
    came = _messages(receiver, conversation)
    return bool(came) and came == ids[ids.index(came[0]) :]
