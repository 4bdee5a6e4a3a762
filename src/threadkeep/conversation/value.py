"""What all values share: they are frozen, refuse unknown fields and hold only text and JSON that every store can keep.

The checks raise errors of our own tree, not pydantic's, because they are about input that a user can send.
"""

import inspect
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache, wraps
from itertools import repeat
from typing import Annotated, Any, ClassVar, ParamSpec, Self, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, validate_call

from threadkeep.conversation.clock import in_utc
from threadkeep.errors import InvalidText, InvalidValue, TooDeep

MAX_DEPTH = 64
P = ParamSpec("P")
T = TypeVar("T")


class Adoptable(BaseModel):
    """A model that can be built from fields that were checked before."""

    _names: ClassVar[set[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        cls._names = set(cls.model_fields)

    @classmethod
    def adopt(cls, fields: dict[str, Any]) -> Self:
        """Build a value from all of its fields, without checking them again: restores spend most of their time here."""
        value: Self = _new(cls)
        # Straight into the slots of pydantic's model, past everything that makes setting an attribute slow.
        _set_dict(value, fields)
        _set_names(value, cls._names)
        _set_extra(value, None)
        _set_private(value, None)
        return value

    @classmethod
    def adopt_all(cls, fields: list[dict[str, Any]]) -> list[Self]:
        """Build many values like `adopt`, in half of its time: what Python does for each is done slot by slot."""
        values: list[Self] = list(map(_new, repeat(cls, len(fields))))
        for fill, filling in (_set_dict, fields), (_set_names, repeat(cls._names)):
            deque(map(fill, values, filling), maxlen=0)
        for fill in _set_extra, _set_private:
            deque(map(fill, values, repeat(None)), maxlen=0)
        return values


class Value(Adoptable):
    """A frozen value that crosses folders."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def trusted(cls, **fields: Any) -> Self:
        """Build a value from all of its fields, which were checked before."""
        return cls.adopt(fields)

    def but(self, **fields: Any) -> Self:
        """Return the value with other fields, which were checked before: `model_copy` in a fraction of its time."""
        return self.adopt({**self.__dict__, **fields})


_new: Any = object.__new__
_set_dict, _set_names, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


def check_text(text: object) -> str:
    """Return `text`, which must be a string that can be written as UTF-8 (U+0000 is fine, a lone surrogate is not)."""
    if isinstance(text, bytes):
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise InvalidText from None
    if not isinstance(text, str):
        raise InvalidValue(f"Text must be a string, not {type(text).__name__}.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidText from None
    return text


def storable(text: str) -> str:
    """Return the text with every lone surrogate replaced, because no store can keep one."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def check_json(value: object) -> Any:
    """Return `value`, which must be plain JSON: finite numbers, string keys, valid text, bounded depth."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return value
    raise TooDeep


def _children(item: object) -> list[Any]:
    """Check one JSON value by itself and return what it holds, to be checked in turn."""
    match item:
        case None | bool() | int():
            return []
        case str():
            check_text(item)
            return []
        case float():
            if item != item or item in (float("inf"), float("-inf")):
                raise InvalidValue("JSON has no NaN and no infinity.")
            return []
        case Mapping():
            for key in item:
                if not isinstance(key, str):
                    raise InvalidValue("The keys of a JSON object are strings.")
                check_text(key)
            return list(item.values())
        case list() | tuple():
            return list(item)
        case _:
            raise InvalidValue(f"A {type(item).__name__} is not JSON.")


Text = Annotated[str, BeforeValidator(check_text)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(check_json)]
Moment = Annotated[datetime, AfterValidator(in_utc)]


def checked(verb: Callable[P, T]) -> Callable[P, T]:
    """Check the arguments of a public verb against their types: InvalidValue names the argument that is wrong.

    For the edge that Python programs call; code inside trusts its types.
    """

    @cache  # made at the first call: a type may be declared further down in its module
    def validated() -> Callable[P, T]:
        return validate_call(config=ConfigDict(strict=True, arbitrary_types_allowed=True))(verb)

    if inspect.iscoroutinefunction(verb):

        @wraps(verb)
        async def call_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                return await cast(Any, validated()(*args, **kwargs))
            except ValidationError as error:
                raise InvalidValue(_complaint(verb, error)) from None

        return cast(Callable[P, T], call_async)

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return validated()(*args, **kwargs)
        except ValidationError as error:
            raise InvalidValue(_complaint(verb, error)) from None

    return call


def _complaint(verb: Callable[..., Any], error: ValidationError) -> str:
    """Return which argument is wrong and why, without its value."""
    wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place, names = wrong["loc"], tuple(inspect.signature(verb).parameters)
    first = names[place[0]] if place and isinstance(place[0], int) and place[0] < len(names) else str(*place[:1])
    return f"The argument {first} of {verb.__name__} is not valid: {wrong['msg']}."
