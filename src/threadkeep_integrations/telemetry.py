"""Turns for OpenTelemetry, by its conventions for generative AI: `invoke_agent` with `chat` and `execute_tool` in it.

Spans are made when a turn ends or pauses, from the entries that it wrote, so that they cost nothing while it runs. They
hold names, numbers and ids, never content. The turn that a request begins belongs to the trace that its `traceparent`
names, and so do the calls of providers that it makes. Off unless the environment names a collector; the exporter reads
the other `OTEL_…` variables itself.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from opentelemetry import context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import extract
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from threadkeep import __version__
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role, ToolResult
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.llm.base import trace_parent
from threadkeep.turn.observer import Observer

_PARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
NANO = 1_000_000_000
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


class Telemetry(Observer):
    """Sends turns to a collector, in the background and in batches; what it cannot take is dropped."""

    def __init__(self) -> None:
        named = Resource({SERVICE_NAME: "threadkeep", SERVICE_VERSION: __version__})
        resource = named.merge(OTELResourceDetector().detect())
        self._traces = TracerProvider(resource=resource)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._metrics = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource=resource)
        self._tracer = self._traces.get_tracer("threadkeep", __version__)
        meter = self._metrics.get_meter("threadkeep", __version__)
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens.", explicit_bucket_boundaries_advisory=TOKENS
        )
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "How long.", explicit_bucket_boundaries_advisory=SECONDS
        )

    def surround(self, app: Any) -> None:
        """Put everything that a request causes into the trace that the request names."""
        app.add_middleware(_TakeTraces)

    def close(self) -> None:
        """Send what is left."""
        self._traces.shutdown()
        self._metrics.shutdown()

    def settled(self, lease: Lease, change: TurnChange, seconds: float, entries: Sequence[Entry]) -> None:
        end = time.time_ns()
        begin = end - int(seconds * NANO)
        common = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": lease.conversation}
        about = {**common, "threadkeep.turn": lease.turn, "threadkeep.turn.state": change.state.value}
        turn = self._tracer.start_span("invoke_agent", kind=SpanKind.INTERNAL, start_time=begin, attributes=about)
        if change.failure is not None:
            _fail(turn, change.failure.code)
        inside = set_span_in_context(turn)
        names: dict[str, str] = {}
        before = begin
        for entry, message in _messages(entries):
            names |= {call.id: call.name for call in message.tool_calls}
            done = _nanoseconds(entry.created_at)
            if message.role is Role.ASSISTANT and done >= begin:
                self._chat(message, lease, before, done, inside)
            if message.tool_result is not None and done >= begin:
                self._tool(message.tool_result, names, done, inside)
            before = max(before, done)
        turn.end(end)

    def _chat(self, message: Message, lease: Lease, begin: int, end: int, inside: context.Context) -> None:
        """Make the span of one model call, which began when the entry before it was stored."""
        provider, _, model = (message.model or "").rpartition(":")
        about: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        about |= {"gen_ai.provider.name": provider or model}
        usage = message.usage
        counts = {} if usage is None else {"input": usage.input_tokens, "output": usage.output_tokens}
        span = self._tracer.start_span(
            f"chat {model}", context=inside, kind=SpanKind.CLIENT, start_time=begin, attributes=about
        )
        span.set_attribute("gen_ai.conversation.id", lease.conversation)
        for direction, count in counts.items():
            span.set_attribute(f"gen_ai.usage.{direction}_tokens", count)
            self._tokens.record(count, {**about, "gen_ai.token.type": direction})
        span.end(end)
        self._seconds.record((end - begin) / NANO, about)

    def _tool(self, result: ToolResult, names: Mapping[str, str], end: int, inside: context.Context) -> None:
        name = names.get(result.tool_call_id, "unknown")
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        about |= {"gen_ai.tool.call.id": result.tool_call_id}
        begin = end - (result.duration_ms or 0) * 1_000_000
        span = self._tracer.start_span(f"execute_tool {name}", context=inside, start_time=begin, attributes=about)
        if result.error is not None:
            _fail(span, "tool_error")
        span.end(end)


class _TakeTraces:
    """Takes in `traceparent`, for our own spans and for the providers that are asked."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            # Never detached: every request runs in a task of its own.
            context.attach(extract(headers))
            given = headers.get("traceparent", "")
            trace_parent.set(given if _PARENT.fullmatch(given) else None)
        await self._app(scope, receive, send)


def _fail(span: Span, code: str) -> None:
    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR))


def _messages(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Message]]:
    return ((entry, entry.body) for entry in entries if isinstance(entry.body, Message))


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * NANO)
