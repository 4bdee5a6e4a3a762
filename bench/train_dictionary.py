"""Trains the compression dictionary that ships with the package. Run once for a release that adds a dictionary.

    .venv/bin/python -m bench.train_dictionary src/threadkeep/store/dictionaries/1.zdict

A released dictionary is never changed: stored content needs it. `bench/chats/heldout.jsonl` is kept out of training,
so that `bench.store` can measure the ratio on text that the dictionary has not seen.
"""

import json
import sys
from pathlib import Path

import zstandard

CHATS = Path(__file__).parent / "chats"
SIZE = 64 * 1024


def samples() -> list[bytes | bytearray | memoryview]:
    """Return every message of the training conversations."""
    lines = [
        line
        for path in sorted(CHATS.glob("*.jsonl"))
        if path.stem != "heldout"
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [message["content"].encode() for line in lines for message in json.loads(line)["messages"]]


if __name__ == "__main__":
    texts = samples()
    dictionary = zstandard.train_dictionary(SIZE, texts, level=6)
    Path(sys.argv[1]).write_bytes(dictionary.as_bytes())
    print(f"{len(texts)} messages, {sum(map(len, texts))} bytes -> {len(dictionary.as_bytes())} bytes")
