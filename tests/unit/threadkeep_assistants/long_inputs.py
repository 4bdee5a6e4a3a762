"""Twenty kinds of long input, for everything that looks at untrusted text: pumped, it must not take longer than its
length explains."""

from collections.abc import Callable
from time import process_time

PUMPS = (
    *("1", "1 ", "1,", "1.", "1+", "(", "[", "[a](", "`", "```\n", "'", '"', " ", "\n", "\t ", "- ", "# ", "yes, "),
    *(
        "and ",
        "to to ",
        "change the ",
        "the same ",
        "é",
        "日本",
        "a",
        "a b. ",
        "I want a skill that ",
        "my name is A. ",
    ),
    *("not ", "$1 ", "<a ", "*&", "key: ", "search my conversations for ", "what time is it in "),
)
LENGTH = 100_000


def slow_inputs(read: Callable[[str], object], before: str = "", behind: str = "") -> list[str]:
    """Return the pumps for which a text of 100 KB takes a second of processor time or more."""
    return [pump for pump in PUMPS if _seconds(read, before + pump * (LENGTH // len(pump)) + behind) > 1.0]


def _seconds(read: Callable[[str], object], text: str) -> float:
    started = process_time()
    read(text)
    return process_time() - started
