"""The one thing that we need from the header of a GGUF file before it is loaded: how long a request may be."""

import struct
from pathlib import Path
from typing import BinaryIO

from threadkeep.errors import UnknownModel

_MAGIC = b"GGUF"
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_UINT32, _STRING, _ARRAY, _UINT64 = 4, 8, 9, 10


def context_length(path: Path) -> int:
    """Return the number of tokens that a model was trained for; raises UnknownModel if the file is no such model."""
    try:
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise UnknownModel(f"{path} is not a GGUF file.")
            _version, _tensors, pairs = struct.unpack("<IQQ", file.read(20))
            for _ in range(pairs):
                key, kind = _text(file), _number(file, "<I")
                if key.endswith(b".context_length") and kind in (_UINT32, _UINT64):
                    return _number(file, "<I" if kind == _UINT32 else "<Q")
                _skip(file, kind)
    except (OSError, struct.error, KeyError, OverflowError, MemoryError, RecursionError) as error:
        raise UnknownModel(f"{path} cannot be read as a GGUF file: {error}") from None
    raise UnknownModel(f"{path} does not tell how long a request may be.")


def _number(file: BinaryIO, format: str) -> int:  # noqa: A002 - the word of struct
    return int(struct.unpack(format, file.read(struct.calcsize(format)))[0])


def _text(file: BinaryIO) -> bytes:
    return file.read(_number(file, "<Q"))


def _skip(file: BinaryIO, kind: int) -> None:
    """Pass over one value."""
    if kind == _STRING:
        file.seek(_number(file, "<Q"), 1)
    elif kind == _ARRAY:
        inner, count = _number(file, "<I"), _number(file, "<Q")
        if inner in _SIZES:
            file.seek(_SIZES[inner] * count, 1)
        else:
            for _ in range(count):
                _skip(file, inner)
    else:
        file.seek(_SIZES[kind], 1)
