"""A Threadkeep server from Python, with the surface that programs use in the process:

    async with threadkeep.connect("https://chat.example", key) as conversations:
        conversation = await conversations.create()
        turn = await conversation.send("Hello")
        print(await turn.answer())

A ring: `threadkeep.connect` and `threadkeep.client` are its names. `connect_sync` is the same for programs without
`asyncio`.
"""

from threadkeep_client.blocking import connect_sync
from threadkeep_client.conversation import RemoteConversation
from threadkeep_client.conversations import RemoteConversations
from threadkeep_client.opening import connect
from threadkeep_client.turn import RemoteTurn
from threadkeep_client.wire import ServerUnreachable

__all__ = [
    "RemoteConversation",
    "RemoteConversations",
    "RemoteTurn",
    "ServerUnreachable",
    "connect",
    "connect_sync",
]
