"""The bar: on a terminal only, and gone at the end."""

import io

from threadkeep_commands.progress import Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_grows_on_a_terminal_and_is_wiped_at_the_end() -> None:
    screen = Screen()
    with Progress(200, screen) as progress:
        progress.show(100, "a.md")
        assert "█" * 15 + "░" * 15 + "  50%  a.md" in screen.getvalue()
        progress.show(500, "b.md")
        assert "100%  b.md" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_without_a_terminal_nothing_is_written() -> None:
    pipe = io.StringIO()
    with Progress(0, pipe) as progress:
        progress.show(1, "a.md")
    assert pipe.getvalue() == ""
