"""A program in a terminal of its own, as a person sits in front of it: type, and wait until something is shown."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

LOGIN = "import os, sys; os.login_tty(os.open(sys.argv[1], os.O_RDWR)); os.execv(sys.argv[2], sys.argv[2:])"
"""Makes the terminal the controlling one, so that Ctrl-C becomes a signal, and becomes the program."""

CTRL_C, CTRL_D = "\x03", "\x04"
PATIENCE = 60.0


class PseudoTerminal:
    """The master's side of the terminal. `shown` is everything that was on the screen so far."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self.process = process
        self.shown = ""
        self._seen = 0

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def press_until(self, key: str, text: str) -> str:
        """Press a key as a person does: again if nothing happens for a second. A signal that arrives in the instant
        between the prompt and the wait behind it does not wake Python's readline."""
        for _ in range(int(PATIENCE)):
            self.type(key)
            if self._appears(text, time.monotonic() + 1):
                break
        return self.wait_for(text)

    def wait_for(self, text: str) -> str:
        """Return what is shown from the last place on until the text has appeared."""
        assert self._appears(text, time.monotonic() + PATIENCE), f"{text!r} did not appear in:\n{self.shown}"
        before, self._seen = self._seen, self.shown.index(text, self._seen) + len(text)
        return self.shown[before : self._seen]

    def wait_for_end(self) -> int:
        """Read to the end and return the exit status."""
        limit = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < limit:
            self._read(0.05)
        while self._read(0):
            pass
        return self.process.wait(1)

    def _appears(self, text: str, limit: float) -> bool:
        while text not in self.shown[self._seen :]:
            if not self._read(limit - time.monotonic()):
                return False
        return True

    def _read(self, seconds: float) -> bool:
        """Take in what is shown next; False if nothing comes."""
        if not select.select([self._master], [], [], max(seconds, 0))[0]:
            return False
        try:
            self.shown += os.read(self._master, 65536).decode(errors="replace").replace("\r\n", "\n")
        except OSError:
            return False  # the other side is closed
        return True


@contextmanager
def running(folder: Path, *command: str, environment: Mapping[str, str] | None = None) -> Iterator[PseudoTerminal]:
    """A program in a terminal; it is killed at the end of the block if it still runs."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", LOGIN, os.ttyname(slave), *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "TERM": "dumb", "LANG": "C.UTF-8", **(environment or {})},
    )
    try:
        yield PseudoTerminal(master, process)
    finally:
        process.kill()
        process.wait()
        os.close(slave)
        os.close(master)
