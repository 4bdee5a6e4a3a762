"""Runs `program.py`, which opens strangers' files, in separate processes: few at a time, each with a time limit.

A user has one file converted at a time, so users take turns however many files each of them sends.

A process gets no environment variables and no open files but its pipes. One that fails, is too slow or writes too much
is ended, and its file has no text or smaller image.
"""

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from threadkeep.conversion import IMAGE_SIDE, LARGEST_FILE, Converter
from threadkeep.errors import RateLimited

logger = logging.getLogger("threadkeep.conversion")

PROGRAM = Path(__file__).with_name("program.py")
AT_A_TIME = 2
MOST_WAITING = 20
"""How many files of one user wait or are converted; one more is refused."""
SECONDS = 20.0
MOST_TEXT = 50_000
"""How many characters are taken from one file."""
MOST_CACHED = 32 << 20
"""How many bytes of converted images are cached."""
ENTRY = 1000
"""What each cached image counts besides its bytes; one that need not be converted has none."""

_PDF = b"%PDF-"


class FileConverter(Converter):
    """Converts files in processes; images to `image_side` pixels (0: not at all)."""

    def __init__(self, image_side: int = IMAGE_SIDE) -> None:
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._turns: dict[Hashable, asyncio.Lock] = {}
        self._waiting: Counter[Hashable] = Counter()
        self._image_side = image_side if find_spec("PIL") else 0
        self._reads_pdf = find_spec("pypdf") is not None
        self._made: OrderedDict[str, bytes] = OrderedDict()

    async def text(self, data: bytes, user: Hashable) -> str:
        if data.startswith(_PDF) and not self._reads_pdf:
            logger.warning("the text of a PDF is not read, for models and search: pip install 'threadkeep[files]'")
            return ""
        written, _ = await self._run(data, user, "text", MOST_TEXT, 4 * MOST_TEXT + 100)
        return written.decode("utf-8", "ignore").strip()

    async def image(self, id: str, data: bytes, user: Hashable) -> bytes:
        if id not in self._made and self._image_side:
            with suppress(RateLimited):
                made, is_whole = await self._run(data, user, "image", self._image_side, LARGEST_FILE)
                self._made[id] = made if is_whole else b""
            while sum(ENTRY + len(image) for image in self._made.values()) > MOST_CACHED:
                self._made.popitem(last=False)
        return self._made.get(id) or data

    @asynccontextmanager
    async def _slot(self, user: Hashable) -> AsyncIterator[None]:
        """Wait for this user's turn. As each has one file at most in the queue for a slot, the queue is fair."""
        if self._waiting[user] >= MOST_WAITING:
            raise RateLimited(f"At most {MOST_WAITING} files of one user are read at a time.")
        self._waiting[user] += 1
        try:
            async with self._turns.setdefault(user, asyncio.Lock()), self._slots:
                yield
        finally:
            self._waiting[user] -= 1
            if not self._waiting[user]:
                del self._waiting[user], self._turns[user]

    async def _run(self, data: bytes, user: Hashable, wish: str, size: int, most: int) -> tuple[bytes, bool]:
        """Return what the program writes, at most so many bytes, and whether it ended successfully."""
        if len(data) > LARGEST_FILE:
            return b"", False
        async with self._slot(user):
            line = (sys.executable, "-I", "-B", str(PROGRAM), wish, str(size))
            process = await asyncio.create_subprocess_exec(*line, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={})
            feeding = asyncio.create_task(_feed(process, data))
            try:
                return await _written(process, most), process.returncode == 0
            finally:
                feeding.cancel()
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    with suppress(OSError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()


async def _written(process: Process, most: int) -> bytes:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    written = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while len(written) < most and (chunk := await process.stdout.read(most - len(written))):
                written += chunk
            if len(written) < most:
                await process.wait()
    return written
