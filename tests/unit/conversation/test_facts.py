"""What is known of a conversation is the fold of its updates, and a field of it is declared once."""

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import LARGE, ConversationFacts, ListedFacts, SomeFacts, Status
from threadkeep.store.codec import decode_facts, encode_facts


def test_an_update_changes_what_it_names_and_nothing_else() -> None:
    before = NewConversation(title="Otters", system="Be brief.", metadata={"a": 1}).facts()
    after = before.after(Update(title="Seals", archived=True)).after(Update(metadata={}, status=Status.COMPLETED))
    expected = ConversationFacts(title="Seals", system="Be brief.", archived=True, status=Status.COMPLETED)
    assert after == expected
    assert after.after(Update()) == after


def test_everything_that_lists_show_but_the_name_can_be_changed_and_filtered_by() -> None:
    assert set(ListedFacts.model_fields) == {"name", *SomeFacts.model_fields}


def test_facts_come_back_from_their_documents_in_which_nothing_usual_stands() -> None:
    facts = ConversationFacts(title="\x00", metadata={"b": 1, "a": [None]}, pinned=True)
    listed, large = encode_facts(facts)
    assert (listed, large) == ({"title": "\x00", "pinned": True}, {"metadata": {"b": 1, "a": [None]}})
    assert ConversationFacts(**decode_facts(listed, large)) == facts
    assert encode_facts(ConversationFacts()) == ({}, {})
    assert large.keys() <= LARGE
