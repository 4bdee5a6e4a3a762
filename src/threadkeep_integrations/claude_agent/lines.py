"""The lines of a transcript of Claude Code as messages. Those in which nobody speaks (titles, modes, snapshots) stand
beside what Claude says, or beside an empty message of the assistant: never beside a person's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Raw, Reasoning
from threadkeep.conversation.value import storable
from threadkeep_integrations.raw_items import raw_items
from threadkeep_integrations.records import Form

Line = dict[str, Any]
OF = "claude-agent-sdk"
SUMMARY = "claude-agent-sdk summary"
_MOST_ID, _MOST_NAME = 255, 64


def said(lines: Sequence[Line]) -> list[Message]:
    """Return what lines say of which at most one says something."""
    spoken = next((line for line in lines if _speaks(line)), None)
    return [Message(role=Role.ASSISTANT)] if spoken is None else list(_messages(spoken))


def groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield lines in groups of which at most one speaks: a person's alone, Claude's with those in which nobody does."""
    group: list[Line] = []
    for line in lines:
        if group and _speaks(line) and (_is_persons(line) or any(map(_speaks, group))):
            yield group
            group = []
        group.append(line)
        if _is_persons(line):
            yield group
            group = []
    if group:
        yield group


def summary_part(data: Mapping[str, Any]) -> Raw:
    """Return the part that keeps what the SDK tells of a session as a whole."""
    return Raw(of=SUMMARY, items=[dict(data)])


def summaries(message: Message) -> list[Any]:
    """Return what the SDK told of the session as a whole when this was written."""
    return raw_items(message, SUMMARY) or []


def title_of(data: Mapping[str, Any]) -> str | None:
    """Return what a session is called, by a person, by the model, or by what it began with."""
    for name in ("custom_title", "ai_title", "first_prompt"):
        if isinstance(title := data.get(name), str) and title.strip():
            return storable(title.strip()[:200])
    return None


def _speaks(line: Line) -> bool:
    message = line.get("message")
    return (
        line.get("type") in ("user", "assistant")
        and line.get("isMeta") is not True
        and isinstance(message, dict)
        and message.get("role") == line["type"]
        and isinstance(message.get("content"), str | list)
    )


def _is_persons(line: Line) -> bool:
    return line["type"] == "user" and _speaks(line)


def _messages(line: Line) -> Iterator[Message]:
    content = line["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [block for block in blocks if isinstance(block, dict)]
    if line["type"] == "assistant":
        yield _answer(line, blocks)
        return
    results = [block for block in blocks if block.get("type") == "tool_result"]
    text = _text([block for block in blocks if block.get("type") != "tool_result"])
    for block in results:
        words = _text(block.get("content"))
        id = str(block.get("tool_use_id"))[:_MOST_ID] or "unknown"
        error = (words or "failed") if block.get("is_error") is True else None
        yield Message(role=Role.TOOL, content=words, tool_result=ToolResult(tool_call_id=id, error=error))
    if text or not results:
        yield Message(role=Role.USER, content=text)


def _answer(line: Line, blocks: Sequence[Line]) -> Message:
    thoughts = "\n\n".join(
        block["thinking"] for block in blocks if isinstance(block.get("thinking"), str) and block["thinking"]
    )
    model = line["message"].get("model")
    return Message(
        role=Role.ASSISTANT,
        content=_text([block for block in blocks if block.get("type") == "text"]),
        parts=(Reasoning(text=thoughts),) if thoughts else (),
        tool_calls=tuple(_call(block) for block in blocks if block.get("type") == "tool_use"),
        model=model if isinstance(model, str) else None,
    )


def _call(block: Line) -> ToolCall:
    args = block.get("input")
    return ToolCall(
        id=str(block.get("id"))[:_MOST_ID] or "unknown",
        name=str(block.get("name"))[:_MOST_NAME] or "unnamed",
        args=args if isinstance(args, dict) else {"input": args},
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [
        block["text"] if isinstance(block.get("text"), str) else f"[{block.get('type', 'data')}]"
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict)
    ]
    return "\n\n".join(texts)


FORM = Form(OF, said, lambda message: [])
"""What others write into a session (the page, another loop) is not part of the transcript, whose lines refer to each
other: only Claude Code writes them."""
