"""The arguments of public verbs, checked against their types: a value of the wrong kind is InvalidValue, not a surprise
from deep inside. For the edge where Python programs call; what is inside trusts its types."""

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

from pydantic import ConfigDict, ValidationError, validate_call

from threadkeep.errors import InvalidValue

P = ParamSpec("P")
T = TypeVar("T")


def checked(verb: Callable[P, T]) -> Callable[P, T]:
    """Check what a function is called with. Raises InvalidValue naming the argument, as does a value made inside."""

    @cache  # when it is first called: a type may be declared further down in its module
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
