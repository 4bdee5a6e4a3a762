"""MessagePack as LangGraph writes checkpoints, read as plain data: no object of any class is ever made from it.

An extension, which LangGraph uses for objects, holds MessagePack itself: module, name and arguments. It becomes a
dictionary that says so, and it is for the caller to know which of them are messages.
"""

from typing import Any

from threadkeep.errors import ImportDamaged, InvalidImport, TooDeep

MAX_DEPTH = 100
"""How deep objects may lie in each other; of lists and dictionaries the package bounds it."""


def unpack(data: bytes, depth: int = 0) -> Any:
    """Return the value in these bytes."""
    try:
        import ormsgpack
    except ImportError:
        needed = "Checkpoints of LangGraph need one more package: pip install 'threadkeep[langgraph]'."
        raise InvalidImport(needed) from None
    if depth > MAX_DEPTH:
        raise TooDeep

    def describe(_: int, inner: bytes) -> Any:
        try:
            found = unpack(inner, depth + 1)
        except ImportDamaged:
            return None
        match found:
            case [_, str(name), arguments, *_]:
                return {"__class__": name, "__arguments__": arguments}
            case _:
                return found

    try:
        return ormsgpack.unpackb(data, ext_hook=describe, option=ormsgpack.OPT_NON_STR_KEYS)
    except ValueError as error:
        # The package says of what went wrong in `describe` only that it did.
        raise (TooDeep if "ecursion" in str(error) else ImportDamaged)(
            f"A checkpoint is no MessagePack: {error}."
        ) from None
