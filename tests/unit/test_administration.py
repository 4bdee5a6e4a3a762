"""What administrators do: records of what they look at, signed heads, keys that are shown once."""

from collections.abc import AsyncIterator

import pytest

import threadkeep
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidValue, KeyNotFound

ADA = Scope(tenant="acme", user="ada")


@pytest.fixture
async def conversations() -> AsyncIterator[Conversations]:
    async with threadkeep.open("memory:", model="demo") as conversations:
        yield conversations


async def test_to_get_a_conversation_of_somebody_else_is_on_record_and_an_unknown_one_is_not(
    conversations: Conversations,
) -> None:
    made = await conversations.create(scope=ADA)
    assert (await (await conversations.admin.conversation("acme", made.id)).read()).scope == ADA
    with pytest.raises(ConversationNotFound):
        await conversations.admin.conversation("local", made.id)
    with pytest.raises(ConversationNotFound):
        await conversations.admin.conversation("acme", "unknown")
    acts = await conversations.admin.newest_acts("acme", limit=10, actions=("conversation.read",))
    assert [record.act.object for record in acts] == [f"conversation:{made.id}"]


async def test_a_signed_head_is_taken_only_as_it_was_signed(conversations: Conversations) -> None:
    admin = conversations.admin
    await admin.record("acme", "usage.read", "tenant:acme")
    signed = await admin.signed_head("acme", b"a key of our own")
    await admin.record("acme", "usage.read", "tenant:acme")
    verified = await admin.verify("acme", signed, b"a key of our own")
    assert (verified.records, verified.breaks) == (2, ())
    for wrong in ({**signed, "seq": 2}, {**signed, "hash": "0"}, {"seq": 1}, {}):
        with pytest.raises(InvalidValue):
            await admin.verify("acme", wrong, b"a key of our own")
    with pytest.raises(InvalidValue, match="not signed with this key"):
        await admin.verify("acme", signed)
    with pytest.raises(InvalidValue, match="another tenant"):
        await admin.verify("local", signed, b"a key of our own")


async def test_a_key_is_revoked_in_its_own_tenant_only_and_both_are_on_record(conversations: Conversations) -> None:
    secret, key = await conversations.admin.create_key(ADA, KeyRole.USER)
    assert secret.startswith(key.hint)
    with pytest.raises(KeyNotFound):
        await conversations.admin.revoke_key(key.id, LOCAL.tenant)
    assert (await conversations.admin.revoke_key(key.id, "acme")).revoked_at is not None
    acts = await conversations.admin.newest_acts("acme", limit=10)
    assert [record.act.action for record in acts] == ["key.revoked", "key.created"]
