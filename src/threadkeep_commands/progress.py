"""A bar that tells how far a long command is."""

from types import TracebackType
from typing import Self, TextIO

WIDTH = 30


class Progress:
    """A progress bar, which is erased at the end."""

    def __init__(self, total: int, screen: TextIO) -> None:
        self._total = max(total, 1)
        self._screen = screen if screen.isatty() else None
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()

    def show(self, done: int, remark: str) -> None:
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
