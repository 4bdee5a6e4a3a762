"""A terminal, or a pipe in its place: shows what was asked for, and remarks beside it.

Without a terminal, what was asked for goes to the standard output, as it is, and remarks to the standard error.
"""

import re
from collections.abc import Mapping
from typing import TextIO

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

BOLD, DIM, ITALIC, UNDERLINED, CYAN = "1", "2", "3", "4", "36"


def paint(text: str, *styles: str) -> str:
    return f"\x1b[{';'.join(styles)}m{text}\x1b[0m" if text and styles else text


class Terminal:
    """Shows text."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]) -> None:
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self.is_screen = stdout.isatty()
        self.is_interactive = stdin.isatty() and self.is_screen
        self.is_styled = self.is_screen and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self._is_at_line_start = True

    def show(self, text: str) -> None:
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
        """Show an error, in one line."""
        self.end_line()
        print(f"threadkeep: {self.harmless(' '.join(str(reason).split()))}", file=self._stderr, flush=True)

    def harmless(self, text: str) -> str:
        """Return a text without escape sequences, which could do anything to a terminal."""
        return _CONTROLS.sub(_picture, text.replace("\r\n", "\n")) if self.is_screen else text

    def _start_line(self) -> None:
        if not self._is_at_line_start:
            self._stdout.write("\n")
            self._is_at_line_start = True


def _picture(control: re.Match[str]) -> str:
    """Return the sign that stands for a control character."""
    code = ord(control[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
