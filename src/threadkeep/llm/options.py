"""What can be asked of a model beside its context, such as the temperature: a closed set, each option bounded.

An option that is not given is the provider's default. What a provider calls an option, and whether it knows it, is
decided where the provider is called; bounds that only one provider has are left to that provider.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from threadkeep.conversation.value import Text, Value
from threadkeep.errors import InvalidValue


class ModelOptions(Value):
    """Options of a call of a model. Each field's description is what the documentation says about it."""

    temperature: float | None = Field(
        default=None, ge=0, le=2, description="how freely words are chosen, 0 to 2 (Anthropic: 1)"
    )
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="choose among the likeliest words that make up this share, up to 1"
    )
    max_tokens: int | None = Field(
        default=None, ge=1, le=10_000_000, description="where an answer is cut off, in tokens, thinking included"
    )
    stop: Annotated[
        tuple[Annotated[Text, Field(min_length=1, max_length=200)], ...],
        BeforeValidator(lambda given: (given,) if isinstance(given, str) else given),
    ] = Field(default=(), max_length=4, description="up to four texts before which an answer ends")
    seed: int | None = Field(
        default=None, ge=0, lt=2**31, description="the same number makes the same answer likelier (not Anthropic)"
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None,
        description="how long a model that reasons may think: `low`, `medium`, `high` or another it has",
    )

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return options that somebody wrote as JSON. Raises InvalidValue that names what is wrong."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, ("options", *first["loc"])))
            raise InvalidValue(f"{place}: {first['msg']}. The options are: {', '.join(cls.model_fields)}.") from None

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from the provider's default, by name."""
        return self.model_dump(exclude_defaults=True)

    def over(self, base: "ModelOptions") -> "ModelOptions":
        """Return these options, and those of the base that are not among them."""
        return base.model_copy(update=self.given)


DEFAULTS = ModelOptions()
