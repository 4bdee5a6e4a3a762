"""A terminal, or the pipes in its place: where lines come from, and where answers, remarks and complaints go.

Without a terminal, answers alone go to the standard output, as they are; remarks go beside them to the standard error.
"""

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from threadkeep.cli.markdown_stream import BOLD, DIM, MarkdownStream, PlainStream, TextStream, paint

try:
    import readline
except ImportError:  # some builds of Python have none; then a line is edited as the terminal does it
    HAS_READLINE = False
else:
    HAS_READLINE = True

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Terminal:
    """Reads lines and shows text."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]) -> None:
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self.is_screen = stdout.isatty()
        self.is_interactive = stdin.isatty() and self.is_screen
        self.is_styled = self.is_screen and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self._is_at_line_start = True

    def ask(self, prompt: str, text: str = "") -> str | None:
        """Return the next line, None at the end of the input. `text` is there to be edited. Ctrl-C is raised here."""
        with _raising_interrupts():
            if self.is_interactive:
                return self._edit(prompt, text)
            line = self._stdin.readline()
            return line.rstrip("\r\n") if line else None

    def _edit(self, prompt: str, text: str) -> str | None:
        self._start_line()
        try:
            with _prefilled(text):
                return input(f"\x01\x1b[{BOLD}m\x02{prompt}\x01\x1b[0m\x02" if self.is_styled else prompt)
        except EOFError:
            self._stdout.write("\n")
            return None
        except KeyboardInterrupt:
            self._stdout.write("\n")
            raise

    def stream(self) -> TextStream:
        """Return what marks up one message."""
        return MarkdownStream() if self.is_styled else PlainStream()

    def show(self, text: str) -> None:
        """Show a piece of an answer."""
        if text:
            self._stdout.write(text)
            self._stdout.flush()
            self._is_at_line_start = text.endswith("\n")

    def end_line(self) -> None:
        """Begin a new line unless nothing is on this one."""
        self._start_line()
        self._stdout.flush()

    def say(self, line: str = "") -> None:
        """Show a remark of ours."""
        self._start_line()
        out = self._stdout if self.is_screen else self._stderr
        line = self.harmless(line)
        print(paint(line, DIM) if self.is_styled else line, file=out, flush=True)

    def complain(self, reason: object) -> None:
        """Tell what went wrong, in one line."""
        self.end_line()
        print(f"threadkeep: {self.harmless(' '.join(str(reason).split()))}", file=self._stderr, flush=True)

    def harmless(self, text: str) -> str:
        """Return a text that does nothing to a screen but to be read: no escape sequence of somebody else."""
        return _CONTROLS.sub(_picture, text.replace("\r\n", "\n")) if self.is_screen else text

    def _start_line(self) -> None:
        if not self._is_at_line_start:
            self._stdout.write("\n")
            self._is_at_line_start = True


def _picture(control: re.Match[str]) -> str:
    """Return the sign that stands for a control character."""
    code = ord(control[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


@contextmanager
def _prefilled(text: str) -> Iterator[None]:
    """Have the next line begin with a text that can be edited."""
    if not text or not HAS_READLINE:
        yield
        return
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        yield
    finally:
        readline.set_startup_hook(None)


@contextmanager
def interrupts(heard: Callable[[], None]) -> Iterator[None]:
    """Have Ctrl-C heard instead of raised, except while a line is asked for."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        heard()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _raising_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
