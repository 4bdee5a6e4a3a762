"""JSON of any size, value by value: the elements of a list, the lines of a file, or one document.

Only one element is in memory at a time. What is no JSON ends the reading of a list, because nobody knows where the next
element would begin; of lines, each stands for itself.
"""

import codecs
import json
from collections.abc import Iterator
from typing import Any, Protocol

from threadkeep.errors import ImportDamaged, ImportTooLarge, InvalidInput, TooDeep
from threadkeep.transfer.portable import Problem

MAX_ELEMENT = 64 * 1024 * 1024
"""Characters of one element at most."""
_CHUNK = 64 * 1024
_SPACE = " \t\r\n"


class Readable(Protocol):
    """What can be read on."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""

    def readline(self, size: int = -1, /) -> bytes:
        """Return the next line."""


class Text:
    """The text of a file, as much of it as is needed."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._decode = json.JSONDecoder().raw_decode
        self.text = ""
        self.is_ended = False

    def more(self) -> None:
        """Read on, the more the more there is already."""
        if len(self.text) > MAX_ELEMENT:
            raise ImportTooLarge
        data = self._file.read(max(_CHUNK, len(self.text)))
        self.is_ended = not data
        try:
            self.text += self._decoder.decode(data, final=self.is_ended)
        except UnicodeDecodeError:
            raise ImportDamaged("The text is not UTF-8.") from None

    def skip(self, characters: str) -> str:
        """Drop these characters at the beginning; return the first that is another, or nothing at the end."""
        while True:
            self.text = self.text.lstrip(characters)
            if self.text or self.is_ended:
                return self.text[:1]
            self.more()

    def value(self) -> Any:
        """Return the JSON value at the beginning, and drop it."""
        while True:
            try:
                value, end = self._decode(self.text)
            except RecursionError:
                raise TooDeep from None
            except ValueError as error:
                if self.is_ended:
                    raise ImportDamaged(f"This is no JSON, or it was cut off: {str(error)[:100]}.") from None
                self.more()
                continue
            if end < len(self.text) or self.is_ended:  # a number could go on
                self.text = self.text[end:]
                return value
            self.more()


def elements(file: Readable, name: str) -> Iterator[tuple[str, Any] | Problem]:
    """Yield the elements of a list, or values that follow each other (as lines do), each with its place."""
    text, number = Text(file), 0
    try:
        is_list = text.skip(_SPACE) == "["
        if is_list:
            text.text = text.text[1:]
        while (first := text.skip(_SPACE + "," if is_list else _SPACE)) and not (is_list and first == "]"):
            number += 1
            yield f"{name}, element {number}", text.value()
        if is_list and not first:
            raise ImportDamaged("The list was cut off.")
    except InvalidInput as error:
        yield Problem.of(f"{name}, element {max(number, 1)}", error)
