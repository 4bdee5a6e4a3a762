"""The window of a model is read from the header of its file."""

import struct
from pathlib import Path

import pytest

from threadkeep.errors import UnknownModel
from threadkeep_integrations.local import context_length


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def header(*pairs: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


NAME = text(b"general.name") + struct.pack("<I", 8) + text(b"Small")
FLAG = text(b"general.flag") + struct.pack("<IB", 7, 1)
TOKENS = text(b"tokenizer.tokens") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"bc")
SCORES = text(b"tokenizer.scores") + struct.pack("<IIQff", 9, 6, 2, 0.5, 0.25)
LENGTH = text(b"llama.context_length") + struct.pack("<II", 4, 8192)


def test_the_length_is_found_behind_values_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(header(NAME, FLAG, TOKENS, SCORES, LENGTH))
    assert context_length(path) == 8192


@pytest.mark.parametrize("content", [b"", b"GGUF", b"nothing of the kind", header(NAME), header(NAME, LENGTH)[:-3]])
def test_another_file_is_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(UnknownModel, match=r"model\.gguf"):
        context_length(path)


def test_a_missing_file_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel):
        context_length(tmp_path / "none.gguf")
