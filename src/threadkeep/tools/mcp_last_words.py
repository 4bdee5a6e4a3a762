"""What a server process wrote to its standard error last: the reason to show when it does not start or dies.

The text is read by a thread, because a process that nobody reads from stops at a full pipe.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_KEPT_LINES = 5
_KEPT_CHARACTERS = 300
_READING_SECONDS = 1.0

_log = logging.getLogger(__name__)


class LastWords:
    """The end of what one process wrote to its standard error; empty where there is no process."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reader: threading.Thread | None = None

    @contextmanager
    def file(self) -> Iterator[TextIO]:
        """Open the file to hand to the process as its standard error."""
        reading, writing = os.pipe()
        self._reader = threading.Thread(target=self._read, args=(reading,), name="mcp-stderr", daemon=True)
        self._reader.start()
        with os.fdopen(writing, "w") as file:
            yield file

    async def text(self) -> str:
        """Return the last lines. The file is closed and the process has ended, so that there is little to wait for."""
        if self._reader is not None:
            await asyncio.to_thread(self._reader.join, _READING_SECONDS)
        return "\n".join(self._lines)[-_KEPT_CHARACTERS:]

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "r", encoding="utf-8", errors="replace") as pipe:
            for line in pipe:
                _log.debug("%s: %s", self._server, line.rstrip())
                if line.strip():
                    self._lines.append(line.strip())
