"""What a writer does in one conversation, step by step, as a pure function of the step's number.

Because the script is fixed, whoever finds the conversation after a crash knows exactly what may be there: everything up
to the last acknowledged step, and at most one step more.
"""

from typing import NamedTuple

from threadkeep.conversation.idempotency import IdempotencyKey

CHUNKS = ("In the beginning ", "was the log\x00, ", "日本語 🙂 ", "and the log ", "was kept.")
ANSWER = "".join(CHUNKS)

# A lone message, three in one step, and a turn: its question, its chunks, its end.
_CYCLE = ("one", "three", "begin", "chunk 0", "chunk 1", "chunk 2", "chunk 3", "chunk 4", "finish", "shared")


class Step(NamedTuple):
    """One step: what kind it is, and the texts that it makes entries of, in order."""

    number: int
    kind: str
    texts: tuple[str, ...]
    key: IdempotencyKey | None
    chunk: int = 0

    @property
    def message(self) -> str:
        """The id of the answer that this step's turn writes."""
        return f"answer-{self.number // len(_CYCLE)}"


def step(conversation: str, number: int) -> Step:
    """Return a step of the script of a conversation."""
    kind = _CYCLE[number % len(_CYCLE)]
    text = f"{conversation} step{number}x"
    key = IdempotencyKey.of(f"POST /{conversation}", str(number), None)
    match kind.split():
        case ["three"]:
            return Step(number, kind, tuple(f"{text} part{part}" for part in range(3)), key)
        case ["one" | "begin" | "shared"]:
            return Step(number, kind, (text,), key)
        case ["chunk", chunk]:
            return Step(number, "chunk", (), None, int(chunk))
        case _:
            return Step(number, kind, (ANSWER,), None)


def texts_after(conversation: str, steps: int) -> list[str]:
    """Return the contents of all messages of the conversation after so many steps."""
    done = (step(conversation, number) for number in range(steps))
    return [text for one in done if one.kind != "shared" for text in one.texts]


def draft_after(conversation: str, steps: int) -> str | None:
    """Return the text that is being written after so many steps; None where there is none."""
    last = step(conversation, steps - 1) if steps else None
    return "".join(CHUNKS[: last.chunk + 1]) if last is not None and last.kind == "chunk" else None
