"""Following a turn to its end in the terminal: show what happens, cancel at Ctrl-C, ask where a person must agree."""

from collections.abc import Coroutine
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, TurnEnded, TurnWaiting
from threadkeep.conversation.message import Message, ToolCall
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import NotFound
from threadkeep.turn_handle import TurnHandle
from threadkeep_terminal.session import Session
from threadkeep_terminal.turn_view import TurnView, shown_call

PATIENCE = 3
"""Ctrl-C pressed so often in one turn ends the program, because the turn does not stop."""

YES, NO = ("y", "yes"), ("n", "no")


class Interrupt:
    """Ctrl-C was pressed."""


Item = Event | Interrupt | BaseException


class Follower:
    """Follows the turns of one conversation. `failed` tells whether one of them failed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inbox: SimpleQueue[Item] = SimpleQueue()
        self.view = TurnView(session.terminal)
        self.failed = False

    def interrupt(self) -> None:
        """Take note of Ctrl-C; the turn that is being followed will be cancelled. Called by the signal's handler."""
        self._inbox.put(Interrupt())

    def send(self, sending: Coroutine[Any, Any, TurnHandle]) -> None:
        """Begin a turn and follow it to its end."""
        self._inbox = SimpleQueue()
        sent = self._session.background.run(sending)
        self.view.mine.update(_ids_of_question(sent))
        self.follow(sent.number, Cursor(seq=sent.entries[0].seq - 1))

    def resume(self, after: Cursor) -> None:
        """Follow the turns that are open, one after the other, showing what comes behind the cursor."""
        session = self._session
        while turns := session.background.run(session.conversation.turns()):
            self._inbox = SimpleQueue()
            turn = turns[0]
            session.terminal.say(f"(a turn is {turn.state}; following it)")
            if turn.state is TurnState.WAITING and not self._ask_for_approval():
                return
            end = self.follow(turn.number, after)
            if isinstance(end.what, TurnWaiting):
                return
            after = end.cursor

    def follow(self, turn: int, after: Cursor) -> Event:
        """Show everything behind the cursor until this turn ends, or is left waiting; return the event that said so."""
        while True:
            end = self._until_pause(turn, after)
            after = end.cursor
            if not isinstance(end.what, TurnWaiting) or not self._ask_for_approval():
                self.failed |= isinstance(end.what, TurnEnded) and end.what.failure is not None
                return end
            self._inbox = SimpleQueue()

    def _until_pause(self, turn: int, after: Cursor) -> Event:
        inbox, presses = self._inbox, 0
        with self._session.background.pumping(self._session.conversation.turn(turn).events(after), inbox.put):
            while True:
                item = _next_item(inbox)
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, Interrupt):
                    presses += 1
                    self._cancel(presses)
                    continue
                self.view.show(item)
                if item.ends(turn):
                    return item

    def _cancel(self, presses: int) -> None:
        if presses >= PATIENCE:
            raise KeyboardInterrupt
        if presses == 1:
            self._session.background.start(_cancelled(self._session.conversation), self._inbox.put)
        else:
            self._session.terminal.say("(it is being cancelled; Ctrl-C once more leaves)")

    def _ask_for_approval(self) -> bool:
        """Ask about every call that waits; return whether the turn goes on."""
        session = self._session
        for call in session.background.run(session.conversation.waiting_calls()):
            try:
                allowed = self._is_allowed(call)
            except KeyboardInterrupt:
                session.background.run(_cancelled(session.conversation))
                return True
            if allowed is None:
                session.terminal.say("(the turn waits for your answer; it will be asked again when you resume)")
                return False
            session.background.run(_approved(session.conversation, call, allowed))
        return True

    def _is_allowed(self, call: ToolCall) -> bool | None:
        self._session.terminal.say(f"{shown_call(call.name, call.args)} needs your approval.")
        while True:
            answer = self._session.terminal.ask("Allow it? [y/n] ")
            if answer is None:
                return None
            if answer.strip().lower() in (*YES, *NO):
                return answer.strip().lower() in YES


def _next_item(inbox: SimpleQueue[Item]) -> Item:
    """Return what comes next. The timeout makes sure that a signal just before the wait is noticed."""
    while True:
        with suppress(Empty):
            return inbox.get(timeout=1)


def _ids_of_question(sent: TurnHandle) -> set[str]:
    """Return the id of the message that began a turn, also while it is queued."""
    bodies = [entry.body for entry in sent.entries]
    queued = [body.message for body in bodies if isinstance(body, TurnChange)]
    return {message.id for message in (*bodies, *queued) if isinstance(message, Message)}


async def _cancelled(conversation: ConversationHandle) -> None:
    try:
        await conversation.cancel()
    except NotFound:
        return  # it has ended meanwhile


async def _approved(conversation: ConversationHandle, call: ToolCall, allowed: bool) -> None:
    try:
        await conversation.approve(call.id, approved=allowed)
    except NotFound:
        return  # somebody else has answered meanwhile
