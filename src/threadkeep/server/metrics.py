"""What is measured of a server, and `GET /metrics` for Prometheus: turns, tokens, requests, streams, commits, errors.

Names are permanent. Nothing is counted by tenant, user or conversation: metrics must not show who talks, and must stay
few. Each application has its own registry, and each process serves its own numbers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.responses import Response

from threadkeep import __version__
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.errors import NotAllowed
from threadkeep.server.identity.guards import Admin
from threadkeep.server.middleware.tracking import RequestRecord
from threadkeep.store.values import Appendable
from threadkeep.turn.observer import Observer

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the buckets of times."""


class _Registry(CollectorRegistry):
    """A registry without the `_created` samples, which would double the lines."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


class _Gauge(Collector):
    """A number that is read when metrics are collected; with a label, one for each value of it."""

    def __init__(self, name: str, about: str, ask: Callable[[], float | Mapping[str, float]], label: str) -> None:
        self._name, self._about, self._ask, self._label = name, about, ask, label

    def collect(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily(self._name, self._about, labels=[self._label] if self._label else [])
        answer = self._ask()
        for value, number in answer.items() if isinstance(answer, Mapping) else [("", answer)]:
            gauge.add_metric([value] if self._label else [], number)
        yield gauge


class ServerMetrics(Observer):
    """Counts what it is told by the engine and by the middleware."""

    def __init__(self) -> None:
        self._registry = registry = _Registry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"threadkeep_{name}", about, labels, registry=registry)

        def histogram(name: str, about: str, *labels: str) -> Histogram:
            return Histogram(f"threadkeep_{name}", about, labels, registry=registry, buckets=SECONDS)

        self._turns = counter("turns_total", "Turns by the state that they came to.", "state")
        self._left = counter("turns_left_total", "Turns left for recovery, by the error's code.", "code")
        self._turn = histogram("turn_seconds", "From the start of a turn to its end.", "state")
        self._text = histogram("first_text_seconds", "From the start of a turn to its first text.")
        self._tokens = counter("tokens_total", "Tokens that providers counted.", "direction")
        self._costs = counter("cost_total", "What answers cost by the prices that are set.", "currency")
        self._commits = histogram("commit_seconds", "Time until entries of a turn were on disk.")
        self._requests = counter("requests_total", "Requests answered.", "method", "route", "status")
        self._request = histogram("request_seconds", "Time to answer a request.", "method", "route")
        self._errors = counter("errors_total", "Requests refused or failed, by code.", "code")
        Info("threadkeep", "The release.", registry=registry).info({"version": __version__})

    def watch(self, name: str, about: str, ask: Callable[[], float | Mapping[str, float]], label: str = "") -> None:
        """Add a gauge that `ask` provides, with a label one for each of its values."""
        self._registry.register(_Gauge(name, about, ask, label))

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def answered(self, record: RequestRecord) -> None:
        method = record.method if record.method in METHODS else "other"
        self._requests.labels(method, record.route, record.status).inc()
        self._request.labels(method, record.route).observe(record.seconds)
        if record.problem is not None:
            self._errors.labels(record.problem).inc()

    # What the engine tells

    def spoke(self, lease: Lease, seconds: float) -> None:
        self._text.observe(seconds)

    def stored(self, lease: Lease, bodies: Sequence[Appendable], seconds: float) -> None:
        self._commits.observe(seconds)
        for body in bodies:
            if isinstance(body, Message) and body.usage is not None:
                self._tokens.labels("input").inc(body.usage.input_tokens)
                self._tokens.labels("output").inc(body.usage.output_tokens)
                if (cost := body.usage.cost) is not None:
                    self._costs.labels(cost.currency).inc(float(cost.amount))

    def settled(self, lease: Lease, change: TurnChange, seconds: float, entries: Sequence[Entry]) -> None:
        self._turns.labels(change.state).inc()
        self._turn.labels(change.state).observe(seconds)

    def left(self, lease: Lease, code: str) -> None:
        self._left.labels(code).inc()


def metrics_routes(metrics: ServerMetrics, operator: str | None) -> APIRouter:
    """The route for administrators of the operator's tenant: the numbers count all tenants together."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}, "description": "The text format of Prometheus."}},
    )
    async def show(who: Admin) -> Response:
        if who.scope.tenant != operator:
            raise NotAllowed
        return Response(metrics.render(), media_type=CONTENT_TYPE_PLAIN_0_0_4, headers={"Cache-Control": "no-store"})

    return router
