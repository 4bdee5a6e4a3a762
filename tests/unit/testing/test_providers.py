"""The validators of providers' rules accept what is right and refuse every violation by the name of its rule."""

import json
from copy import deepcopy
from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment, Reasoning, attachment_kind
from threadkeep.llm.base import ModelOptions, Request, ToolSpec
from threadkeep.testing.providers import (
    PROVIDERS,
    ProviderRefusal,
    anthropic,
    check_everywhere,
    gemini,
    mistral,
    openai,
    openai_responses,
)

TOOLS = (ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}}),)


def call(id: str) -> ToolCall:
    return ToolCall(id=id, name="look", args={"at": "x"})


def result(id: str) -> Message:
    return Message(role=Role.TOOL, content="found", tool_result=ToolResult(tool_call_id=id))


GOOD = Request(
    messages=(
        Message(role=Role.SYSTEM, content="Be kind."),
        Message(role=Role.USER, content="hello"),
        Message(role=Role.ASSISTANT, tool_calls=(call("a"), call("b"))),
        result("a"),
        result("b"),
        Message(role=Role.ASSISTANT, content="Once more.", tool_calls=(call("c"),)),
        result("c"),
    ),
    tools=TOOLS,
    options=ModelOptions(temperature=0.5, top_p=0.9, max_tokens=100, stop=("END",), reasoning_effort="low"),
)
OPENAI = openai.body_of(GOOD)
RESPONSES = openai_responses.body_of(GOOD)
MISTRAL = mistral.body_of(GOOD)
ANTHROPIC = anthropic.body_of(GOOD)
GEMINI = gemini.body_of(GOOD)
USER = {"role": "user", "content": "hello"}
DELETED = object()


def changed(body: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """Return a body with one thing changed or deleted."""
    body = deepcopy(body)
    inner: Any = body
    for step in path[:-1]:
        inner = inner[step]
    if to is DELETED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return body


def text(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": one} for one in texts]}


def parts(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": one} for one in texts]}


def thinking(*thoughts: Reasoning) -> Request:
    """Return a request in which an answer with tool calls was thought about."""
    thought = GOOD.messages[5].model_copy(update={"parts": thoughts})
    return Request(messages=(*GOOD.messages[:5], thought, *GOOD.messages[6:]), tools=TOOLS)


def attached(kind: str, size: int = 1) -> Request:
    """Return a request with a file of this type."""
    file = Attachment(type=attachment_kind(kind), file="f", media_type=kind, size=size)
    return Request(messages=(Message(role=Role.USER, content="hello", parts=(file,)),))


FILES: list[tuple[str, Any]] = [
    ("file", attached("image/bmp")),
    ("file", attached("audio/ogg")),
    ("file", attached("text/csv")),
    ("file", attached("image/png", 50_000_001)),
]
CLAUDE = Reasoning(text="hm", payload={"signature": "s"}, model="claude")
GPT = Reasoning(payload={"id": "rs_1", "encrypted_content": "e"}, model="gpt")
FLASH = Reasoning(payload={"signature": "s"}, model="flash", call="c")
UNFINISHED = Reasoning(text="hm", model="claude")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
ITEM = {"type": "reasoning", "summary": [], "encrypted_content": "e"}
SAID = {"type": "message", "role": "user", "content": [{"type": "text", "text": "hello"}]}
ANSWERED = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]}

OPENAI_VIOLATIONS: list[tuple[str, Any]] = [
    ("foreign", thinking(CLAUDE)),
    ("messages", changed(OPENAI, "messages", to=[])),
    ("messages", changed(OPENAI, "messages", to=[USER] * 2049)),
    ("role", changed(OPENAI, "messages", 0, "role", to="narrator")),
    ("system", changed(OPENAI, "messages", 1, to={"role": "system", "content": "again"})),
    ("empty", changed(OPENAI, "messages", 1, "content", to=" \n")),
    ("empty", changed(OPENAI, "messages", to=[USER, {"role": "assistant", "content": ""}, USER])),
    ("text", changed(OPENAI, "messages", 1, "content", to="a\x00b")),
    ("text", changed(OPENAI, "messages", 1, "content", to="a\ud800b")),
    ("calls", changed(OPENAI, "messages", to=[USER, {"role": "assistant", "content": "x", "tool_calls": []}, USER])),
    ("calls", changed(OPENAI, "messages", 2, "tool_calls", to=OPENAI["messages"][2]["tool_calls"] * 65)),
    ("calls", changed(OPENAI, "messages", 1, "tool_calls", to=OPENAI["messages"][2]["tool_calls"])),
    ("answered", changed(OPENAI, "messages", 4, to=DELETED)),
    ("answered", changed(OPENAI, "messages", 6, to=DELETED)),
    ("answered", changed(OPENAI, "messages", 4, to=USER)),
    ("orphan", changed(OPENAI, "messages", 4, "tool_call_id", to="z")),
    ("orphan", changed(OPENAI, "messages", 4, "tool_call_id", to="a")),
    ("orphan", changed(OPENAI, "messages", 2, to=DELETED)),
    ("id", changed(OPENAI, "messages", 2, "tool_calls", 0, "id", to="x" * 41)),
    ("unique", changed(OPENAI, "messages", 2, "tool_calls", 1, "id", to="a")),
    ("unique", changed(OPENAI, "messages", 5, "tool_calls", 0, "id", to="a")),
    ("name", changed(OPENAI, "messages", 2, "tool_calls", 0, "function", "name", to="a.b")),
    ("name", changed(OPENAI, "tools", 0, "function", "name", to="")),
    ("arguments", changed(OPENAI, "messages", 2, "tool_calls", 0, "function", "arguments", to="[1]")),
    ("arguments", changed(OPENAI, "messages", 2, "tool_calls", 0, "function", "arguments", to='{"a"')),
    ("sampling", changed(OPENAI, "temperature", to=2.1)),
    ("sampling", changed(OPENAI, "stop", to=["."] * 5)),
    ("limit", changed(OPENAI, "max_completion_tokens", to=0)),
    ("last", changed(OPENAI, "messages", to=[USER, {"role": "assistant", "content": "x"}])),
]
RESPONSES_VIOLATIONS: list[tuple[str, Any]] = [
    *FILES,
    ("foreign", thinking(CLAUDE)),
    ("foreign", thinking(GPT, GPT.model_copy(update={"model": "other"}))),
    ("input", changed(RESPONSES, "input", to=[])),
    ("item", changed(RESPONSES, "input", 1, to={"type": "item_reference", "id": "rs_1"})),
    ("role", changed(RESPONSES, "input", 1, "role", to="narrator")),
    ("system", changed(RESPONSES, "input", 1, "role", to="system")),
    ("empty", changed(RESPONSES, "input", 1, "content", to=[])),
    ("empty", changed(RESPONSES, "input", 1, "content", 0, "text", to=" ")),
    ("text", changed(RESPONSES, "input", 1, "content", 0, "text", to="a\x00")),
    ("answered", changed(RESPONSES, "input", 4, to=SAID)),
    ("answered", changed(RESPONSES, "input", to=[*RESPONSES["input"][:-1], SAID])),
    ("orphan", changed(RESPONSES, "input", 4, "call_id", to="z")),
    ("id", changed(RESPONSES, "input", 2, "call_id", to="x" * 65)),
    ("id", changed(RESPONSES, "input", 3, "call_id", to="a")),
    ("name", changed(RESPONSES, "input", 2, "name", to="a.b")),
    ("name", changed(RESPONSES, "tools", 0, "name", to="")),
    ("arguments", changed(RESPONSES, "input", 2, "arguments", to="[1]")),
    ("reasoning", changed(RESPONSES, "input", to=[SAID, {"type": "reasoning", "summary": []}, ANSWERED, SAID])),
    ("following", changed(RESPONSES, "input", to=[SAID, ITEM, SAID])),
    ("sampling", changed(RESPONSES, "stop", to=["."])),
    ("limit", changed(RESPONSES, "max_output_tokens", to=1)),
    ("last", changed(RESPONSES, "input", to=[SAID, ANSWERED])),
]
MISTRAL_VIOLATIONS: list[tuple[str, Any]] = [
    ("foreign", thinking(CLAUDE)),
    ("messages", changed(MISTRAL, "messages", to=[])),
    ("system", changed(MISTRAL, "messages", 1, "role", to="system")),
    ("empty", changed(MISTRAL, "messages", 1, "content", to=" ")),
    ("either", changed(MISTRAL, "messages", 2, "content", to="I look.")),
    ("text", changed(MISTRAL, "messages", 1, "content", to="a\x00")),
    ("order", changed(MISTRAL, "messages", to=[USER, USER])),
    ("order", changed(MISTRAL, "messages", to=[*MISTRAL["messages"], USER])),
    ("answered", changed(MISTRAL, "messages", 4, to=DELETED)),
    ("answered", changed(MISTRAL, "messages", 4, "tool_call_id", to="zzzzzzzzz")),
    ("id", changed(MISTRAL, "messages", 2, "tool_calls", 0, "id", to="call_1")),
    ("id", changed(MISTRAL, "messages", 2, "tool_calls", 1, "id", to=MISTRAL["messages"][2]["tool_calls"][0]["id"])),
    ("name", changed(MISTRAL, "messages", 2, "tool_calls", 0, "function", "name", to="a.b")),
    ("name", changed(MISTRAL, "tools", 0, "function", "name", to="")),
    ("arguments", changed(MISTRAL, "messages", 2, "tool_calls", 0, "function", "arguments", to="[1]")),
    ("sampling", changed(MISTRAL, "temperature", to=2.1)),
    ("limit", changed(MISTRAL, "max_tokens", to=0)),
    ("last", changed(MISTRAL, "messages", to=[USER, {"role": "assistant", "content": "x"}])),
]
ANTHROPIC_VIOLATIONS: list[tuple[str, Any]] = [
    *FILES,
    ("foreign", thinking(GPT)),
    ("foreign", thinking(UNFINISHED)),
    ("thinking", changed(ANTHROPIC, "messages", 3, "content", 0, to={"type": "thinking", "thinking": "hm"})),
    ("thinking", changed(ANTHROPIC, "messages", 3, "content", 0, to={"type": "redacted_thinking"})),
    ("thinking_place", changed(ANTHROPIC, "messages", 3, "content", 1, to=THOUGHT)),
    ("messages", changed(ANTHROPIC, "messages", to=[])),
    ("system", changed(ANTHROPIC, "system", to=" ")),
    ("role", changed(ANTHROPIC, "messages", 1, "role", to="system")),
    ("first", changed(ANTHROPIC, "messages", 0, to=DELETED)),
    ("alternate", changed(ANTHROPIC, "messages", to=[text("user", "a"), text("user", "b")])),
    ("empty", changed(ANTHROPIC, "messages", 0, "content", to=[])),
    ("empty", changed(ANTHROPIC, "messages", 0, to=text("user", "hello", "\n"))),
    ("text", changed(ANTHROPIC, "messages", 2, "content", 0, "content", to="\x00")),
    ("block", changed(ANTHROPIC, "messages", 0, "content", to=ANTHROPIC["messages"][1]["content"])),
    ("results_first", changed(ANTHROPIC, "messages", 2, "content", 0, to={"type": "text", "text": "wait"})),
    ("answered", changed(ANTHROPIC, "messages", 2, "content", 1, to=DELETED)),
    ("answered", changed(ANTHROPIC, "messages", 4, to=DELETED)),
    ("orphan", changed(ANTHROPIC, "messages", 2, "content", 1, "tool_use_id", to="z")),
    ("orphan", changed(ANTHROPIC, "messages", 2, "content", 1, "tool_use_id", to="a")),
    ("id", changed(ANTHROPIC, "messages", 1, "content", 0, "id", to="a:1")),
    ("unique", deepcopy(ANTHROPIC)),
    ("name", changed(ANTHROPIC, "messages", 1, "content", 0, "name", to="x" * 65)),
    ("name", changed(ANTHROPIC, "tools", 0, "name", to="a b")),
    ("input", changed(ANTHROPIC, "messages", 1, "content", 0, "input", to=[])),
    ("tools", changed(ANTHROPIC, "tools", to=DELETED)),
    ("sampling", changed(ANTHROPIC, "temperature", to=1.1)),
    ("sampling", changed(ANTHROPIC, "stop_sequences", to=[" "])),
    ("sampling", changed(ANTHROPIC, "seed", to=1)),
    ("limit", changed(ANTHROPIC, "max_tokens", to=0)),
    ("last", changed(ANTHROPIC, "messages", to=[text("user", "a"), text("assistant", "b")])),
]
for _rule, _body in ANTHROPIC_VIOLATIONS:
    if _rule == "unique":
        _body["messages"][3]["content"][1]["id"] = _body["messages"][4]["content"][0]["tool_use_id"] = "a"
GEMINI_VIOLATIONS: list[tuple[str, Any]] = [
    *FILES,
    ("foreign", thinking(GPT)),
    ("signature", changed(GEMINI, "contents", 3, "parts", 1, "thoughtSignature", to="")),
    ("signature", changed(GEMINI, "contents", 3, "parts", 0, "thoughtSignature", to="s")),
    ("contents", changed(GEMINI, "contents", to=[])),
    ("system", changed(GEMINI, "systemInstruction", "parts", 0, "text", to="")),
    ("role", changed(GEMINI, "contents", 2, "role", to="function")),
    ("first", changed(GEMINI, "contents", to=GEMINI["contents"][1:])),
    ("first", changed(GEMINI, "contents", to=GEMINI["contents"][2:])),
    ("alternate", changed(GEMINI, "contents", to=[parts("user", "a"), parts("user", "b")])),
    ("alternate", changed(GEMINI, "contents", to=[*GEMINI["contents"], parts("user", "and?")])),
    ("empty", changed(GEMINI, "contents", 0, "parts", to=[])),
    ("empty", changed(GEMINI, "contents", 0, to=parts("user", "hello", ""))),
    ("text", changed(GEMINI, "contents", 0, to=parts("user", "\x00"))),
    ("part", changed(GEMINI, "contents", 0, "parts", to=GEMINI["contents"][1]["parts"])),
    ("part", changed(GEMINI, "contents", 0, "parts", 0, to={"text": "a", "functionCall": {}})),
    ("responses_only", changed(GEMINI, "contents", 2, "parts", 0, to={"text": "wait"})),
    ("answered", changed(GEMINI, "contents", 2, "parts", 1, to=DELETED)),
    ("answered", changed(GEMINI, "contents", 4, to=DELETED)),
    ("orphan", changed(GEMINI, "contents", 1, to=parts("model", "hi"))),
    ("matching", changed(GEMINI, "contents", 2, "parts", 0, "functionResponse", "name", to="find")),
    ("matching", changed(GEMINI, "contents", 2, "parts", 0, "functionResponse", "id", to="z")),
    ("unique", changed(GEMINI, "contents", 3, "parts", 1, "functionCall", "id", to="a")),
    ("name", changed(GEMINI, "contents", 1, "parts", 0, "functionCall", "name", to="1st")),
    ("name", changed(GEMINI, "tools", 0, "functionDeclarations", 0, "name", to="a b")),
    ("args", changed(GEMINI, "contents", 1, "parts", 0, "functionCall", "args", to="x")),
    ("args", changed(GEMINI, "contents", 2, "parts", 0, "functionResponse", "response", to="x")),
    ("sampling", changed(GEMINI, "generationConfig", to={"topP": "all"})),
    ("sampling", changed(GEMINI, "generationConfig", to={"stopSequences": ["."] * 6})),
    ("limit", changed(GEMINI, "generationConfig", to={"maxOutputTokens": 0})),
    ("last", changed(GEMINI, "contents", to=[parts("user", "a"), parts("model", "b")])),
]
VIOLATIONS = {
    "openai": OPENAI_VIOLATIONS,
    "openai_responses": RESPONSES_VIOLATIONS,
    "anthropic": ANTHROPIC_VIOLATIONS,
    "gemini": GEMINI_VIOLATIONS,
    "mistral": MISTRAL_VIOLATIONS,
}


def test_a_right_request_is_accepted_everywhere() -> None:
    check_everywhere(GOOD)
    check_everywhere(Request(messages=(Message(role=Role.USER, content="hello"),)))


@pytest.mark.parametrize(
    ("provider", "thought", "sent"),
    [
        (anthropic, CLAUDE, '{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text"'),
        (openai_responses, GPT, '{"type": "reasoning", "summary": [], "id": "rs_1", "encrypted_content": "e"}'),
        (gemini, FLASH, '"thoughtSignature": "s"'),
    ],
)
def test_reasoning_is_accepted_where_it_belongs(provider: Any, thought: Reasoning, sent: str) -> None:
    provider.check(thinking(thought))
    assert sent in json.dumps(provider.body_of(thinking(thought)))


def test_options_are_sent_under_each_provider_s_own_names() -> None:
    assert OPENAI["max_completion_tokens"] == ANTHROPIC["max_tokens"] == 100
    assert ANTHROPIC["stop_sequences"] == OPENAI["stop"] == ["END"]
    assert ANTHROPIC["output_config"] == {"effort": OPENAI["reasoning_effort"]}
    assert GEMINI["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "thinkingConfig": {"thinkingLevel": "low"},
    }


@pytest.mark.parametrize(
    ("provider", "rule", "body"),
    [(provider, rule, body) for provider, violations in VIOLATIONS.items() for rule, body in violations],
)
def test_each_violation_is_refused_by_the_name_of_its_rule(provider: str, rule: str, body: Any) -> None:
    check = PROVIDERS[provider].check if isinstance(body, Request) else PROVIDERS[provider].check_body
    with pytest.raises(ProviderRefusal) as refusal:
        check(body)
    assert refusal.value.rule == rule
    assert PROVIDERS[provider].RULES.sentences[rule] in str(refusal.value)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_rule_has_a_violation_here(provider: str) -> None:
    assert {rule for rule, _ in VIOLATIONS[provider]} == set(PROVIDERS[provider].RULES.sentences)


@pytest.mark.parametrize("provider", [anthropic, gemini])
def test_a_second_system_message_has_no_place_in_the_body(provider: Any) -> None:
    again = Message(role=Role.SYSTEM, content="again")
    with pytest.raises(ProviderRefusal, match="rule 'system'"):
        provider.check(Request(messages=(*GOOD.messages, again), tools=TOOLS))


def test_results_that_follow_each_other_travel_together() -> None:
    assert [len(message["content"]) for message in ANTHROPIC["messages"]] == [1, 2, 2, 2, 1]
    assert [len(content["parts"]) for content in GEMINI["contents"]] == [1, 2, 2, 2, 1]


def test_gemini_calls_without_ids_are_matched_by_name() -> None:
    body = deepcopy(GEMINI)
    for part in (part for content in body["contents"] for part in content["parts"]):
        for function in part.values():
            if isinstance(function, dict):
                function.pop("id")
    gemini.check_body(body)
