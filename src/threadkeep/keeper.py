"""A running Threadkeep: a store, the turns that run on it, and handles on conversations for Python programs.

Made by `threadkeep.open`, which is all that a program needs to know of this file.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from threadkeep.background import supervised
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, MessageCompleted
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation.value import checked
from threadkeep.errors import InvalidValue
from threadkeep.jobs.purge_deleted import purge_deleted
from threadkeep.jobs.recover_turns import EVERY_SECONDS, recover_turns
from threadkeep.llm.choice import Choice
from threadkeep.store.base import Begun, Created, Store
from threadkeep.store.history import newest_messages
from threadkeep.tools.mcp.servers import McpServers
from threadkeep.turn.assistant import Assistant
from threadkeep.turn.desk import Desk
from threadkeep.turn.notify_bridge import NotifyBridge
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.accept import BusyPolicy, Sending

logger = logging.getLogger(__name__)

MCP_PATIENCE = 10.0


def log_created(created: Created) -> None:
    """Log that a conversation was created, or found again by the key of the request (R-B5)."""
    logger.debug("conversation %s %s", created.conversation.id, "reused" if created.replayed else "created")


def log_reused(conversation: str) -> None:
    """Log that somebody goes on with a conversation."""
    logger.debug("conversation %s reused", conversation)


class Keeper:
    """Keeps conversations and answers in them. Close it, or use it in `async with`."""

    def __init__(
        self,
        store: Store,
        runner: TurnRunner,
        model_choice: Choice,
        assistants: Mapping[str, Assistant],
        mcp: McpServers,
        *,
        patience: float = 5.0,
        recover_every: float = EVERY_SECONDS,
    ) -> None:
        self.store = store
        self.model_choice = model_choice
        self.assistants = assistants
        self.mcp = mcp
        self.runner = runner
        self.desk = Desk(runner)
        self._patience = patience
        self._jobs = [
            _task("recovering turns", lambda: self._recover(recover_every)),
            _task("purging what was deleted", lambda: purge_deleted(store)),
        ]
        channel = store.notify_channel()
        bridge = NotifyBridge(runner.deps.bus, channel, runner.changed_elsewhere) if channel else None
        self._bridge = _task("telling other processes", bridge.run) if bridge else None

    async def _recover(self, every: float) -> None:
        # A turn may need a tool of an MCP server: they get a moment to connect before turns are taken up.
        await self.mcp.settled(MCP_PATIENCE)
        await recover_turns(self.runner, every)

    @checked
    async def create(self, *, scope: Scope = LOCAL, key: IdempotencyKey | None = None, **fields: Any) -> "Chat":
        """Create a conversation; `fields` are those of `NewConversation`: assistant, title, system, model, id..."""
        created = await self.store.create(scope, NewConversation(**fields), key=key)
        log_created(created)
        return Chat(self, scope, created.conversation.id)

    @checked
    async def get(self, conversation: str, *, scope: Scope = LOCAL) -> "Chat":
        """Return a handle on a conversation that exists."""
        found = await self.store.get(scope, conversation)
        log_reused(found.id)
        return Chat(self, scope, found.id)

    def check_assistant(self, name: str | None) -> None:
        """Refuse the name of an assistant that is not there."""
        if name is not None and name not in self.assistants:
            raise InvalidValue(f"There is no assistant named {name}.")

    def changed(self, scope: Scope, conversation: str | None = None) -> None:
        """Tell readers that a conversation, or just the list of them, was changed through the store."""
        if conversation is not None:
            self.runner.deps.bus.publish(scope.tenant, conversation)
        self.runner.deps.bus.publish_list(scope.tenant, scope.user)

    async def finish_turns(self, patience: float) -> None:
        """Begin no new turns, let running ones end for so many seconds, and leave the rest for recovery."""
        self.runner.deps.admission.close()
        await _ended(*self._jobs)
        await self.runner.close(patience)

    async def close(self) -> None:
        """Let running turns end for a moment, leave the rest for recovery, and close the store."""
        await self.finish_turns(self._patience)
        if self._bridge is not None:
            await _ended(self._bridge)
        await self.mcp.close()
        await self.store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _task(name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
    return asyncio.create_task(supervised(name, work), name=name)


async def _ended(*tasks: asyncio.Task[None]) -> None:
    """End tasks that would run for ever."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Chat:
    """A handle on one conversation of one user."""

    def __init__(self, keeper: Keeper, scope: Scope, id: str) -> None:
        self._keeper = keeper
        self.scope = scope
        self.id = id

    @checked
    async def send(
        self,
        content: str,
        *,
        parent: int | None = None,
        expected_head: int | None = None,
        policy: BusyPolicy | str = BusyPolicy.QUEUE,
        key: str | None = None,
    ) -> "SentTurn":
        """Send a message; when this returns it is stored for ever and its turn runs or is queued.

        `parent` continues another entry than the head (a branch); the same `key` sends the same message only once.
        """
        try:
            chosen = BusyPolicy(policy)
        except ValueError:
            raise InvalidValue("A policy is one of queue, reject, interrupt and rollback.") from None
        sending = Sending(
            content=content,
            parent=parent,
            expected_head=expected_head,
            policy=chosen,
            key=self._key("send", key, [content, parent]),
        )
        return SentTurn(self, await self._keeper.desk.send(self.scope, self.id, sending))

    @checked
    async def regenerate(self, entry: int | None = None, *, key: str | None = None) -> "SentTurn":
        """Answer again beside the answer `entry` (none: the newest); with the same `key` only once."""
        named = self._key("regenerate", key, [entry])
        return SentTurn(self, await self._keeper.desk.regenerate(self.scope, self.id, entry=entry, key=named))

    async def cancel(self) -> None:
        """Stop the running turn; what was said of the answer is kept and marked."""
        await self._keeper.desk.cancel(self.scope, self.id)

    @checked
    async def approve(
        self, tool_call_id: str, *, approved: bool = True, reason: str | None = None, key: str | None = None
    ) -> None:
        """Answer whether a tool call that waits for a person may run; with the same `key` only once."""
        named = self._key("approve", key, [tool_call_id, approved, reason])
        desk = self._keeper.desk
        await desk.approve(self.scope, self.id, tool_call_id, approved=approved, reason=reason, key=named)

    def _key(self, verb: str, key: str | None, body: list[Any]) -> IdempotencyKey | None:
        return None if key is None else IdempotencyKey.of(f"{verb} {self.id}", key, body)

    @checked
    def follow(self, after: Cursor | None = None) -> AsyncGenerator[Event, None]:
        """Yield every event behind the cursor (none: from now on; `Cursor()`: from the beginning), for ever."""
        return self._keeper.desk.follow(self.scope, self.id, after)

    @checked
    async def messages(self, *, limit: int = 10, head: int | None = None) -> list[Message]:
        """Return the newest messages of a branch (none: the current one), oldest first."""
        found = await newest_messages(self._keeper.store, self.scope, self.id, limit=limit, head=head)
        return [message for _, message in found]

    async def is_waiting(self) -> bool:
        """Return whether a turn waits for a person."""
        turns = await self._keeper.store.turns(self.scope, self.id)
        return any(turn.state is TurnState.WAITING for turn in turns)

    async def tree(self) -> Tree:
        """Return the shape of the tree: branches, siblings, paths."""
        return await self._keeper.store.tree(self.scope, self.id)

    async def conversation(self) -> Conversation:
        """Return the conversation as it is now: title, status, head, version."""
        return await self._keeper.store.get(self.scope, self.id)


class SentTurn:
    """A turn that was begun or queued."""

    def __init__(self, chat: Chat, begun: Begun) -> None:
        self._chat = chat
        self._begun = begun
        self.number = begun.turn
        self.entries = begun.entries
        self.replayed = begun.replayed

    def events(self) -> AsyncGenerator[Event, None]:
        """Yield what happens in the conversation from the message on, until this turn ends or waits for a person."""
        return self._chat._keeper.desk.follow_turn(self._chat.scope, self._chat.id, self._begun)

    async def answer(self) -> Message | None:
        """Wait for the end of the turn and return its answer, whole or cut off; None if there is none."""
        answer = None
        async for event in self.events():
            if isinstance(event.what, MessageCompleted) and event.what.turn == self.number:
                message = event.what.message
                answer = message if message.role is Role.ASSISTANT else answer
        return answer
