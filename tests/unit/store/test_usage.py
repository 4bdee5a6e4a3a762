"""What an entry adds to the sums of what was used."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from threadkeep.conversation.entry import Update
from threadkeep.conversation.message import MAX_TOKENS, Cost, Message, Role, Usage
from threadkeep.store.codec import Row, encode
from threadkeep.store.usage import MOST_COST, used

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)


def test_what_used_nothing_adds_nothing() -> None:
    said = Message(role=Role.USER, content='"usage"', tool_trace=({"usage": {"input_tokens": 9}},))
    assert used(encode(said), NOON) is None
    assert used(encode(Update(title="usage")), NOON) is None


@pytest.mark.parametrize("parts", ['{"usage": {"input_tokens": "many"}}', '{"usage": 1', '{"usage": 7}'])
def test_what_is_damaged_adds_nothing(parts: str) -> None:
    assert used(Row(4, None, None, "", parts), NOON) is None


def test_no_number_is_too_large_to_be_added_up() -> None:
    cost = Cost(amount=Decimal("1e400"), currency="USD" * 100)
    usage = Usage(input_tokens=10**30, output_tokens=1, cost=cost)
    found = used(encode(Message(role=Role.ASSISTANT, usage=usage, model="m" * 500)), NOON)
    assert found is not None
    assert (found.input_tokens, found.output_tokens, found.cost) == (MAX_TOKENS, 1, MOST_COST)
    assert (len(found.model), len(found.currency)) == (100, 100)
    assert json.dumps([found.answers, found.day.isoformat()]) == '[1, "2026-11-19"]'
