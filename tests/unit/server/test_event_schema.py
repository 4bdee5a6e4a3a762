"""What the OpenAPI document says of events is true of every event, and all of it stands in the documentation."""

import json
import re
from dataclasses import fields
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents import ROOT
from tests.unit.conversation.test_event_json import CONVERSATION, COUNT, EVENTS
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.event_json import NAMES, to_json
from threadkeep.conversation.events import Event, Happening, TurnEnded
from threadkeep.server.event_schema import UNPLACED, event_schemas, fields_of
from threadkeep.server.sse import encode_event
from threadkeep.turn_handle import TurnOutcome

SCHEMAS = event_schemas()
KINDS = list(NAMES)


def check(kind: type, said: dict[str, Any]) -> None:
    """Check that data are as the document says, and have no field that it does not name."""
    strict = {**SCHEMAS[kind.__name__], "additionalProperties": False, "components": {"schemas": SCHEMAS}}
    jsonschema.validate(said, strict, jsonschema.Draft202012Validator)


def test_every_event_is_described() -> None:
    assert set(KINDS) == set(Happening.__args__)
    mapping = SCHEMAS["ConversationEvent"]["discriminator"]["mapping"]
    assert mapping.keys() == {name for names in NAMES.values() for name in names} | {"error"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=25)
def test_every_event_on_the_wire_is_as_it_is_described(kind: type, data: st.DataObject) -> None:
    what = data.draw(EVENTS[kind].filter(lambda what: to_json(what)[0] in NAMES[kind]))
    sent = encode_event(Event(what, Cursor(seq=data.draw(COUNT))), CONVERSATION).decode()
    said = json.loads(sent.partition("\ndata: ")[2] or sent.removeprefix("data: "))
    assert f"event: {said['type']}\n" in sent
    check(kind, said)
    assert all(field in said for field in SCHEMAS[kind.__name__]["required"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_stands_in_the_table_of_the_http_api(kind: type) -> None:
    page = (ROOT / "docs/reference/http-api.md").read_text(encoding="utf-8")
    for name in NAMES[kind]:
        row = re.search(rf"^\| `{name}` \| (.*) \|$", page, re.MULTILINE)
        assert row is not None, name
        told = set(re.findall(r"`(\w+)`", row[1]))
        unsaid = {"type", "position"} | ({"failure"} if kind is TurnEnded and name != "turn.failed" else set())
        assert set(fields_of(kind)) - unsaid <= told, name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_stands_in_the_table_of_the_python_api(kind: type) -> None:
    page = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `threadkeep\.{kind.__name__}` \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert row is not None
    assert tuple(re.findall(r"`([\w.]+)`", row[1])) == NAMES[kind]
    assert re.findall(r"`(\w+)`", row[2]) == [field.name for field in fields(kind)]


def test_every_field_of_an_outcome_stands_in_its_table() -> None:
    page = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
    table = page.partition("| `threadkeep.TurnOutcome` | what it is |\n|---|---|\n")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [field.name for field in fields(TurnOutcome)]


def test_what_has_no_place_in_the_log_has_no_position() -> None:
    without = {kind for kind in KINDS if "position" not in fields_of(kind)}
    assert without == set(UNPLACED)
