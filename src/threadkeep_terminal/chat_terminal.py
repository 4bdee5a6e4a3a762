"""The terminal of a chat, or pipes in its place: it also asks for lines, which can be edited."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from threadkeep_commands.terminal import BOLD, DIM, Terminal, paint

try:
    import readline
except ImportError:  # some builds of Python have none; then a line is edited as the terminal does it
    HAS_READLINE = False
else:
    HAS_READLINE = True


class ChatTerminal(Terminal):
    """Reads lines and shows text."""

    def ask(self, prompt: str, text: str = "") -> str | None:
        """Return the next line, None at the end of the input; it begins with `text`, to be edited. Ctrl-C is raised."""
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

    def murmur(self, text: str) -> None:
        """Show what a model thinks: dimmed, and on a screen only."""
        if self.is_screen:
            self.show(paint(self.harmless(text), DIM) if self.is_styled else self.harmless(text))


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
    """Call a function at Ctrl-C instead of raising, except while a line is asked for."""

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
