"""What a function takes: the JSON schema of its arguments for the model, and the check of what a model sends.

Each argument becomes a field of a pydantic model under a name of its own (`a0`, `a1`, …) with the argument's name as
the alias, so that an argument may have any name, also one that pydantic uses itself. Descriptions are read from
docstrings in Google's style only: a parameter is described best where it is declared, with `Field(description=…)`.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from threadkeep.errors import InvalidInput, InvalidValue
from threadkeep.tools.base import ToolContext

_SHOWN_ERRORS = 10
_SHOWN_INPUT = 80
_HEADINGS = ("args:", "arguments:", "parameters:")
_PARAMETER = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """The description of a function and of those parameters that the docstring names."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """Read the docstring of a function; without one, everything is empty."""
        lines = (inspect.getdoc(function) or "").splitlines()
        summary = " ".join(line.strip() for line in _until_blank(lines))
        return cls(summary=summary, parameters=dict(_described_parameters(lines)))


def _until_blank(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip() or line.strip().lower() in _HEADINGS:
            return
        yield line


def _described_parameters(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each parameter with its text; a line that is indented deeper goes on with the one before."""
    name, texts, depth = "", list[str](), 0
    for line in _lines_of_arguments(lines):
        indent = len(line) - len(line.lstrip())
        start = _PARAMETER.fullmatch(line.strip())
        if start and (not name or indent <= depth):
            if name:
                yield name, " ".join(texts)
            name, texts, depth = start[1], [start[2]] if start[2] else [], indent
        else:
            texts.append(line.strip())
    if name:
        yield name, " ".join(texts)


def _lines_of_arguments(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines under the heading of the arguments, up to the next text that is not indented."""
    inside = False
    for line in lines:
        if line.strip().lower() in _HEADINGS:
            inside = True
        elif line.strip() and not line[0].isspace():
            inside = False
        elif inside and line.strip():
            yield line


class _PlainSchema(GenerateJsonSchema):
    """A schema without the titles that pydantic makes up from names: they cost tokens and say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Signature:
    """What a function takes: checked arguments by name, and contexts where it asks for one."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._tool = name
        self._parameters = tuple(inspect.signature(function).parameters.values())
        hints = self._hints(function)
        self._contexts = {key for key, hint in hints.items() if _is_context(hint)}
        self._names = [each.name for each in self._parameters if each.name not in self._contexts]
        self._model = self._make_model(hints)
        self.schema = self._make_schema(Docstring.of(function))

    def check(self, args: Mapping[str, Any], context: ToolContext) -> inspect.BoundArguments:
        """Return the arguments to call the function with, or raise InvalidValue with what the model should change."""
        try:
            checked = self._model.model_validate(dict(args))
        except ValidationError as error:
            raise InvalidValue(self._complaint(error)) from None
        except InvalidInput as error:
            raise InvalidValue(f"The arguments of {self._tool} are not valid: {error}") from None
        values = {name: getattr(checked, f"a{index}") for index, name in enumerate(self._names)}
        return self._bind(values | dict.fromkeys(self._contexts, context))

    def _bind(self, values: Mapping[str, Any]) -> inspect.BoundArguments:
        by_place = [each.name for each in self._parameters if each.kind is each.POSITIONAL_ONLY]
        by_name = {name: value for name, value in values.items() if name not in by_place}
        return inspect.Signature(self._parameters).bind(*(values[name] for name in by_place), **by_name)

    def _hints(self, function: Callable[..., Any]) -> dict[str, Any]:
        try:
            known = get_type_hints(function, include_extras=True)
        except NameError as error:
            raise InvalidValue(f"A type of the tool {self._tool} cannot be found: {error}.") from None
        for each in self._parameters:
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
                raise InvalidValue(f"The tool {self._tool} cannot have *args or **kwargs: a model must see every name.")
            if each.name not in known:
                raise InvalidValue(f"The parameter {each.name} of the tool {self._tool} needs a type.")
        return {each.name: known[each.name] for each in self._parameters}

    def _make_model(self, hints: Mapping[str, Any]) -> type[BaseModel]:
        defaults = {each.name: each.default for each in self._parameters if each.default is not each.empty}
        fields: dict[str, Any] = {
            f"a{index}": (Annotated[hints[name], Field(alias=name)], defaults.get(name, ...))
            for index, name in enumerate(self._names)
        }
        try:
            return create_model(self._tool, __config__=ConfigDict(extra="forbid"), **fields)
        except PydanticUserError as error:
            raise self._no_json(error) from None

    def _make_schema(self, doc: Docstring) -> dict[str, Any]:
        try:
            schema = self._model.model_json_schema(schema_generator=_PlainSchema)
        except PydanticUserError as error:
            raise self._no_json(error) from None
        schema.pop("title")
        for name, described in doc.parameters.items():
            if name in schema["properties"]:
                schema["properties"][name].setdefault("description", described)
        return schema

    def _no_json(self, error: PydanticUserError) -> InvalidValue:
        return InvalidValue(f"A type of the tool {self._tool} has no JSON form: {error.message.splitlines()[0]}")

    def _complaint(self, error: ValidationError) -> str:
        """Return what is wrong with each argument, what was expected and what there is."""
        details = error.errors(include_url=False, include_context=False)
        lines = [f"- {self._explain(each)}" for each in details[:_SHOWN_ERRORS]]
        if len(details) > _SHOWN_ERRORS:
            lines.append(f"- and {len(details) - _SHOWN_ERRORS} more")
        return "\n".join([f"The arguments of {self._tool} are not valid:", *lines])

    def _explain(self, detail: ErrorDetails) -> str:
        place = ".".join(str(part) for part in detail["loc"]) or "arguments"
        match detail["type"], len(detail["loc"]):
            case "missing", 1:
                return f"{place}: this argument is missing; expected {self._expected(place)}"
            case "extra_forbidden", 1:
                known = ", ".join(self._names) or "none"
                return f"{place}: there is no such argument; the arguments are: {known}"
            case _:
                return f"{place}: {detail['msg']} (got {_shortened_json(detail['input'])})"

    def _expected(self, name: str) -> str:
        return _shortened_json(self.schema["properties"].get(name, {}), 300)


def _is_context(hint: Any) -> bool:
    return hint is ToolContext or (get_origin(hint) is Annotated and get_args(hint)[0] is ToolContext)


def _shortened_json(value: object, limit: int = _SHOWN_INPUT) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= limit else f"{text[:limit]}…"
