"""A server for `bench.page`: Threadkeep with stored conversations, and beside it one page that is nothing but HTML.

Says on its first line, as JSON, which conversations there are. The bare page shows the same text and has a field, too.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from html import escape
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bench.texts import turns
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.store.values import Append

SHOWN = 50
TOGETHER = 200
ANSWERS = {"390 KB": 390_000, "1 MB": 1_000_000}
PACE = 0.01
"""Seconds for a word: a hundred a second."""


async def fill(store: Store, messages: int) -> str:
    """Store a conversation of so many messages, and return its id."""
    made = await store.create(LOCAL, NewConversation(assistant="chat", title=f"{messages} messages"))
    said = (message for turn in turns() for message in turn)
    for _ in range(messages // TOGETHER):
        await store.append(LOCAL, made.conversation.id, Append(bodies=tuple(islice(said, TOGETHER))))
    return made.conversation.id


async def fill_with_answer(store: Store, size: int) -> str:
    """Store a conversation with one answer of so many characters of Markdown, and return its id."""
    made = await store.create(LOCAL, NewConversation(assistant="chat", title=f"{size:,} characters"))
    said = (answer.content for _, answer in turns())
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        at, words = len(parts), next(said)
        parts.append(
            f"## Part {at}\n\n{words}\n\n- **one** and `two`\n- three\n\n| a | b |\n|---|--:|\n| x | {at} |\n\n"
        )
        parts.append(f"```python\nfor each in range({at}):\n    print(each, 'of', {at})\n```\n\n")
    answer = Message(role=Role.ASSISTANT, content="".join(parts)[:size])
    question = Message(role=Role.USER, content="Tell me everything.")
    await store.append(LOCAL, made.conversation.id, Append(bodies=(question, answer)))
    return made.conversation.id


def bare(messages: Sequence[Message]) -> str:
    """Return messages as a page without a script or a style."""
    said = "\n".join(f'<article class="answer">{escape(message.content)}</article>' for message in messages)
    return f"<!doctype html><title>Bare</title><main>{said}</main><textarea data-testid=composer></textarea>"


async def main(port: int, sizes: Sequence[int]) -> None:
    """Serve until killed."""
    with TemporaryDirectory() as folder:
        conversations = await open_conversations(f"sqlite:///{Path(folder) / 'bench.db'}", model="demo", pace=PACE)
        ids = {size: await fill(conversations._store, size) for size in sizes}
        answers = {name: await fill_with_answer(conversations._store, size) for name, size in ANSWERS.items()}
        free = dict.fromkeys(("user_requests_per_second", "user_turns", "user_streams"), 0)
        app = create_app(conversations, Settings.model_validate({"store": "memory:", **free}))
        text = bare([message for turn in islice(turns(), SHOWN // 2) for message in turn])

        async def answer(_request: Request) -> Response:
            return HTMLResponse(text)

        app.add_route("/bare", answer)
        print(json.dumps({"messages": ids, "answers": answers}), flush=True)
        await uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", access_log=False)).serve()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(size) for size in sys.argv[2:]]))
