"""What can be done in the terminal chat besides talking: lines that begin with a slash.

A line that begins with two slashes is a message that begins with one.
"""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from threadkeep.conversation.conversation import Branch
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.errors import InvalidValue, NotFound
from threadkeep_pages.markdown_export import to_markdown
from threadkeep_terminal.follower import Follower
from threadkeep_terminal.session import Session

SHOWN = 20
"""Messages that `/history` shows unless it is told how many."""
OVERWRITE = "--overwrite"
_WIDEST = 50


class SlashCommand(NamedTuple):
    """A command: how it is written, what it is for, and what it does with the text behind its name."""

    usage: str
    purpose: str
    do: Callable[[Session, Follower, str], None]


def run_command(line: str, session: Session, follower: Follower) -> None:
    name, _, argument = line.removeprefix("/").partition(" ")
    if name not in COMMANDS and session.assistant.agent is not None:
        # An assistant that leads a conversation may know commands of its own: /status.
        follower.send(session.begin().send(line))
        return
    if name not in COMMANDS:
        meant = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean /{meant[0]}?" if meant else "/help lists them."
        raise InvalidValue(f"There is no command /{name}; {hint}")
    COMMANDS[name].do(session, follower, argument.strip())


def _help(session: Session, _follower: Follower, _argument: str) -> None:
    for command in COMMANDS.values():
        session.terminal.say(f"  {command.usage:<26}{command.purpose}")
    session.terminal.say("  Ctrl-C stops an answer. A message that begins with a slash is written with two.")


def _branch(session: Session, _follower: Follower, argument: str) -> None:
    branches = session.background.run(session.conversation.snapshot()).tree.branches()
    if not argument:
        for number, branch in enumerate(branches, start=1):
            mark = "*" if branch.is_current else " "
            session.terminal.say(f"{mark} {number}  {session.background.run(_described(session, branch))}")
        return
    if not argument.isdecimal() or not 1 <= int(argument) <= len(branches):
        raise InvalidValue(f"The branches are numbered from 1 to {len(branches)}.")
    chosen = branches[int(argument) - 1]
    session.background.run(session.conversation.choose_head(chosen.head))
    session.terminal.say(f"(now on branch {argument}: {session.background.run(_described(session, chosen))})")


async def _described(session: Session, branch: Branch) -> str:
    """Return the newest question of a branch and what was last said to it, in one line."""
    said: list[str] = []
    async for entry in session.conversation.reading.backwards(head=branch.head):
        if isinstance(entry.body, Message) and entry.body.content:
            if entry.body.role is Role.USER:
                return " → ".join(map(_short, [entry.body.content, *said[:1]]))
            said.append(entry.body.content)
    return _short(said[0]) if said else "(nothing said)"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:_WIDEST]}…" if len(line) > _WIDEST else line


def _edit(session: Session, follower: Follower, argument: str) -> None:
    asked, message = session.background.run(_last_question(session))
    text = argument or session.terminal.ask("edit> ", message.content)
    if not text or text == message.content:
        session.terminal.say("(left as it was)")
        return
    files = [part for part in message.parts if isinstance(part, Attachment)]
    follower.send(session.conversation.send(text, attach=files, parent=asked.parent or 0))


async def _last_question(session: Session) -> tuple[Entry, Message]:
    async for entry in session.conversation.reading.backwards():
        if isinstance(entry.body, Message) and entry.body.role is Role.USER:
            return entry, entry.body
    raise NotFound("There is no message of yours to edit.")


def _attach(session: Session, _follower: Follower, argument: str) -> None:
    if not argument:
        session.attached.clear()
        session.terminal.say("(nothing goes with your next message)")
        return
    file = Path(argument.strip("'\"")).expanduser()
    session.attached.append(session.background.run(session.conversations.attach(file)))
    session.terminal.say(f"({session.attached[-1].label} goes with your next message)")


def _regenerate(session: Session, follower: Follower, _argument: str) -> None:
    follower.send(session.conversation.regenerate())


def _history(session: Session, follower: Follower, argument: str) -> None:
    if argument and (not argument.isdecimal() or not int(argument)):
        raise InvalidValue(f"/history takes how many messages to show, not {argument!r}.")
    limit = int(argument) if argument else SHOWN
    for message in session.background.run(session.conversation.messages(limit=limit)):
        follower.view.message(message)


def _export(session: Session, _follower: Follower, argument: str) -> None:
    name = argument.removesuffix(OVERWRITE).strip() or f"{session.conversation.id}.md"
    text = session.background.run(_markdown(session))
    try:
        with Path(name).expanduser().open("w" if argument.endswith(OVERWRITE) else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidValue(f"{name} is there already; /export {name} {OVERWRITE} replaces it.") from None
    except OSError as error:
        raise InvalidValue(f"{name} cannot be written: {error.strerror}") from None
    session.terminal.say(f"(this branch is in {name})")


async def _markdown(session: Session) -> str:
    entries = [entry async for entry in session.conversation.reading.branch()]
    return to_markdown(await session.conversation.read(), entries)


def _quit(session: Session, _follower: Follower, _argument: str) -> None:
    session.is_over = True


COMMANDS = {
    "attach": SlashCommand("/attach [FILE]", "attach a file to your next message; without FILE, none", _attach),
    "branch": SlashCommand("/branch [N]", "list the branches, or go on from branch N", _branch),
    "edit": SlashCommand("/edit [TEXT]", "say your last message differently, on a new branch", _edit),
    "regenerate": SlashCommand("/regenerate", "have your last message answered again, on a new branch", _regenerate),
    "history": SlashCommand("/history [N]", f"show the newest N messages of this branch ({SHOWN})", _history),
    "export": SlashCommand(
        "/export [FILE]", f"write this branch to a Markdown file ({OVERWRITE} replaces it)", _export
    ),
    "help": SlashCommand("/help", "list these commands", _help),
    "quit": SlashCommand("/quit", "leave; Ctrl-D does so too", _quit),
}
