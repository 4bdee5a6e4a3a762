"""The description of the API, made so that the public generators of clients make whole ones of it."""

import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from threadkeep.server.event_schema import event_schemas
from threadkeep.server.problems import PROBLEM


class Described(FastAPI):
    """An application whose description has the shapes of its events and problems."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        schemas = document["components"]["schemas"]
        schemas |= event_schemas() | schemas | {"Problem": PROBLEM}
        for name, schema in schemas.items():
            if "-" in name:  # what is sent and what is answered: generators name their types by titles
                schema["title"] = name.replace("-", "")
        _forget_defaults(document["paths"], schemas)
        return document


def _forget_defaults(paths: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Tell the defaults of what is only sent in words: generators ask for what has one, as answers always have it."""
    routes = [route for methods in paths.values() for route in methods.values()]
    sent = _reached([route.get("requestBody") for route in routes], schemas)
    told = _reached([route["responses"] for route in routes], schemas)
    for name in sent - told:
        for field in schemas[name].get("properties", {}).values():
            if default := field.pop("default", None):
                field["description"] = f"{field.get('description', '')} Default: {default}.".strip()


def _reached(described: Any, schemas: dict[str, Any]) -> set[str]:
    """Return the names of all shapes that something refers to."""
    found, left = set[str](), list(_named(described))
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += _named(schemas[name])
    return found


def _named(described: Any) -> Iterator[str]:
    return iter(re.findall(r"#/components/schemas/([^'\"]+)", str(described)))
