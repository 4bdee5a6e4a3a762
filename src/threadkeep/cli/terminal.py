"""A terminal, or pipes in its place: reads lines, and shows answers, remarks and errors.

Without a terminal, answers alone go to the standard output, as they are; remarks go beside them to the standard error.
Markdown is marked up as it comes. Text is held back only while it could still become something else: a marker at the
beginning of a line, or a span such as **bold** that is not closed yet, to the end of its line at most.
"""

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

try:
    import readline
except ImportError:  # some builds of Python have none; then a line is edited as the terminal does it
    HAS_READLINE = False
else:
    HAS_READLINE = True

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

BOLD, DIM, ITALIC, UNDERLINED, CYAN = "1", "2", "3", "4", "36"

LONGEST_SPAN = 400
"""Characters that are held back while a span is open; a longer one is not marked."""

_UNDECIDED = re.compile(r"\s*(?:#{0,6}|[-+*_ ]*|`{0,2}|`{3}.*|>)\s*")
_UNDECIDED_CODE = re.compile(r"\s*`*\s*")
_FENCE = re.compile(r"\s*(`{3,})[^`]*")
_CLOSING_FENCE = re.compile(r"\s*(`{3,})\s*")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_HEADING = re.compile(r"(?P<level>#{1,6})\s+(?=\S)")
_ITEM = re.compile(r"(?P<indent>\s*)[-*+]\s+(?=\S)")
_QUOTE = re.compile(r">\s?")
_MARKER = re.compile(r"`+|\*+")
_SPAN = re.compile(r"`(?P<code>[^`]+)`(?!`)|\*\*(?P<bold>[^\s*](?:.*?\S)??)\*\*|\*(?P<italic>[^\s*](?:[^*]*[^\s*])?)\*")
_STYLES = {"code": CYAN, "bold": BOLD, "italic": ITALIC}


class MarkdownStream:
    """Marks up one message, piece by piece; without styles it is shown as it is."""

    def __init__(self, *, is_styled: bool = True) -> None:
        self._is_styled = is_styled
        self._held = ""
        self._fence = ""
        self._is_begun = False
        self._before = ""
        self._styles: tuple[str, ...] = ()

    def feed(self, text: str) -> str:
        """Take in more text; return what can be shown by now."""
        if not self._is_styled:
            return text
        shown = []
        *lines, rest = (self._held + text).split("\n")
        for line in lines:
            shown.append(self._show(line, is_whole=True) + "\n")
            self._is_begun, self._before, self._styles = False, "", ()
        shown.append(self._show(rest, is_whole=False))
        return "".join(shown)

    def finish(self) -> str:
        """Return what was held back; the text is over."""
        return self._show(self._held, is_whole=True) if self._is_styled else ""

    def _show(self, text: str, *, is_whole: bool) -> str:
        """Return what can be shown of the rest of a line, and hold back the other part of it."""
        self._held = ""
        undecided = _UNDECIDED_CODE if self._fence else _UNDECIDED
        if self._is_begun:
            return self._inline(text, is_whole)
        if not is_whole and undecided.fullmatch(text):
            self._held = text
            return ""
        self._is_begun = True
        opening, rest = self._begin(text, is_whole)
        return opening + self._inline(rest, is_whole)

    def _begin(self, text: str, is_whole: bool) -> tuple[str, str]:
        """Return the marker of a line as it is shown, and the text behind it; the line's style is set."""
        fence = (_CLOSING_FENCE if self._fence else _FENCE).fullmatch(text) if is_whole else None
        if fence and fence[1].startswith(self._fence):
            self._fence = "" if self._fence else fence[1]
            return paint(text, DIM), ""
        if self._fence:
            self._styles = (CYAN,)
            return "", text
        if is_whole and _RULE.fullmatch(text):
            return paint("─" * 24, DIM), ""
        if heading := _HEADING.match(text):
            self._styles = (BOLD, UNDERLINED) if len(heading["level"]) == 1 else (BOLD,)
            return "", text[heading.end() :]
        if item := _ITEM.match(text):
            return f"{item['indent']}• ", text[item.end() :]
        if quote := _QUOTE.match(text):
            self._styles = (ITALIC,)
            return paint("│ ", DIM), text[quote.end() :]
        return "", text

    def _inline(self, text: str, is_whole: bool) -> str:
        """Return the text with its spans marked, as far as they are closed."""
        if self._fence:
            return paint(text, *self._styles)
        shown, place = [], 0
        while marker := _MARKER.search(text, place):
            shown.append(self._plain(text[place : marker.start()]))
            span = _SPAN.match(text, marker.start()) if self._may_open(marker) else None
            if span and (is_whole or span.end() < len(text)):
                kind = span.lastgroup or ""
                shown.append(paint(span[kind], *self._styles, _STYLES[kind]))
                self._before, place = span[0][-1], span.end()
            elif is_whole or not self._may_close_later(text, marker):
                shown.append(self._plain(marker[0]))
                place = marker.end()
            else:
                self._held = text[marker.start() :]
                return "".join(shown)
        return "".join(shown) + self._plain(text[place:])

    def _plain(self, text: str) -> str:
        self._before = text[-1:] or self._before
        return paint(text, *self._styles)

    def _may_open(self, marker: re.Match[str]) -> bool:
        """Whether a span may begin here: not with an asterisk inside a word or a product."""
        return marker[0].startswith("`") or not self._before.isalnum()

    def _may_close_later(self, text: str, marker: re.Match[str]) -> bool:
        following = text[marker.end() : marker.end() + 1]
        if not following:
            return True
        if marker[0].startswith("*") and (following.isspace() or not self._may_open(marker)):
            return False
        return len(text) - marker.start() < LONGEST_SPAN


def paint(text: str, *styles: str) -> str:
    return f"\x1b[{';'.join(styles)}m{text}\x1b[0m" if text and styles else text


class Terminal:
    """Reads lines and shows text."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]) -> None:
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self.is_screen = stdout.isatty()
        self.is_interactive = stdin.isatty() and self.is_screen
        self.is_styled = self.is_screen and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        self._is_at_line_start = True

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

    def stream(self) -> MarkdownStream:
        return MarkdownStream(is_styled=self.is_styled)

    def show(self, text: str) -> None:
        if text:
            self._stdout.write(text)
            self._stdout.flush()
            self._is_at_line_start = text.endswith("\n")

    def murmur(self, text: str) -> None:
        """Show what a model thinks: dimmed, and on a screen only."""
        if self.is_screen:
            self.show(paint(self.harmless(text), DIM) if self.is_styled else self.harmless(text))

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
