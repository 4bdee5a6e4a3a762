"""Reasoning that a local model writes as text: `<think>…</think>` at the beginning of its answer."""

from collections.abc import Iterable, Iterator

from threadkeep.llm.base import Delta, Reasoned, Text

OPEN, CLOSE = "<think>", "</think>"
MOST = 1_000_000
"""Reasoning has at most so many characters; what follows without an end tag is text."""


class ThinkTags:
    """Splits one answer. It holds back only what may be part of a tag, or white space around one."""

    def __init__(self) -> None:
        self._held = ""
        self._is_thinking = False
        self._is_over = False
        self._is_behind_tag = False
        self._left = MOST

    def sift(self, deltas: Iterable[Delta]) -> Iterable[Delta]:
        """Return the next deltas of the answer, with text between think tags as reasoning."""
        if self._is_over and not self._is_behind_tag:
            return deltas
        return [sifted for delta in deltas for sifted in self.feed(delta)]

    def feed(self, delta: Delta) -> Iterator[Delta]:
        """Yield a delta as text or reasoning, with what was held back before it."""
        if not isinstance(delta, Text):
            yield from self._released()
            yield delta
        elif self._is_over and not self._is_behind_tag:
            yield delta
        elif self._is_over:
            self._held = delta.text
            yield from self._released()
        else:
            self._held += delta.text
            yield from self._think() if self._is_thinking else self._begin()

    def _released(self) -> Iterator[Delta]:
        held, self._held = self._held, ""
        if self._is_behind_tag:
            held = held.lstrip("\n")
        if held:
            self._is_behind_tag = False
            yield Reasoned(text=held) if self._is_thinking else Text(held)

    def _begin(self) -> Iterator[Delta]:
        begun = self._held.lstrip()
        if begun.startswith(OPEN):
            self._held, self._is_thinking, self._is_behind_tag = begun.removeprefix(OPEN), True, True
            yield from self._think()
        elif not OPEN.startswith(begun) or len(self._held) > len(OPEN) * 4:
            self._is_over = True
            yield from self._released()

    def _think(self) -> Iterator[Delta]:
        thought, tag, rest = self._held.partition(CLOSE)
        if not tag:
            kept = next((size for size in range(len(CLOSE) - 1, 0, -1) if thought.endswith(CLOSE[:size])), 0)
            thought, rest = thought[: len(thought) - kept], thought[len(thought) - kept :]
        self._left -= len(thought)
        self._held = thought
        yield from self._released()
        self._held = rest
        if tag or self._left <= 0:
            self._is_thinking, self._is_over, self._is_behind_tag = False, True, bool(tag)
            yield from self._released()
