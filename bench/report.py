"""The report of a benchmark: plain tables, bars that are met or not, and a line of progress on a terminal.

python -m bench.report           all bars of the benchmarks that were run since, in one table
python -m bench.report --forget  begin a new table
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

BARS = Path(__file__).parents[1] / "build" / "bars.md"
"""Where the rows of the table are kept until it is shown."""


class Report:
    """Writes what was measured as it comes, in Markdown."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._missed = 0
        self._chapter = ""
        self._bars = 0

    def title(self, text: str) -> None:
        """Begin a chapter."""
        self._chapter = text
        self._say(f"\n## {text}\n")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table."""
        self._say(f"\n{title}\n")
        self._say("| " + " | ".join(columns) + " |")
        self._say("|" + " --- |" * len(columns))
        for row in rows:
            self._say("| " + " | ".join(row) + " |")
        self._say("")

    def bar(self, what: str, value: float, *, at_most: float | None = None, at_least: float | None = None) -> None:
        """Show a number beside the bar that it is held against."""
        met = value <= at_most if at_most is not None else value >= (at_least or 0)
        limit = f"<= {at_most:g}" if at_most is not None else f">= {at_least:g}"
        self._bars += 1
        self._missed += not met
        self._say(f"- {what}: {value:.2f} ({limit}: {'reached' if met else 'MISSED'})")
        BARS.parent.mkdir(exist_ok=True)
        with BARS.open("a", encoding="utf-8") as file:
            file.write(f"| {self._chapter} | {what} | {value:.2f} | {limit} | {'' if met else 'MISSED'} |\n")

    def note(self, text: str) -> None:
        """Show a fact."""
        self._say(f"- {text}")

    def progress(self, what: str, share: float) -> None:
        """Show how far a long preparation is, where somebody may be looking."""
        if self._out.isatty():
            self._out.write(f"\r{what}: {share:4.0%}\033[K" + ("\r\033[K" if share >= 1 else ""))
            self._out.flush()

    def close(self) -> None:
        """Sum up."""
        self._say(f"\n{self._bars - self._missed} of {self._bars} bars reached")

    def _say(self, line: str) -> None:
        self._out.write(line + "\n")
        self._out.flush()


def main() -> None:
    """Show the table, or begin a new one."""
    if "--forget" in sys.argv:
        BARS.unlink(missing_ok=True)
    elif BARS.exists():
        head = "\n## All bars\n\n| | what | measured | bar | |\n| --- | --- | --- | --- | --- |\n"
        sys.stdout.write(head + BARS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
