"""A bar that grows on the standard error while something takes its time; nothing at all where there is no terminal."""

from types import TracebackType
from typing import Self, TextIO

WIDTH = 30


class Progress:
    """How far it is. The line is wiped at the end, so that what is said afterwards stands alone."""

    def __init__(self, total: int, screen: TextIO) -> None:
        self._total = max(total, 1)
        self._screen = screen if screen.isatty() else None
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()

    def show(self, done: int, remark: str) -> None:
        """Draw the bar anew."""
        share = min(done / self._total, 1.0)
        bar = "█" * int(share * WIDTH)
        self._draw(f"{bar:░<{WIDTH}} {share:4.0%}  {remark}")

    def clear(self) -> None:
        """Wipe the bar away; the next `show` draws it again."""
        self._draw("")

    def _draw(self, line: str) -> None:
        if self._screen is not None and line != self._shown:
            self._screen.write(f"\r\x1b[K{line}")
            self._screen.flush()
            self._shown = line
