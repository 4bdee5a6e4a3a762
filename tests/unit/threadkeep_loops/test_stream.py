"""A turn as one request: wherever it is cut, the loop asks how far it came and goes on from there."""

import itertools
import json
import random
from typing import Any

import httpx

from tests.unit.server.serving import conversation, served
from tests.unit.threadkeep_loops.test_routes import HELLO, Loop
from threadkeep.server.middleware.tracking import OpenRequest
from threadkeep_loops.stream import LoopStream

CUTS = 150
BEFORE, BEHIND = "I look 🙂 up\nwhat 日本 says. ", "It is four degrees. 🙂 And tomorrow?"


def _lines(told: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in told).encode()


def _words(text: str, chance: random.Random) -> list[dict[str, Any]]:
    """Return a text in pieces of random size."""
    places = sorted({0, len(text), *(chance.randrange(len(text) + 1) for _ in range(6))})
    return [{"type": "text", "text": text[a:b]} for a, b in itertools.pairwise(places)]


async def _rest(client: httpx.AsyncClient, path: str, loop: Loop, chance: random.Random) -> list[dict[str, Any]]:
    """Return what is left to be said, by what the server tells of the turn."""
    said = [each for each in (await client.get(path)).json()["messages"] if each["turn"] == loop.number]
    draft = (await client.get(loop.path)).json()["draft"]
    written = draft["text"] if draft else ""
    call = [{"type": "call", "id": "c", "name": "look"}, {"type": "result", "call": "c", "content": "4"}]
    end = [*_words(BEHIND[len(written) :], chance), {"type": "settle", "state": "completed"}]
    if not any(message["tool_calls"] for message in said):
        return [*_words(BEFORE[len(written) :], chance), *call, *_words(BEHIND, chance), end[-1]]
    return [*call, *end]  # what is stored already is left out


async def test_a_stream_that_is_cut_again_and_again_ends_as_one_that_is_not() -> None:
    chance, cuts = random.Random(20261118), 0
    async with served() as client:
        while cuts < CUTS:
            path = await conversation(client)
            loop = await Loop.begin(client, path)
            while (await client.get(loop.path)).json()["state"] == "running":
                whole = _lines(await _rest(client, path, loop, chance))
                # A cut in the middle of a line leaves a line that is refused, and is as good as not said.
                cut = whole[: chance.randrange(1, len(whole) + 1)] if chance.random() < 0.9 else whole
                answer = await client.post(f"{loop.path}/stream", content=cut, headers={"Turn-Token": loop.token})
                assert answer.status_code == 200
                cuts += 1
            messages = (await client.get(path)).json()["messages"]
            assert [message["content"] for message in messages] == [HELLO["content"], BEFORE, "4", BEHIND]
            assert {message["status"] for message in messages} == {"complete"}


async def test_a_line_that_is_no_line_is_refused_and_what_came_before_it_is_kept() -> None:
    async with served() as client:
        path = await conversation(client)
        loop = await Loop.begin(client, path)
        for wrong in (b"nonsense", b'{"type": "dance"}', b'{"type": "text", "text": 5}', b"[1]", b'{"text": "x"}'):
            sent = b'{"type": "text", "text": "a"}\n' + wrong + b'\n{"type": "text", "text": "never"}\n'
            answer = await client.post(f"{loop.path}/stream", content=sent, headers={"Turn-Token": loop.token})
            last = json.loads(answer.text.splitlines()[-1])
            assert last["problem"]["code"] == "invalid_value", last
        assert (await client.get(loop.path)).json()["draft"]["text"] == "aaaaa"


def test_a_stream_of_lines_is_ended_like_one_of_events_when_its_key_is_revoked_or_the_server_stops() -> None:
    request = OpenRequest(None, {"type": "http"})
    kind = LoopStream.media_type.encode()
    request.note({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    assert (request.is_stream, request.is_lines, request.stays) == (True, True, True)
