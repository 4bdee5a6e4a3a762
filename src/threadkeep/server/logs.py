"""Log lines: for people where there is a terminal, JSON for programs elsewhere; and where they go.

A thread writes the lines, so that a slow reader never delays an answer; lines that it cannot take are dropped and
counted. Messages of exceptions may have content: without `content` only their types and places are logged. Secrets of
the settings and the environment are taken out of every line.
"""

import json
import logging
import os
import queue
import threading
import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import Lease, TurnChange
from threadkeep.errors import Stopping
from threadkeep.server.middleware.headers import current_request_id
from threadkeep.server.middleware.tracking import RequestRecord
from threadkeep.text.secrets import hiding, named_secrets
from threadkeep.turn.observer import Observer

logger = logging.getLogger(__name__)

MOST_WAITING = 10_000
MOST_SAME, SAME_SECONDS = 10, 10.0
"""How often another package may log the same line in so many seconds."""
PATIENCE = 1.0
"""Seconds that the last lines get when logging ends."""


class LineFormatter(logging.Formatter):
    """What both formats share: the exception, and leaving out content and secrets."""

    def __init__(self, *, content: bool = False, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._content = content
        self._hide = hiding(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self._hide(self._line(record))

    @abstractmethod
    def _line(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""

    def _text(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.name == "asyncio" and not self._content:
            # The first line says what happened, the others show the task with its exception.
            return message.partition("\n")[0]
        return message

    def _trace(self, record: logging.LogRecord) -> str | None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return None
        if self._content:
            return "".join(traceback.format_exception(error)).rstrip()
        return "\n".join(_places(error)).rstrip()


def _places(error: BaseException) -> Iterator[str]:
    """Yield types and places of an exception and its causes, the first cause first."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _places(before)
        yield "and then:"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
    yield f"{type(error).__module__}.{type(error).__qualname__}"


class JsonLines(LineFormatter):
    """One JSON object for each line."""

    def _line(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._text(record),
            "request_id": getattr(record, "request_id", None),
            **getattr(record, "fields", {}),
            "trace": self._trace(record),
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}, default=str)


class HumanLines(LineFormatter):
    """A line to read, in local time; control characters in it are made visible."""

    def _line(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        id = getattr(record, "request_id", None)
        line = f"{at} {record.levelname.lower():<7} {_visible(self._text(record))}" + (f"  [{id}]" if id else "")
        for message in getattr(record, "fields", {}).get("messages", ()):
            line += f"\n         {message['role']}: {_visible(message['content'])}"
        trace = self._trace(record)
        return f"{line}\n{trace}" if trace else line


def _visible(text: str) -> str:
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _writer_to(stream: TextIO) -> Callable[[str], object]:
    """Return a function that writes to the file of a stream, or to the stream if it has none.

    A thread that hangs while writing to the stream would hold its lock, and the process could not end.
    """
    try:
        file = stream.fileno()
    except OSError:
        return stream.write

    def put(text: str) -> None:
        left = memoryview(text.encode(errors="backslashreplace"))
        while left:
            left = left[os.write(file, left) :]

    return put


class LineWriter(logging.Handler):
    """Writes lines in a thread of its own."""

    def __init__(self, stream: TextIO, formatter: LineFormatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._put = _writer_to(stream)
        self._records: queue.Queue[logging.LogRecord | None] = queue.Queue(MOST_WAITING)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="threadkeep-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        record.request_id = current_request_id()
        try:
            self._records.put_nowait(record)
        except queue.Full:
            self._dropped += 1

    def _write(self) -> None:
        while (record := self._records.get()) is not None:
            try:
                self._put(self.format(record) + "\n" + self._loss())
            except BrokenPipeError:
                return  # nobody reads any more
            except Exception:
                # A line that cannot be made, or a disk that is full, must not be the end of the log.
                self._dropped += 1

    def _loss(self) -> str:
        """Return a line that tells how many lines were dropped, if some were."""
        dropped, self._dropped = self._dropped, 0
        if not dropped:
            return ""
        told = f"{dropped} log lines were dropped: whoever reads them is too slow, or they could not be written"
        return self.format(logging.LogRecord(__name__, logging.WARNING, "", 0, told, (), None)) + "\n"

    def finish(self) -> None:
        """Write what is left, as long as somebody reads it."""
        try:
            self._records.put(None, timeout=PATIENCE)
        except queue.Full:
            return
        self._thread.join(PATIENCE)


class RepeatFilter(logging.Filter):
    """Drops useless lines of other packages.

    asyncio warns of every write to a client that has left, which is normal. Lines that repeat, such as one for every
    connection that a process without free files cannot accept, are logged a few times only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._told: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] == "threadkeep":
            return True
        if record.name == "asyncio" and record.msg.startswith("socket.send() raised exception"):
            return False
        if self._clock() - self._since >= SAME_SECONDS or len(self._told) > MOST_WAITING:
            self._since = self._clock()
            self._told.clear()
        line = (record.name, str(record.msg).partition("\n")[0])
        self._told[line] += 1
        return self._told[line] <= MOST_SAME


@contextmanager
def logging_to(
    stream: TextIO, *, level: str = "info", content: bool = False, secrets: Iterable[str] = ()
) -> Iterator[None]:
    """Log to a stream for the length of a block. Other packages' lines are logged only where they warn."""
    kind = HumanLines if stream.isatty() else JsonLines
    formatter = kind(content=content, secrets=[*secrets, *named_secrets(os.environ)])
    writer, root, ours = LineWriter(stream, formatter), logging.getLogger(), logging.getLogger("threadkeep")
    writer.addFilter(RepeatFilter())
    root.addHandler(writer)
    before = ours.level
    ours.setLevel(level.upper())
    try:
        yield
    finally:
        ours.setLevel(before)
        root.removeHandler(writer)
        writer.finish()


QUIET = ("/health/live", "/health/ready", "/metrics")
"""Requests of probes, which are logged only at the level `debug`."""


def has_failed(record: RequestRecord) -> bool:
    """Whether the server failed to answer; one that stops, or says that it is not ready, does what it should."""
    return record.status >= 500 and record.problem != Stopping.code and record.route not in QUIET


def log_request(record: RequestRecord) -> None:
    """Log a request, as a warning if the server failed: no query, no headers, no content."""
    level = logging.DEBUG if record.route in QUIET else logging.WARNING if has_failed(record) else logging.INFO
    if not logger.isEnabledFor(level):
        return
    asker = record.asker
    fields = {
        "method": record.method,
        "path": record.path,
        "route": record.route,
        "status": record.status,
        "duration_ms": round(record.seconds * 1000, 1),
        "client": record.client,
        "tenant": asker.tenant if asker else None,
        "user": asker.user if asker else None,
        "code": record.problem,
    }
    numbers = (record.method, record.path, record.status, record.seconds * 1000)
    logger.log(level, "%s %s %s in %.0f ms", *numbers, extra={"fields": fields})


class TurnLog(Observer):
    """Logs every turn that ends or waits; with `content`, the messages of the turn and the whole error, too."""

    def __init__(self, *, content: bool = False) -> None:
        self._content = content

    def settled(self, lease: Lease, change: TurnChange, seconds: float, entries: Sequence[Entry]) -> None:
        fields: dict[str, Any] = {
            "conversation": lease.conversation,
            "turn": lease.turn,
            "state": str(change.state),
            "duration_ms": round(seconds * 1000, 1),
            "tenant": lease.scope.tenant,
            "user": lease.scope.user,
        }
        if change.usage is not None:
            fields |= {"input_tokens": change.usage.input_tokens, "output_tokens": change.usage.output_tokens}
        if change.failure is not None:
            # The detail is what a provider said, which may repeat what it was asked.
            fields["error"] = str(change.failure) if self._content else change.failure.code
        if self._content:
            messages = [entry.body for entry in entries if isinstance(entry.body, Message)]
            fields["messages"] = [{"role": str(message.role), "content": message.content} for message in messages]
        numbers = (lease.turn, lease.conversation, change.state, seconds)
        logger.info("turn %s of %s: %s after %.1f s", *numbers, extra={"fields": fields})
