"""Blocks: the typed, structured parts of an answer.

A block keeps every field that it was given, also of a type that this release does not know, so that a newer
assistant or an imported file never loses anything. The text that a model sees of a block is made in `context/`.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from threadkeep.conversation.value import JsonObject, Text, Value, check_json


class Block(Value):
    """A part of an answer, of any type; further fields are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")
    type: Text = Field(min_length=1, max_length=64)

    @model_validator(mode="before")
    @classmethod
    def _is_json(cls, fields: Any) -> Any:
        return fields if isinstance(fields, Block) else check_json(fields)


class Narrative(Block):
    """A piece of prose."""

    type: Literal["narrative"] = "narrative"
    text: Text


class RankedList(Block):
    """Rows in order of merit, each with a ticker or another name, and a score."""

    type: Literal["ranked_list"] = "ranked_list"
    rows: list[JsonObject]


class SplitCompare(Block):
    """Two things side by side."""

    type: Literal["split_compare"] = "split_compare"
    leftTitle: Text
    rightTitle: Text
    left: Any = None
    right: Any = None


class Table(Block):
    """Columns and rows."""

    type: Literal["table"] = "table"
    columns: list[Text]
    rows: list[list[Any]]


class Chart(Block):
    """Numbers that are easier to see than to read; `chart` is line, bar or the like."""

    type: Literal["chart"] = "chart"
    chart: Text
    series: list[JsonObject]


class Citation(Block):
    """Where a statement comes from."""

    type: Literal["citation"] = "citation"
    source: Text


_KNOWN = {"narrative", "ranked_list", "split_compare", "table", "chart", "citation"}


def _tag(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return kind if isinstance(kind, str) and kind in _KNOWN else "other"


AnyBlock = Annotated[
    Annotated[Narrative, Tag("narrative")]
    | Annotated[RankedList, Tag("ranked_list")]
    | Annotated[SplitCompare, Tag("split_compare")]
    | Annotated[Table, Tag("table")]
    | Annotated[Chart, Tag("chart")]
    | Annotated[Citation, Tag("citation")]
    | Annotated[Block, Tag("other")],
    Discriminator(_tag),
]
