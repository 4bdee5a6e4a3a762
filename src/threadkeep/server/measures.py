"""What is measured of a server: its turns, tokens, requests, streams, commits and errors. Names are permanent.

Nothing is counted by tenant, user or conversation: numbers must not tell who talks, and their count must stay small.
"""

from collections.abc import Callable, Mapping, Sequence

from threadkeep import __version__
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.server.metrics import Counter, Gauge, Histogram, Metric, render
from threadkeep.server.middleware.tracking import RequestRecord
from threadkeep.store.base import Appendable
from threadkeep.turn.observer import Observer

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Measures(Observer):
    """Counts what it is told by the engine and by the middleware."""

    def __init__(self) -> None:
        self._turns = Counter("threadkeep_turns_total", "Turns by the state that they came to.", ["state"])
        self._left = Counter("threadkeep_turns_left_total", "Turns left for recovery, by the error's code.", ["code"])
        self._turn = Histogram("threadkeep_turn_seconds", "From the start of a turn to its end.", ["state"])
        self._text = Histogram("threadkeep_first_text_seconds", "From the start of a turn to its first text.")
        self._tokens = Counter("threadkeep_tokens_total", "Tokens that providers counted.", ["direction"])
        self._commits = Histogram("threadkeep_commit_seconds", "Time until entries of a turn were on disk.")
        self._requests = Counter("threadkeep_requests_total", "Requests answered.", ["method", "route", "status"])
        self._request = Histogram("threadkeep_request_seconds", "Time to answer a request.", ["method", "route"])
        self._errors = Counter("threadkeep_errors_total", "Requests refused or failed, by code.", ["code"])
        self._gauges = [Gauge("threadkeep_info", f"Threadkeep {__version__}.", lambda: 1)]

    def watch(self, name: str, about: str, ask: Callable[[], float | Mapping[str, float]], label: str = "") -> None:
        """Show a number that somebody else keeps, or one for each value of a label."""
        self._gauges.append(Gauge(name, about, ask, label))

    def render(self) -> str:
        """Return everything as Prometheus reads it."""
        counted: list[Metric] = [self._turns, self._left, self._turn, self._text, self._tokens, self._commits]
        answered: list[Metric] = [self._requests, self._request, self._errors]
        return render([*counted, *answered, *self._gauges])

    # What the server tells

    def answered(self, record: RequestRecord) -> None:
        """A request was answered."""
        method = record.method if record.method in METHODS else "other"
        self._requests.add(method, record.route, str(record.status))
        self._request.observe(record.seconds, method, record.route)
        if record.problem is not None:
            self._errors.add(record.problem)

    # What the engine tells

    def spoke(self, lease: Lease, seconds: float) -> None:
        self._text.observe(seconds)

    def stored(self, lease: Lease, bodies: Sequence[Appendable], seconds: float) -> None:
        self._commits.observe(seconds)
        for body in bodies:
            if isinstance(body, Message) and body.usage is not None:
                self._tokens.add("input", by=body.usage.input_tokens)
                self._tokens.add("output", by=body.usage.output_tokens)

    def settled(self, lease: Lease, change: TurnChange, seconds: float, entries: Sequence[Entry]) -> None:
        self._turns.add(str(change.state))
        self._turn.observe(seconds, str(change.state))

    def left(self, lease: Lease, code: str) -> None:
        self._left.add(code)
