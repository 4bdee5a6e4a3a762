"""Twenty kinds of long texts, and the check that reading one takes time that grows no faster than its length."""

import time
from collections.abc import Callable

LONG: dict[str, Callable[[int], str]] = {
    "digits": lambda size: "1" * size,
    "numbers with commas": lambda size: "1," * (size // 2),
    "numbers with dots": lambda size: "1." * (size // 2),
    "quotation marks": lambda size: "top 5 stocks when it will cut - " + "'" * size,
    "letters and quotation marks": lambda size: "a'" * (size // 2),
    "spaces": lambda size: "top" + " " * size + "5",
    "number words": lambda size: "hundred and " * (size // 12),
    "no": lambda size: "no or " * (size // 6),
    "lists": lambda size: "the first list " * (size // 15),
    "places": lambda size: "the second one and " * (size // 19),
    "dashes": lambda size: "1 - " * (size // 4),
    "dollars": lambda size: "$" * size,
    "comparisons": lambda size: "<=" * (size // 2),
    "one word": lambda size: "a" * size,
    "lines": lambda size: "\n" * size,
    "names": lambda size: "AAPL and " * (size // 9),
    "ampersands": lambda size: "a&" * (size // 2),
    "brackets": lambda size: "[(" * (size // 2),
    "marks": lambda size: "\u0301" * size,
    "pictures": lambda size: "\U0001f600" * size,
}


def check_growth(read: Callable[[str], object], text: Callable[[int], str]) -> None:
    """Read a text of 100 KB and one of a hundredth of that, and compare."""

    def seconds(size: int) -> float:
        words, best = text(size), float("inf")
        for _ in range(3):
            begun = time.process_time()
            read(words)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(100_000) <= 100 * max(seconds(1_000), 0.001)
