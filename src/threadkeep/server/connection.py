"""One connection of a client, as uvicorn speaks it, with two things more.

The head of a request has a limit: its parser would take one that never ends. And what is no HTTP is answered with a
problem, like everything else.
"""

from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from threadkeep.server.problems import problem

MOST_HEAD_BYTES = 64 * 1024


class Connection(HttpToolsProtocol):
    """What `threadkeep serve` gives to uvicorn."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._is_head = False
        self._head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take what arrived; give up a head that has not ended within the limit."""
        super().data_received(data)
        if self._is_head:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._tell_problem(431, "head_too_large", f"The head of a request has at most {MOST_HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Note that a head begins."""
        self._is_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that it has ended."""
        self._is_head = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._tell_problem(400, "invalid_http", "This is no HTTP request.")

    def _tell_problem(self, status: int, code: str, detail: str) -> None:
        """Answer with a problem and hang up; a request that came before is still answered, and then nothing more."""
        if self.transport.is_closing():
            return
        # uvicorn does not say that there is none before the first request.
        before: RequestResponseCycle | None = self.cycle
        if before is not None and not before.response_complete:
            before.keep_alive = False
            self.flow.pause_reading()
            return
        answer = problem(status, code, detail, {"Connection": "close"})
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()
