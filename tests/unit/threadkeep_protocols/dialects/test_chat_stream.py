"""Chat and stream: `POST /api/chat` as JSON or a form, then `/stream` with the events of R-B1."""

import asyncio

import pytest

from tests.told import name_of
from tests.unit.threadkeep_protocols.dialects.serving import Served, assert_problem, events_in, names_and_data, serving
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelRefused
from threadkeep.llm.base import Text
from threadkeep.testing.scripted_model import says, wants

CALL = ("call-1", "get_budget", {"cost_center": "CC-1001"})


async def _told(served: Served, id: str, after: str | None = None) -> str:
    headers = {} if after is None else {"Last-Event-ID": after}
    return (await served.client.get("/stream", params={"session_id": id}, headers=headers)).text


async def _chat(served: Served, message: str = "hi", **more: str) -> str:
    answer = await served.client.post("/api/chat", json={"message": message, **more})
    return str(answer.json()["session_id"])


async def _ended(served: Served, id: str) -> None:
    """Wait until no turn is open any more."""
    async for event in (await served.conversations.get(id)).follow(Cursor()):
        if name_of(event) == "turn.completed":
            return


async def test_a_message_is_accepted_with_the_address_of_its_stream() -> None:
    async with serving(says("Hello.")) as served:
        answer = await served.client.post("/api/chat", json={"message": "hi"})
        id = answer.json()["session_id"]
        assert answer.json() == {"session_id": id, "stream_url": f"/stream?session_id={id}"}
        stream = await served.client.get(answer.json()["stream_url"])
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert names_and_data(stream.text)[-1] == (
            "done",
            {"session_id": id, "message_count": 2, "status": "completed"},
        )


@pytest.mark.parametrize("as_parts", [False, True])
async def test_a_form_is_as_good_as_json(as_parts: bool) -> None:
    async with serving(says("one"), says("two")) as served:
        text = "Zeile 1\r\nnext & last=ü\u2028 🙂"
        fields = {"message": text, "session_id": ""}
        parts = {name: (None, value) for name, value in fields.items()} if as_parts else None
        answer = await served.client.post("/api/chat", data=None if as_parts else fields, files=parts)
        assert answer.status_code == 200, answer.text
        id = answer.json()["session_id"]
        await served.client.post("/api/chat", data={"message": "again", "session_id": id})
        await _told(served, id)
        messages = (await served.client.get(f"/v1/conversations/{id}")).json()["messages"]
        assert [message["content"] for message in messages] == [text, "one", "again", "two"]


async def test_a_body_that_cannot_be_read_is_refused() -> None:
    async with serving() as served:
        for media_type, body, status in (
            ("application/json", b"{", 400),
            ("application/json", b"[" * 40_000, 400),
            ("application/json", b"[" * 100_000, 413),
            ("application/json", b"\xff", 400),
            ("application/json", b'"text"', 422),
            ("application/json", b"{}", 422),
            ("application/json", b'{"message": "\\ud800"}', 400),
            ("application/x-www-form-urlencoded", b"message=%ff", 400),
            ("application/x-www-form-urlencoded", b"text=hi", 422),
            ("multipart/form-data", b"message", 400),
            (
                "multipart/form-data; boundary=x",
                b'--x\r\nContent-Disposition: form-data; name="message"\r\n\r\ncut o',
                400,
            ),
            ("multipart/form-data; boundary=x", b"--x\r\nno headers\r\n--x--", 400),
            ("multipart/form-data; boundary=x", b"--x\r\n" * 200_000 + b"--x--", 400),
            ("multipart/form-data; boundary=x", b"--x\r\n" + b"a: b;\r\n" * 200_000 + b"\r\n\r\n--x--", 400),
            ("multipart/form-data; boundary=" + ";" * 30_000, b"--x--", 400),
            ("application/x-www-form-urlencoded", b"&" * 1_000_000, 400),
            ("application/x-www-form-urlencoded", b"text=" + b"%41" * 300_000, 422),
        ):
            answer = await served.client.post("/api/chat", content=body, headers={"Content-Type": media_type})
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.status_code == status


async def test_the_stream_tells_text_calls_and_results_in_order() -> None:
    async with serving([Text("Let me see."), *wants(CALL)], says("15,000 ", "are left.")) as served:
        id = await _chat(served, "What is left?")
        told = names_and_data(await _told(served, id))
        text = "".join(data["text"] for name, data in told if name == "delta")
        assert text == "Let me see.15,000 are left."
        assert [pair for pair in told if pair[0] != "delta"] == [
            ("tool_call", {"id": CALL[0], "name": CALL[1], "args": CALL[2]}),
            ("tool_result", {"tool_call_id": "call-1", "content": '{"budget":50000,"spent":35000}'}),
            ("done", {"session_id": id, "message_count": 4, "status": "completed"}),
        ]


async def test_a_stream_that_comes_back_anywhere_tells_exactly_the_rest() -> None:
    first, end = asyncio.Event(), asyncio.Event()
    answer = [Text("One "), Text("two "), first, *says("three.")]
    async with serving([Text("So: "), *wants(CALL)], [*answer[:2], end, *answer[2:]]) as served:
        id = await _chat(served)
        live = asyncio.create_task(_told(served, id))
        end.set()
        first.set()
        events = events_in(await live)
        await _ended(served, id)
        for place, (_, _, cursor) in enumerate(events[:-1]):
            rest = events_in(await _told(served, id, cursor))
            before = "".join(data["text"] for name, data, _ in events[: place + 1] if name == "delta")
            after = "".join(data["text"] for name, data, _ in rest if name == "delta")
            assert before + after == "So: One two three."
            others = [(name, data) for name, data, _ in events[place + 1 :] if name != "delta"]
            assert [(name, data) for name, data, _ in rest if name != "delta"] == others


async def test_who_was_told_everything_is_told_to_stop_asking() -> None:
    async with serving(says("Hello."), says("Again.")) as served:
        id = await _chat(served)
        cursor = events_in(await _told(served, id))[-1][2] or ""
        over = await served.client.get("/stream", params={"session_id": id}, headers={"Last-Event-ID": cursor})
        assert (over.status_code, over.content) == (204, b"")
        over = await served.client.get("/stream", params={"session_id": id, "after": cursor})
        assert (over.status_code, over.content) == (204, b"")
        notes = [Message(id=new_id(), role=Role.USER, content="a note") for _ in range(120)]
        chat = await served.conversations.get(id)
        await chat.append(*notes)  # more than the log shows at once
        await _chat(served, "more", session_id=id)
        for turn in await chat.turns():
            await chat.turn(turn.number).outcome()
        assert "Again." in await _told(served, id, cursor)


async def test_an_empty_cursor_in_the_header_is_none() -> None:
    async with serving(says("Hello.")) as served:
        id = await _chat(served)
        whole = await _told(served, id)
        assert names_and_data(await _told(served, id, "")) == names_and_data(whole)


async def test_the_stream_of_a_queued_message_tells_nothing_of_the_turn_before_it() -> None:
    go_on = asyncio.Event()
    async with serving([Text("First "), go_on, *says("answer.")], says("Second answer.")) as served:
        id = await _chat(served)
        await _chat(served, "and?", session_id=id)
        second = asyncio.create_task(_told(served, id))
        go_on.set()
        told = names_and_data(await second)
        assert "".join(data["text"] for name, data in told if name == "delta") == "Second answer."
        assert [name for name, _ in told][-1] == "done"


async def test_a_failed_turn_ends_the_stream_with_an_error() -> None:
    async with serving([ModelRefused("The key is wrong.")]) as served:
        told = names_and_data(await _told(served, await _chat(served)))
        assert told == [("error", {"code": "model_refused", "detail": "The key is wrong."})]


async def test_a_cancelled_turn_is_done_and_says_so() -> None:
    async with serving([Text("Well, "), asyncio.Event()]) as served:
        id = await _chat(served)
        live = asyncio.create_task(_told(served, id))
        async for event in (await served.conversations.get(id)).follow(Cursor()):
            if name_of(event) == "text.delta":
                break
        await served.client.post(f"/v1/conversations/{id}/cancel")
        assert names_and_data(await live)[-1][1]["status"] == "cancelled"


async def test_an_unknown_session_and_a_foreign_cursor_are_refused() -> None:
    async with serving(says("Hello.")) as served:
        assert_problem(await served.client.get("/stream?session_id=nothing"), 404, "conversation_not_found")
        id = await _chat(served)
        foreign = Cursor(seq=1).encode("another")
        answer = await served.client.get("/stream", params={"session_id": id}, headers={"Last-Event-ID": foreign})
        assert_problem(answer, 400, "invalid_cursor")
        await _told(served, id)


async def test_a_message_that_is_repeated_with_its_key_is_sent_once() -> None:
    async with serving(says("Hello.")) as served:
        key = {"Idempotency-Key": "k"}
        first = await served.client.post("/api/chat", json={"message": "hi"}, headers=key)
        again = await served.client.post("/api/chat", data={"message": "hi"}, headers=key)
        assert again.json() == first.json()
        assert again.headers["idempotency-replayed"] == "true"
        await _told(served, first.json()["session_id"])
