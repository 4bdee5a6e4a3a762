"""OpenTelemetry: a real server tells a collector of its turns, in the trace that the client names, without content."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.browser.server import PATIENCE, Server
from tests.browser.stage import SETTINGS
from tests.collector import Sent, collecting
from threadkeep.llm.loading import NO_REAL_MODELS
from threadkeep.testing.openai_answers import says
from threadkeep.testing.openai_server import openai_server

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def collector() -> Iterator[tuple[str, Sent]]:
    """An endpoint, and what it was sent."""
    with collecting() as collector:
        yield collector


def told(sent: Sent) -> tuple[list[Span], set[str], str]:
    """Return all spans, the names of metrics, and everything as text."""
    spans, metrics, text = [], set(), ""
    while not sent.empty():
        path, body = sent.get()
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            text += str(traces)
            spans += [span for group in traces.resource_spans for scope in group.scope_spans for span in scope.spans]
        else:
            numbers = ExportMetricsServiceRequest.FromString(body)
            text += str(numbers)
            for group in numbers.resource_metrics:
                metrics |= {metric.name for scope in group.scope_metrics for metric in scope.metrics}
    return spans, metrics, text


def test_a_turn_is_a_trace_of_the_agent_its_models_and_tools(collector: tuple[str, Sent], tmp_path: Path) -> None:
    url, sent = collector
    server = Server(tmp_path, variables={"OTEL_EXPORTER_OTLP_ENDPOINT": url})
    server.start()
    id = httpx.post(f"{server.url}/v1/conversations", json={}, timeout=PATIENCE).json()["id"]
    httpx.post(
        f"{server.url}/v1/conversations/{id}/messages",
        json={"content": "What is 17 * 23?"},
        headers={"traceparent": f"00-{TRACE}-{PARENT}-01"},
        timeout=PATIENCE,
    ).raise_for_status()
    server.stop()
    spans, metrics, text = told(sent)
    by_name = {span.name: span for span in spans}
    assert sorted(span.name for span in spans) == ["chat demo", "chat demo", "execute_tool calculate", "invoke_agent"]
    turn = by_name["invoke_agent"]
    assert (turn.trace_id.hex(), turn.parent_span_id.hex()) == (TRACE, PARENT)
    assert {span.trace_id for span in spans} == {turn.trace_id}
    assert {span.parent_span_id for span in spans} == {turn.span_id, bytes.fromhex(PARENT)}
    about = {each.key: each.value.string_value for each in turn.attributes}
    assert (about["gen_ai.conversation.id"], about["threadkeep.turn.state"]) == (id, "completed")
    assert metrics == {"gen_ai.client.token.usage", "gen_ai.client.operation.duration"}
    assert "17 * 23" not in text
    assert re.search(r"(?<!\d)391(?!\d)", text) is None  # the digits may well be in a time
    for span in spans:
        assert turn.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano


async def test_a_provider_is_told_of_the_trace(collector: tuple[str, Sent], tmp_path: Path) -> None:
    async with openai_server(says("Hello."), says("A title")) as provider:
        variables = {"OPENAI_API_KEY": "played", "OPENAI_BASE_URL": provider.url, NO_REAL_MODELS: ""}
        served = Server(
            tmp_path, "--model", "openai:gpt-5", variables={"OTEL_EXPORTER_OTLP_ENDPOINT": collector[0], **variables}
        )
        await asyncio.to_thread(served.start)
        async with httpx.AsyncClient(base_url=served.url, timeout=PATIENCE) as client:
            path = (await client.post("/v1/conversations", json={})).headers["location"]
            for parent in (f"00-{TRACE}-{PARENT}-01", "00-nonsense-01"):
                headers = {"traceparent": parent}
                await client.post(f"{path}/messages", json={"content": "Hi"}, headers=headers)
        await asyncio.to_thread(served.stop)
    assert provider.headers[0]["traceparent"] == f"00-{TRACE}-{PARENT}-01"
    assert "traceparent" not in provider.headers[-1]


def test_a_turn_that_fails_says_by_which_code(collector: tuple[str, Sent], tmp_path: Path) -> None:
    url, sent = collector
    (tmp_path / "threadkeep.toml").write_text(SETTINGS, encoding="utf-8")
    server = Server(tmp_path, variables={"OTEL_EXPORTER_OTLP_ENDPOINT": url})
    server.start()
    conversations = f"{server.url}/v1/conversations"
    id = httpx.post(conversations, json={"assistant": "stage"}, timeout=PATIENCE).json()["id"]
    turn = httpx.post(f"{conversations}/{id}/messages", json={"content": "stumble"}, timeout=PATIENCE).json()["turn"]
    server.stop()
    (span,), _, _ = told(sent)
    about = {each.key: each.value.string_value for each in span.attributes}
    assert (turn["state"], about["error.type"]) == ("failed", turn["failure"]["code"])
    assert span.status.code == Status.STATUS_CODE_ERROR
