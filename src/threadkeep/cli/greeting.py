"""What the terminal chat says at its start: who answers and why, and how to come back."""

import argparse
import shlex

from threadkeep.cli.session import Session
from threadkeep.settings import Settings


def greet(session: Session, settings: Settings, arguments: argparse.Namespace) -> None:
    """Say it. UnknownModel if the model that should answer cannot be loaded."""
    chosen = None if session.found is None else session.background.run(session.conversation.read()).model
    model = session.conversations.model(chosen or arguments.model, session.assistant)
    say = session.terminal.say
    say(f"{model.name} answers. {_reason(session, chosen, arguments)}")
    if model.is_scripted:
        say(f"{model.name} is scripted: it plays fixed answers, and no language model is connected.")
    say(f"This is conversation {session.id}. To go on with it later:")
    say(f"  {way_back(session, settings, arguments)}")
    if session.terminal.is_interactive:
        say("/help lists what else you can do, Ctrl-C stops an answer, Ctrl-D leaves.")


def _reason(session: Session, chosen: str | None, arguments: argparse.Namespace) -> str:
    if arguments.model:
        return "You chose it."
    if chosen:
        return "It was chosen for this conversation."
    if session.assistant.model:
        return f"The assistant {session.assistant.name} asks for it."
    return session.conversations.model_choice.reason


def way_back(session: Session, settings: Settings, arguments: argparse.Namespace) -> str:
    """Return the command that resumes this conversation; it shows no password."""
    words = ["threadkeep", "chat", "--resume", session.id]
    words += ["--assistant", arguments.assistant] if arguments.assistant else []
    words += ["--store", settings.store_without_secrets] if arguments.store else []
    return shlex.join(words)
