"""The other processes of `bench.provider`: a provider that streams OpenAI's chunks, and servers before it.

    python bench/provider_rivals.py provider PORT TOKENS [SECONDS]
    python bench/provider_rivals.py proxy|bare|naive|agents PORT PROVIDER_PORT

`proxy` passes bytes on; `bare` is an HTTP proxy of Starlette and aiohttp that keeps histories in memory; `naive` keeps
a conversation in a JSON file; `agents` is the OpenAI Agents SDK with its SQLite session. The last two are FastAPI with
OpenAI's client. It imports nothing of Threadkeep: the Agents SDK does not fit beside it, so that it runs in an
environment of its own (requirements/bench.txt).
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

EVERY = 0.05
"""Seconds between two tokens of an answer: twenty a second."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def provide(port: int, tokens: int, every: float = EVERY) -> None:
    """Answer every request with that many tokens, each being the time at which it was said."""

    def chunk(delta: dict[str, Any], reason: str | None = None, **fields: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "played"}
        return framed(f"data: {json.dumps({**whole, 'choices': [choice], **fields})}\n\n".encode())

    def framed(data: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(data), data)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.split(b":")[1]))
                writer.write(HEAD + chunk({"role": "assistant", "content": ""}))
                start = time.monotonic()
                for token in range(tokens):
                    await asyncio.sleep(max(0.0, start + token * every - time.monotonic()))
                    writer.write(chunk({"content": f"{time.time():.6f} "}))
                usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
                writer.write(chunk({}, "stop", usage=usage) + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024) as server:
        await server.serve_forever()


async def proxy(port: int, provider: int) -> None:
    """Pass bytes on, in both directions."""

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
        target.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", provider)
        await asyncio.gather(copy(reader, back), copy(there, writer))

    async with await asyncio.start_server(connect, "127.0.0.1", port, backlog=1024) as server:
        await server.serve_forever()


def bare_app(provider: int) -> Any:
    """Return Starlette around aiohttp: `POST /chat` sends a history with one more question and passes the answer on."""
    import aiohttp  # noqa: PLC0415
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response, StreamingResponse  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    histories: dict[str, list[dict[str, str]]] = {}
    sessions: list[aiohttp.ClientSession] = []

    async def fill(request: Request) -> Response:
        given = await request.json()
        histories[given["session_id"]] = given["messages"]
        return Response()

    async def chat(request: Request) -> StreamingResponse:
        asked = await request.json()
        history = histories.setdefault(asked["session_id"], [])
        history.append({"role": "user", "content": asked["message"]})
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        url, body = f"http://127.0.0.1:{provider}/v1/chat/completions", {"model": "played", "stream": True}

        async def pieces() -> AsyncIterator[bytes]:
            async with sessions[0].post(url, json={**body, "messages": history}) as answer:
                async for piece in answer.content.iter_any():
                    yield piece

        return StreamingResponse(pieces(), media_type="text/event-stream")

    return Starlette(routes=[Route("/chat", chat, methods=["POST"]), Route("/fill", fill, methods=["POST"])])


def app(kind: str, provider: int, folder: Path) -> Any:
    """Return a FastAPI application that answers `POST /chat` with a stream."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, set_tracing_disabled  # noqa: PLC0415
    from fastapi import FastAPI  # noqa: PLC0415
    from fastapi.responses import StreamingResponse  # noqa: PLC0415
    from openai import AsyncOpenAI  # noqa: PLC0415

    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{provider}/v1", api_key="sk-bench", max_retries=0)
    set_tracing_disabled(True)
    agent = Agent(
        name="chat",
        instructions="Answer briefly.",
        model=OpenAIChatCompletionsModel(model="played", openai_client=client),
    )

    async def naive(session: str, message: str) -> AsyncIterator[str]:
        path = folder / f"{session}.json"
        messages = json.loads(path.read_text()) if path.exists() else []
        messages.append({"role": "user", "content": message})
        said = []
        stream = await client.chat.completions.create(model="played", messages=messages, stream=True)
        async for event in stream:
            if event.choices and (text := event.choices[0].delta.content):
                said.append(text)
                yield f"data: {json.dumps({'text': text})}\n\n"
        path.write_text(json.dumps([*messages, {"role": "assistant", "content": "".join(said)}]))

    async def agents(session: str, message: str) -> AsyncIterator[str]:
        kept = SQLiteSession(session, folder / f"{session}.db")  # one file for all of them is locked now and then
        run = Runner.run_streamed(agent, message, session=kept)
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                yield f"data: {json.dumps({'text': event.data.delta})}\n\n"
        kept.close()

    answer, api = {"naive": naive, "agents": agents}[kind], FastAPI()

    @api.post("/chat")
    async def chat(body: dict[str, str]) -> StreamingResponse:
        return StreamingResponse(answer(body["session_id"], body["message"]), media_type="text/event-stream")

    return api


def main(kind: str, port: int, other: int, *every: float) -> None:
    """Serve until killed."""
    if kind == "provider":
        asyncio.run(provide(port, other, *every))
    elif kind == "proxy":
        asyncio.run(proxy(port, other))
    else:
        import uvicorn  # noqa: PLC0415

        with TemporaryDirectory() as folder:
            api = bare_app(other) if kind == "bare" else app(kind, other, Path(folder))
            uvicorn.run(api, port=port, log_level="error", access_log=False, backlog=1024)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *map(float, sys.argv[4:]))
