"""A conversation on a server, with the verbs of `ConversationHandle`."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from datetime import timedelta
from typing import Any, Literal, Unpack, overload

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, ReadersCounted, SpoolChanged, TurnRetrying
from threadkeep.conversation.message import Message, ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import AnswerOptions, BusyPolicy, SendOptions, TurnState
from threadkeep.conversation.value import Value
from threadkeep.errors import InvalidValue
from threadkeep.loop_turn import LoopTurn
from threadkeep_client.events import conversation_of, entry_of, message_of
from threadkeep_client.files import Attachable, attached
from threadkeep_client.log import Log
from threadkeep_client.loop import RemoteLoops
from threadkeep_client.turn import RemoteTurn
from threadkeep_client.wire import Wire

PAGE = 200
AT_ONCE = {"Prefer": "respond-async"}


class RemoteConversation:
    """One conversation of the user who asks; `replayed` is whether it was there already."""

    def __init__(
        self, wire: Wire, scope: Scope, id: str, value: Conversation | None = None, *, replayed: bool = False
    ) -> None:
        self._log = Log(wire, id)
        self._wire = wire
        self.scope = scope
        self.id = id
        self._value = value
        self.replayed = replayed

    @property
    def value(self) -> Conversation:
        """The conversation as it was when it was created or got; ValueError for a handle that `at` made."""
        if self._value is None:
            raise ValueError("this conversation was not read; call read()")
        return self._value

    async def read(self) -> Conversation:
        """Return the conversation as it is now: title, status, head, version."""
        return conversation_of(await self._log.read(limit=1), self.scope)

    async def update(self, *, expected_version: int | None = None, **fields: Any) -> Conversation:
        """Change `fields` (title, metadata, status, archived, pinned, model, assistant) and return the conversation;
        `StaleVersion` if the version is not the expected one."""
        headers = {} if expected_version is None else {"If-Match": f'"{expected_version}"'}
        return await self._changed("PATCH", "", json=fields, headers=headers)

    async def delete(self) -> None:
        """Delete the conversation; for half a minute it can be restored."""
        await self._wire.call("DELETE", self._log.path)

    async def restore(self) -> Conversation:
        """Bring the conversation back as it was when it was deleted."""
        return await self._changed("POST", "/restore")

    async def clear(self) -> Conversation:
        """Complete the conversation, and let the next message begin a new branch."""
        await self.choose_head(0)
        return await self.update(status="completed")

    async def choose_head(self, head: int, *, expected_version: int | None = None) -> Conversation:
        """Let the next message continue another entry (0: the beginning)."""
        headers = {} if expected_version is None else {"If-Match": f'"{expected_version}"'}
        return await self._changed("PUT", "/head", json={"head": head}, headers=headers)

    async def _changed(self, method: str, path: str, **how: Any) -> Conversation:
        return conversation_of(await self._wire.call(method, f"{self._log.path}{path}", **how), self.scope)

    # Turns

    async def send(
        self,
        content: str | list[Any],
        *,
        attach: Sequence[Attachable] = (),
        parent: int | None = None,
        policy: BusyPolicy | str = BusyPolicy.QUEUE,
        key: str | None = None,
        **how: Unpack[SendOptions],
    ) -> RemoteTurn:
        """Send a message, a text or a list of parts; when this returns it is stored for ever and its turn runs or is
        queued. With the same `key`, or the same `id` of your own, the message is sent only once. `tools` are
        definitions of tools that you run: the turn waits for `give_result` when the model calls one. `without_recall`
        names entries (`{"entry": 3}`) that are not to be recalled for the answer."""
        if attach:
            files = [(await attached(self._wire, file)).model_dump(mode="json") for file in attach]
            said = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
            content = [*files, *said]
        body: dict[str, Any] = {"content": content, "policy": str(policy)}
        given = {"parent": parent, "expected_head": how.get("expected_head"), "id": how.get("id")}
        body |= {name: value for name, value in given.items() if value is not None}
        return await self._begin("/messages", body | _sent(how), key)

    async def regenerate(
        self, entry: int | None = None, *, key: str | None = None, **how: Unpack[AnswerOptions]
    ) -> RemoteTurn:
        """Answer again beside the answer `entry` (none: the newest); with the same `key` only once. `tools` and
        `without_recall` are as to `send`."""
        return await self._begin("/regenerate", ({} if entry is None else {"entry": entry}) | _sent(how), key)

    async def _begin(self, path: str, body: dict[str, Any], key: str | None) -> RemoteTurn:
        begun = await self._wire.call("POST", f"{self._log.path}{path}", json=body, key=key, headers=AT_ONCE)
        log = Log(self._wire, (await self.read()).id) if self._value is None else self._log
        return RemoteTurn(log, begun["turn"]["id"], replayed=begun["turn"]["state"] not in ("running", "queued"))

    async def cancel(self, number: int | None = None) -> int:
        """Stop a turn (none: the one that runs or waits) and return its number."""
        asked = {} if number is None else {"turn": number}
        ended: dict[str, Any] = await self._wire.call("POST", f"{self._log.path}/cancel", params=asked)
        return int(ended["id"])

    async def approve(
        self, tool_call_id: str, *, approved: bool = True, reason: str | None = None, key: str | None = None
    ) -> None:
        """Answer whether a tool call that waits for a person may run; with the same `key` only once."""
        body = {"tool_call_id": tool_call_id, "approved": approved, "reason": reason}
        await self._wire.call("POST", f"{self._log.path}/approve", json=body, key=key)

    async def give_result(
        self, tool_call_id: str, result: Any = None, *, error: str | None = None, key: str | None = None
    ) -> None:
        """Give what a call returned whose tool you run: text, or a value that becomes JSON; or why it failed. The same
        again changes nothing."""
        told = {"result": result} if error is None else {"error": error}
        await self._wire.call("POST", f"{self._log.path}/result", json={"tool_call_id": tool_call_id, **told}, key=key)

    async def give_feedback(
        self, entry: int, rating: Literal["up", "down"] | None, comment: str | None = None, *, key: str | None = None
    ) -> None:
        """Keep what somebody thinks of a message; without a rating, what they thought is taken back."""
        body = {"rating": rating, "comment": comment}
        await self._wire.call("POST", f"{self._log.path}/messages/{entry}/feedback", json=body, key=key)

    async def append(self, *messages: Message, key: str | None = None, parent: int | None = None) -> None:
        """Add messages after the head, or after another entry (0: as a new beginning), without answering them, such as
        a history from elsewhere; with the same `key` only once."""
        place = {} if parent is None else {"parent": parent or None}
        body = {"entries": [entry_of(message) for message in messages], **place}
        await self._wire.call("POST", f"{self._log.path}/entries", json=body, key=key)

    async def turns(self) -> tuple[RemoteTurn, ...]:
        """Return the open turns, oldest first."""
        return tuple(RemoteTurn(self._log, turn["id"]) for turn in (await self._log.read(limit=1))["turns"])

    @overload
    def turn(self, number: int, /) -> RemoteTurn: ...
    @overload
    def turn(self, content: str | list[Any] | None, /, **how: Any) -> AbstractAsyncContextManager[LoopTurn]: ...
    def turn(
        self, of: int | str | list[Any] | None, /, **how: Any
    ) -> RemoteTurn | AbstractAsyncContextManager[LoopTurn]:
        """Return a handle on a turn of this conversation; or a turn that answers a message, for a loop of your own that
        runs inside `async with`."""
        return RemoteTurn(self._log, of) if isinstance(of, int) else self.loops.begin(of, **how)

    @property
    def loops(self) -> RemoteLoops:
        """The turns that loops of your own run."""
        return RemoteLoops(self._log)

    async def waiting_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls that a person has yet to decide about."""
        return await self._waiting(by_client=False)

    async def client_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls that a client has yet to run."""
        return await self._waiting(by_client=True)

    async def _waiting(self, *, by_client: bool) -> tuple[ToolCall, ...]:
        shown = await self._log.read(limit=PAGE)
        turns = [turn for turn in shown["turns"] if turn["state"] == TurnState.WAITING]
        asked = {call for turn in turns for call in turn["calls"] if by_client == (call in turn["client_calls"])}
        calls = [call for message in shown["messages"] for call in message_of(message).tool_calls]
        return tuple(call for call in calls if call.id in asked)

    # Links

    async def share(self, head: int | None = None, *, lasts: timedelta | None = None) -> str:
        """Make a link by which anybody can read the branch up to the entry `head`, and return its path."""
        hours = None if lasts is None else f"{max(round(lasts.total_seconds() / 3600), 1)}h"
        made = await self._wire.call("POST", f"{self._log.path}/shares", json={"head": head, "expires": hours})
        return str(made["path"])

    async def unshare(self, id: str | None = None) -> None:
        """Remove a link, or all of them."""
        await self._wire.call("DELETE", f"{self._log.path}/shares{'' if id is None else f'/{id}'}")

    # Reading

    async def messages(self, limit: int | None = 10, *, head: int | None = None) -> list[Message]:
        """Return the newest messages of a branch (none: the current one), oldest first; all if there is no limit."""
        if limit is not None and limit < 1:
            raise InvalidValue("A limit is at least 1.")
        found: list[dict[str, Any]] = []
        before = None
        while limit is None or len(found) < limit:
            asked = PAGE if limit is None else min(limit - len(found), PAGE)
            page = await self._log.read(limit=asked, head=head, before=before)
            found, before = [*page["messages"], *found], page["before"]
            if before is None:
                break
        return [message_of(shown) for shown in (found if limit is None else found[-limit:])]

    async def cursor(self, text: str | None) -> Cursor | None:
        """Return the cursor behind a text of yours, None if there is none; `InvalidCursor` if it is of elsewhere."""
        return None if text is None else Cursor.decode(text, self.id)

    async def follow(self, after: Cursor | None = None, *, presence: bool = False) -> AsyncGenerator[Event, None]:
        """Yield every event behind the cursor (none: from now on; `Cursor()`: from the beginning), for ever: across
        breaks of the connection, without a gap and without a repeat. With `presence` it also tells what is in no
        log."""
        async with aclosing(self._log.follow(after)) as events:
            async for event in events:
                if presence or not isinstance(event.what, ReadersCounted | TurnRetrying | SpoolChanged):
                    yield event


def _sent(how: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body for tools and for what is not to be recalled, if there are any."""
    lists = {name: how.get(name, ()) for name in ("tools", "without_recall")}
    return {
        name: [each.model_dump(mode="json") if isinstance(each, Value) else each for each in given]
        for name, given in lists.items()
        if given
    }
