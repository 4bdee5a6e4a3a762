"""Pages of a conversation for a model: by messages and by characters."""

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.runtime import open_conversations
from threadkeep_protocols.mcp.pages import MOST_CHARACTERS, read_page


async def filled(conversations: Conversations, *texts: str) -> ConversationHandle:
    """Return a conversation with these messages."""
    made = await conversations.create(title="Animals")
    await made.append(*(Message(role=Role.USER, content=text) for text in texts))
    return made


async def test_a_page_has_the_newest_messages_and_says_where_the_older_ones_are() -> None:
    async with await open_conversations("memory:") as conversations:
        chat = await filled(conversations, "first", "second", "third")
        page = await read_page(chat, 2)
        assert ("first" in page.text, "second" in page.text, "third" in page.text) == (False, True, True)
        assert "before=2" in page.text
        older = await read_page(chat, 2, page.before)
        assert "first" in older.text
        assert older.before is None


async def test_a_page_ends_early_where_its_messages_are_long_and_cuts_one_that_is_too_long() -> None:
    async with await open_conversations("memory:") as conversations:
        long = "word " * (MOST_CHARACTERS // 8)
        chat = await filled(conversations, long + "one", long + "two", long * 4 + "three")
        page = await read_page(chat, 50)
        assert ([each["entry"] for each in page.messages], page.before) == ([3], 3)
        assert "This message goes on" in page.text
        older = await read_page(chat, 50, page.before)
        assert ([each["entry"] for each in older.messages], older.before) == ([2], 2)
        assert len(older.text) <= MOST_CHARACTERS + 500


async def test_an_empty_conversation_has_an_empty_page() -> None:
    async with await open_conversations("memory:") as conversations:
        page = await read_page(await conversations.create(), 50)
        assert (page.messages, page.before) == ([], None)
