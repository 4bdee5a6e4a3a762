"""A store full of hostile text: each payload is a title, a question, a tool's name, arguments, output and error, every
field of every block, the name of a document, and an answer. Written before a server opens it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.values import Append

TURNS = 12
"""How many turns a conversation holds: so many that the page shows all of them at once."""


async def fill(url: str, payloads: Sequence[str]) -> list[str]:
    """Make a conversation named after each payload; return the ids of those in which all of them are said."""
    store = await open_store(url)
    talking: list[str] = []
    try:
        for place, payload in enumerate(payloads):
            made = await store.create(LOCAL, NewConversation(title=payload))
            said = payloads[place * TURNS : (place + 1) * TURNS]
            if said:
                bodies = tuple(message for text in said for message in _turn(text))
                await store.append(LOCAL, made.conversation.id, Append(bodies=bodies))
                talking.append(made.conversation.id)
    finally:
        await store.close()
    return talking


def settings(payloads: Sequence[str]) -> str:
    """Return the settings of a server with an assistant for each payload, described by it."""
    tables = (
        f'[assistants.a{place}]\ninstructions = "Be quiet."\ndescription = {_toml(text)}\nexamples = [{_toml(text)}]\n'
        for place, text in enumerate(payloads)
    )
    return "\n".join(tables)


def _toml(text: str) -> str:
    return json.dumps(text)


def _turn(text: str) -> Iterator[Message]:
    call = ToolCall(id="call", name=text[:64], args={text: text, "deep": [{text: text}]})
    trace = {"kind": "query", "question": text, "rewritten": f"{text}.", "words": [text], "why": text}
    yield Message(role=Role.USER, content=text)
    yield Message(role=Role.ASSISTANT, tool_calls=(call,))
    yield Message(role=Role.TOOL, content=text, tool_result=ToolResult(tool_call_id="call", error=text))
    said: dict[str, Any] = {"content": text, "blocks": list(_blocks(text)), "tool_trace": [trace], "model": text}
    yield Message.model_validate({"role": "assistant", "usage": {"input_tokens": 1}, **said})


def _blocks(text: str) -> Iterator[dict[str, Any]]:
    yield {"type": "narrative", "text": text}
    yield {"type": "ranked_list", "title": text, "rows": [{"ticker": text, "name": text, "score": 1, text: text}]}
    yield {"type": "split_compare", "leftTitle": text, "rightTitle": text, "left": {text: text}, "right": {"a": text}}
    yield {"type": "split_compare", "leftTitle": text, "rightTitle": text, "left": text, "right": [text]}
    yield {"type": "table", "columns": [text], "rows": [[text]]}
    yield {"type": "chart", "chart": "bar", "title": text, "unit": text, "series": [_series(text)]}
    yield {"type": "citation", "source": text, "title": f"{text}.pdf", "url": text, "text": text}
    yield {"type": "citation", "source": f"../../{text}.md"}
    yield {"type": text[:64], text: text}


def _series(text: str) -> dict[str, Any]:
    return {"name": text, "points": [{"x": text, "y": 1}, {"x": "b", "y": 2}]}
