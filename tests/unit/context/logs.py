"""Logs for tests of the context: short ways to write one by hand, and any that can be reached, for hypothesis."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from threadkeep.context.base import Audience, Context, Cut, Material, Policy, Window
from threadkeep.context.build import build, plan
from threadkeep.context.lines import lines_of
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.blocks import Narrative, RankedList
from threadkeep.conversation.draft_text import without_marks
from threadkeep.conversation.entry import Body, Entry, Summary
from threadkeep.conversation.message import Message, MessageStatus, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment, Data, Part, Reasoning
from threadkeep.conversation.state import StateChange

READ = {"model", "accepts", "has_tools", "count"}
START = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)


def four_characters_each(message: Message) -> int:
    size = len(message.content) + sum(len(call.name) + len(str(call.args)) for call in message.tool_calls)
    return max(1, (size + 3) // 4)


def user(text: str = "question", **fields: Any) -> Message:
    return Message(id="m", role=Role.USER, content=text, **fields)


def system(text: str) -> Message:
    return Message(id="m", role=Role.SYSTEM, content=text)


def assistant(text: str = "answer", *calls: str, **fields: Any) -> Message:
    tool_calls = tuple(ToolCall(id=call, name="look", args={"at": call}) for call in calls)
    return Message(id="m", role=Role.ASSISTANT, content=text, tool_calls=tool_calls, **fields)


def cut_off(text: str, *calls: str) -> Message:
    return assistant(text, *calls, status=MessageStatus.INTERRUPTED)


def tool(call: str, text: str = "result", error: str | None = None) -> Message:
    return Message(id="m", role=Role.TOOL, content=text, tool_result=ToolResult(tool_call_id=call, error=error))


def entry(body: Body, seq: int, turn: int | None = None) -> Entry:
    return Entry(
        conversation="c",
        seq=seq,
        parent=seq - 1 or None,
        turn=turn,
        created_at=START + timedelta(minutes=seq),
        body=body,
    )


def entries(*bodies: Body, first: int = 1) -> tuple[Entry, ...]:
    return tuple(entry(body, seq) for seq, body in enumerate(bodies, first))


def material(*bodies: Body, **fields: Any) -> Material:
    """Return a material of these bodies, or of `entries`; the fields of an audience may stand among its own."""
    audience = Audience(**{"count": four_characters_each, **{name: fields.pop(name) for name in READ & fields.keys()}})
    lines = tuple(lines_of(fields.pop("entries", entries(*bodies)), audience))
    given = {"instructions": "", "turn": 0, "policy": Policy(), "budget": 100_000}
    return Material(audience=audience, lines=lines, **{**given, **fields})


def read_by(given: Material, **fields: Any) -> Material:
    """Return the material for another audience."""
    audience = replace(given.audience, **fields)
    entries = [line.entry for line in given.lines if line.entry is not None]
    return replace(given, audience=audience, lines=tuple(lines_of(entries, audience)))


def built(given: Material) -> Context:
    """Return the context of a material."""
    return build(plan(given))


def told(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    """Return role and text of each message, which is what most tests are about."""
    return [(str(message.role), message.content) for message in messages]


# Whatever a store can hold: a call's name and id as a provider may invent them, text with U+0000 and white space only.
_texts = st.one_of(
    st.sampled_from(["", " ", "\n\t", "\x00", "\u3000", "\u200b", "hello", "[No content]", "👩‍👩‍👧 é", "long " * 200]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)
_ids = st.one_of(
    st.sampled_from(["a", "b", "call_1", "a-2", "x" * 41, "x" * 42, "ä:1", "ä:2", "call 1"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=45),
)
_names = st.one_of(
    st.sampled_from(["look", "1st", "server__tool", "-", "a.b"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64),
)
_args = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.one_of(_texts, st.integers(), st.none(), st.lists(_texts, max_size=2)),
    max_size=2,
)
_calls = st.lists(st.builds(ToolCall, id=_ids, name=_names, args=_args), max_size=3).map(tuple)
_statuses = st.sampled_from(MessageStatus)
_tokens = st.one_of(st.none(), st.integers(0, 50))
_blocks = st.lists(
    st.one_of(
        st.builds(Narrative, text=_texts),
        st.builds(
            RankedList, rows=st.lists(st.dictionaries(st.sampled_from(["ticker", "name", "x"]), _texts), max_size=7)
        ),
    ),
    max_size=2,
).map(tuple)
_id = st.just("m")
MODELS: dict[str, st.SearchStrategy[dict[str, str] | None]] = {
    "anthropic:m": st.sampled_from([{"signature": "s"}, {"data": "d"}]),
    "openai_responses:m": st.just({"id": "rs_1", "encrypted_content": "e"}),
    "gemini:m": st.just({"signature": "s"}),
    "openai:m": st.none(),
    "mistral:m": st.none(),
}
"""Models by the provider whose rules they have, and what it wants back of their reasoning."""


@st.composite
def _thoughts(draw: st.DrawFn) -> Reasoning:
    model = draw(st.sampled_from(sorted(MODELS)))
    payload = draw(st.one_of(st.none(), MODELS[model], MODELS[model]))
    text, call = draw(_texts.map(without_marks)), draw(st.one_of(st.none(), _ids)) if payload else None
    is_of_call = model == "gemini:m"
    return Reasoning(text=text, model=model, payload=payload if call or not is_of_call else None, call=call)


_shown: st.SearchStrategy[Part] = st.one_of(
    st.builds(
        Attachment,
        type=st.sampled_from(["image", "audio", "file"]),
        file=st.just("f-1"),
        media_type=st.sampled_from(
            ["image/png", "image/tiff", "audio/mpeg", "audio/ogg", "application/pdf", "text/csv"]
        ),
        size=st.sampled_from([0, 10_000, 100_000_000]),
        extract=_texts,
    ),
    st.builds(Data, data=st.dictionaries(_texts, _texts, max_size=2)),
    st.just(Part.model_validate({"type": "from_the_future", "x": 1})),
)


@st.composite
def _with_parts(draw: st.DrawFn, messages: st.SearchStrategy[Message]) -> Message:
    """Return a message with parts anywhere in its text, reasoning among them if an assistant speaks."""
    message = draw(messages)
    kinds = st.one_of(_shown, _thoughts(), _thoughts()) if message.role is Role.ASSISTANT else _shown
    places = st.integers(0, len(message.content))
    parts: list[Part] = []
    for part in draw(st.lists(kinds, max_size=3)):
        changed: dict[str, Any] = {"at": draw(places)}
        if isinstance(part, Reasoning) and part.call and message.tool_calls:
            changed["call"] = draw(st.sampled_from([call.id for call in message.tool_calls]))
        parts.append(part.model_copy(update=changed))
    return message.model_copy(update={"parts": tuple(parts)})


_plain_bodies = st.one_of(
    st.builds(Message, id=_id, role=st.just(Role.USER), content=_texts, tokens=_tokens),
    st.builds(Message, id=_id, role=st.just(Role.SYSTEM), content=_texts),
    st.builds(
        Message,
        id=_id,
        role=st.just(Role.ASSISTANT),
        content=_texts,
        blocks=_blocks,
        tool_calls=_calls,
        status=_statuses,
        tokens=_tokens,
    ),
    st.builds(
        Message,
        id=_id,
        role=st.just(Role.TOOL),
        content=_texts,
        tool_result=st.builds(ToolResult, tool_call_id=_ids, error=st.one_of(st.none(), _texts)),
    ),
)
bodies = st.one_of(_plain_bodies, _with_parts(_plain_bodies), st.builds(StateChange, set=st.just({"a": 1})))
policies = st.builds(
    Policy,
    window=st.sampled_from(Window),
    size=st.one_of(st.integers(0, 12), st.integers(0, 3000)),
    recall=st.booleans(),
    summary=st.booleans(),
)


@st.composite
def materials(draw: st.DrawFn) -> Material:
    """Return any material: a log cut anywhere, its current question named by number or only by its place."""
    log = draw(st.lists(bodies, max_size=14))
    numbers = draw(st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=len(log), max_size=len(log)))
    branch = tuple(entry(body, seq, turn) for seq, (body, turn) in enumerate(zip(log, numbers, strict=True), 1))
    branch = branch[draw(st.integers(0, len(branch))) :]
    places = st.integers(0, len(log) + 1)
    earlier = tuple(entry(body, seq) for seq, body in enumerate(draw(st.lists(bodies, max_size=4)), 1))
    return material(
        instructions=draw(_texts),
        entries=branch,
        turn=draw(st.integers(0, 4)),
        policy=draw(policies),
        budget=draw(st.one_of(st.integers(-5, 60), st.integers(60, 5000))),
        cut=Cut(first=draw(places), masked=draw(places)),
        opening=tuple(one for one in branch[:1] if draw(st.booleans())),
        summary=draw(st.one_of(st.none(), _texts.map(lambda text: entry(Summary(content=text), 99)))),
        recalled=earlier,
        earlier=tuple(reversed(branch)),
        passages=tuple(draw(st.lists(_texts, max_size=3))),
        notes=tuple(draw(st.lists(_texts, max_size=2))),
        has_tools=draw(st.booleans()),
        count=draw(st.sampled_from([four_characters_each, count_tokens])),
    )
