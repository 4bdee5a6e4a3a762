"""Checks of documents and queries, before anything is embedded or written."""

import math
from collections.abc import Mapping

from threadkeep.conversation.value import check_text
from threadkeep.errors import ContentTooLarge, InvalidLimit, InvalidValue
from threadkeep_retrieval.base import Document, Query

MAX_ID = 512
MAX_CHARACTERS = 20_000_000
"""How long one document may be."""
MAX_LIMIT = 200


def check_document(document: Document) -> Document:
    """Return a document that can be indexed."""
    if not 1 <= len(check_text(document.id)) <= MAX_ID:
        raise InvalidValue(f"The id of a document has 1 to {MAX_ID} characters.")
    if len(check_text(document.text)) + len(check_text(document.title)) > MAX_CHARACTERS:
        raise ContentTooLarge(f"A document has at most {MAX_CHARACTERS:,} characters.")
    _check_metadata(document.metadata)
    return document


def _check_metadata(metadata: Mapping[str, object]) -> None:
    for name, value in metadata.items():
        check_text(name)
        check_scalar(name, value)


def check_scalar(name: str, value: object) -> None:
    """Refuse what cannot be compared: anything but text, whole numbers of 64 bits, finite numbers, true and false."""
    match value:
        case str():
            check_text(value)
        case int() if -(2**63) <= value < 2**63:
            pass
        case float() if math.isfinite(value):
            pass
        case _:
            raise InvalidValue(f"The field {name!r} is neither text, a number of common size, true nor false.")


def check_query(query: Query, limit: object) -> None:
    """Refuse a query that cannot be asked."""
    if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidLimit(f"The limit of a search is a whole number from 1 to {MAX_LIMIT}.")
    for text in (query.text, *query.words, *(each.field for each in query.where)):
        check_text(text)
    for each in query.where:
        check_scalar(each.field, each.value)
