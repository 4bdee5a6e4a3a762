"""MessagePack: what a well-known packer writes is read as it was, and nothing else is ever made of bytes."""

import contextlib
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.errors import ImportDamaged, TooDeep
from threadkeep_importers.msgpack import unpack

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(plain)
def test_what_was_packed_is_read_as_it_was(value: Any) -> None:
    assert unpack(ormsgpack.packb(value)) == value


@pytest.mark.parametrize("size", [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536])
def test_every_length_is_read(size: int) -> None:
    for value in ("x" * size, b"x" * size, [1] * size, {str(number): number for number in range(size)}):
        assert unpack(ormsgpack.packb(value)) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_data_or_refused(data: bytes) -> None:
    with contextlib.suppress(ImportDamaged, TooDeep):
        unpack(data)


def test_an_object_becomes_a_description_of_itself() -> None:
    inner = ormsgpack.packb(["os", "system", "touch harmed"])
    assert unpack(ormsgpack.packb(ormsgpack.Ext(0, inner))) == {"__class__": "system", "__arguments__": "touch harmed"}


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(TooDeep):
        unpack(b"\x91" * 5000 + b"\x01")
