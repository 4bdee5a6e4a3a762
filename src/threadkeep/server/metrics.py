"""What is measured of a server, and `GET /metrics` for Prometheus: turns, tokens, requests, streams, commits, errors.

Names are permanent. Nothing is counted by tenant, user or conversation: metrics must not show who talks, and must stay
few. Each application has its own registry. The workers of a server keep their numbers in files of one folder, where any
of them adds all of them up; what a dead one counted stays.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest, values
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
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
TOLD_EVERY = 1.0
"""Seconds after which a worker tells the others anew what is watched here."""
Ask = Callable[[], float | Mapping[str, float]]


class _Registry(CollectorRegistry):
    """A registry without the `_created` samples, which would double the lines."""

    def collect(self) -> Iterator[Metric]:
        for metric in super().collect():
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


def count_in_files(folder: Path, worker: int) -> None:
    """Let this process keep its numbers in files of a folder; the worker of this number before it left them there."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]


class ServerMetrics(Observer):
    """Counts what it is told by the engine and by the middleware; in a folder together with other workers."""

    def __init__(self, folder: Path | None = None) -> None:
        self._registry = registry = _Registry()
        self._watched: list[tuple[Gauge, Ask]] = []
        self._folder = folder

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
        if folder is not None:
            self._registry = _Registry()
            MultiProcessCollector(self._registry, str(folder))  # type: ignore[no-untyped-call]
        Info("threadkeep", "The release.", registry=self._registry).info({"version": __version__})

    def watch(
        self,
        name: str,
        about: str,
        ask: Ask,
        label: str = "",
        of_all: Literal["livesum", "livemax", "livemin"] = "livesum",
    ) -> None:
        """Add a gauge that `ask` provides, with a label one for each of its values, and what it is for all workers."""
        registry = self._registry if self._folder is None else None
        gauge = Gauge(name, about, [label] if label else [], registry=registry, multiprocess_mode=of_all)
        self._watched.append((gauge, ask))

    def look(self) -> None:
        """Ask for what is watched."""
        for gauge, ask in self._watched:
            answer = ask()
            for value, number in answer.items() if isinstance(answer, Mapping) else [(None, answer)]:
                (gauge if value is None else gauge.labels(value)).set(number)

    async def keep_looking(self) -> None:
        """Tell the other workers what is watched here, for ever."""
        while self._folder is not None:
            self.look()
            await asyncio.sleep(TOLD_EVERY)

    def render(self) -> bytes:
        self.look()
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
