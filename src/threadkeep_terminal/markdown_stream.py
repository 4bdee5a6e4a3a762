"""Markdown marked up for a terminal as it comes. Text is held back only while it could still become something else: a
marker at the beginning of a line, or a span such as **bold** that is not closed yet, to the end of its line at most.
"""

import re

from threadkeep_commands.terminal import BOLD, CYAN, DIM, ITALIC, UNDERLINED, paint

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
