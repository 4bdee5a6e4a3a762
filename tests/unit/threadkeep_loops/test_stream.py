"""A turn as one request: what is no line is refused, and it ends as streams of events do."""

import json

from tests.unit.server.serving import conversation, served
from tests.unit.threadkeep_loops.test_routes import Loop
from threadkeep.server.middleware.tracking import OpenRequest
from threadkeep_loops.stream import LoopStream


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
