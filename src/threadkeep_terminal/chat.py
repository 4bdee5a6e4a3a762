"""`threadkeep chat`: talk with an assistant in the terminal, and go on later where you left off.

This module opens the chat and reads its lines. `turn_view` shows what happens in a turn, `follower` follows and cancels
it, and `slash_commands` has the commands with a slash.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from threadkeep.assistants import found_assistants, load_assistant, load_counter
from threadkeep.cli.trust import trusted_settings
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import MCP_PATIENCE, Conversations
from threadkeep.errors import ThreadkeepError
from threadkeep.hosting import Hosting
from threadkeep.runtime import open_conversations
from threadkeep.settings import Settings
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.loop_thread import LoopThread
from threadkeep_terminal.chat_terminal import ChatTerminal, interrupts
from threadkeep_terminal.follower import Follower
from threadkeep_terminal.session import Session, assistant_of, greet, resumed, way_back
from threadkeep_terminal.slash_commands import run_command

SHOWN = 10
"""Messages of the past that are shown when a conversation is resumed."""


def add_chat_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--assistant", metavar="NAME", help="who answers: an installed assistant, or module:name")
    parser.add_argument("--model", metavar="NAME", help="the model that answers: provider:model, or demo")
    parser.add_argument(
        "--store", metavar="URL", help="where conversations are kept (default: sqlite:///threadkeep.db)"
    )
    parser.add_argument(
        "--resume", metavar="ID", nargs="?", const="", help="go on with a conversation (without ID: the newest)"
    )


def run_chat(arguments: argparse.Namespace) -> int:
    """Chat until the input ends or the person leaves."""
    settings, terminal = trusted_settings({"store": arguments.store, "model": arguments.model}), _own_terminal()
    known = found_assistants(settings)
    asked_for = load_assistant(arguments.assistant, known) if arguments.assistant else None
    with LoopThread() as background, _open_chat(background, settings, known, asked_for) as conversations:
        session = _new_session(background, terminal, conversations, arguments, asked_for)
        follower = Follower(session)
        greet(session, settings, arguments)
        with interrupts(follower.interrupt):
            if session.found is not None:
                _catch_up(session, session.found, follower)
            _converse(session, follower)
        if terminal.is_interactive and session.found is not None:
            terminal.say(f"Everything is kept. To go on: {way_back(session, settings, arguments)}")
    return 1 if follower.failed and not terminal.is_interactive else 0


def _own_terminal() -> ChatTerminal:
    """Return the terminal of this process. Bytes that are not UTF-8 are refused later with an error of ours."""
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors=errors)
    return ChatTerminal(sys.stdin, sys.stdout, sys.stderr, os.environ)


@contextmanager
def _open_chat(
    background: LoopThread, settings: Settings, known: Mapping[str, Assistant], asked_for: Assistant | None
) -> Iterator[Conversations]:
    assistants = {**known, **({asked_for.name: asked_for} if asked_for else {})}
    first = asked_for.name if asked_for else next(iter(known))
    ordered = sorted(assistants.values(), key=lambda assistant: assistant.name != first)
    hosting = Hosting(settings=settings, count=load_counter(settings.token_counter))
    opening = open_conversations(
        settings.store, ordered, model=settings.model, mcp=settings.mcp.servers, hosting=hosting
    )
    conversations = background.run(opening)
    try:
        background.run(conversations.mcp.settled(MCP_PATIENCE))
        yield conversations
    finally:
        background.run(conversations.close())


def _new_session(
    background: LoopThread,
    terminal: ChatTerminal,
    conversations: Conversations,
    arguments: argparse.Namespace,
    asked_for: Assistant | None,
) -> Session:
    if arguments.resume is None:
        fields = {"assistant": asked_for.name if asked_for else None, "model": arguments.model}
        assistant = next(iter(conversations.assistants.values()))
        return Session(background, terminal, conversations, assistant, fields=fields)
    found = background.run(resumed(conversations, arguments))
    assistant = assistant_of(conversations, found.value, asked_for)
    return Session(background, terminal, conversations, assistant, id=found.id, found=found)


def _catch_up(session: Session, conversation: ConversationHandle, follower: Follower) -> None:
    """Show the newest messages, and follow what is not finished to its end."""
    present = session.background.run(conversation.snapshot(messages=SHOWN))
    for entry in present.entries:
        if isinstance(entry.body, Message):
            follower.view.message(entry.body)
    follower.resume(Cursor(seq=present.conversation.entries))
    last = session.background.run(conversation.messages(limit=1))
    if last and last[0].role is Role.USER:
        session.terminal.say("(your last message has no answer; /regenerate asks again)")


def _converse(session: Session, follower: Follower) -> None:
    """Take one line after the other; an error is shown, and the next line is asked for."""
    while not session.is_over and (line := _next_line(session.terminal)) is not None:
        try:
            _handle_line(line, session, follower)
        except ThreadkeepError as error:
            follower.failed = True
            session.terminal.complain(error)


def _next_line(terminal: ChatTerminal) -> str | None:
    """Return the next line, None to leave. Ctrl-C drops what was typed; pressed twice, it leaves."""
    presses = 0
    while presses < 2:
        try:
            return terminal.ask("> ")
        except KeyboardInterrupt:
            if not terminal.is_interactive:
                raise
            presses += 1
            if presses == 1:
                terminal.say("(Ctrl-C once more, Ctrl-D or /quit leaves)")
    return None


def _handle_line(line: str, session: Session, follower: Follower) -> None:
    if line.startswith("/") and not line.startswith("//"):
        run_command(line, session, follower)
    elif line.strip():
        text = line.removeprefix("/") if line.startswith("//") else line
        follower.send(session.begin().send(text, attach=session.attached))
        session.attached.clear()
    if session.terminal.is_interactive:
        session.terminal.show("\n")
