"""Nothing fails unseen: a server of ours that answers 5xx, or logs a traceback, fails the test that it serves.

In this process the answers and the log are watched; of a server in a process of its own, what it wrote to its log is
read. A test that makes the server fail on purpose says so with `@pytest.mark.server_may_fail`.
"""

import json
import logging
from asyncio import CancelledError
from collections.abc import Iterator

import pytest

from threadkeep.server import app
from threadkeep.server.logs import has_failed, log_request
from threadkeep.server.middleware.tracking import RequestRecord

MARK = "server_may_fail"
LOGGERS = ("", "uvicorn.error")
"""uvicorn hands its lines to nobody else."""
_seen: list[str] = []


class _Watcher(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        # asyncio takes the end of a connection's task for a failure where a server of a test is stopped.
        if record.levelno >= logging.ERROR and record.exc_info and record.exc_info[0] is not CancelledError:
            _seen.append(self.format(record))


def _watch_request(record: RequestRecord) -> None:
    log_request(record)
    if has_failed(record):
        _seen.append(f"{record.method} {record.route} was answered with {record.status} {record.problem}")


def note_log(text: str) -> None:
    """Note what went wrong according to the log of a server that was a process of its own."""
    for line in text.splitlines():
        if line.startswith("{"):
            said = json.loads(line)
            if said.get("status", 0) >= 500 or (said["level"] == "error" and "trace" in said):
                _seen.append(line)
        elif line.startswith("Traceback"):
            _seen.append(text[text.index(line) :])
            return


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: this test makes a server fail, so 5xx and tracebacks are expected")
    vars(app)["log_request"] = _watch_request
    for name in LOGGERS:
        logging.getLogger(name).addHandler(_Watcher())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield
    seen = _seen.copy()
    _seen.clear()
    if seen and item.get_closest_marker(MARK) is None:
        pytest.fail("the server failed:\n" + "\n".join(seen), pytrace=False)
