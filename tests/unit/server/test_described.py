"""The description of the API is one of which generators make whole clients: test_generated_clients.py tries them."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from threadkeep.server.described import Described


class Inner(BaseModel):
    """Sent, inside of another."""

    words: list[str] = []


class Both(BaseModel):
    """Sent and told."""

    size: float = 1


class Sent(BaseModel):
    """Only sent."""

    limit: int = Field(default=20, description="How many.")
    inner: Inner | None = None
    both: Both = Both()


@pytest.fixture
def schemas() -> dict[str, Any]:
    app = Described()

    @app.post("/things")
    def make(body: Sent) -> Both:
        return body.both

    assert app.openapi() == app.openapi()
    found: dict[str, Any] = app.openapi()["components"]["schemas"]
    return found


def test_what_is_only_sent_tells_its_defaults_in_words(schemas: dict[str, Any]) -> None:
    assert "default" not in str(schemas["Sent"]["properties"])
    assert schemas["Sent"]["properties"]["limit"]["description"] == "How many. Default: 20."
    assert "default" not in schemas["Inner"]["properties"]["words"]
    assert schemas["Both"]["properties"]["size"]["default"] == 1


def test_it_has_the_shapes_of_events_and_problems_and_no_title_twice(schemas: dict[str, Any]) -> None:
    assert {"ConversationEvent", "ListEvent", "Problem", "Sent"} <= schemas.keys()
    titles = [schema["title"] for schema in schemas.values() if "title" in schema]
    assert len(titles) == len(set(titles))
