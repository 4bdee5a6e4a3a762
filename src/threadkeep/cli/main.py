"""The entry point of `threadkeep`: finds the command, and turns errors into one line and an exit status.

A command NAME is two functions of a module, `add_NAME_arguments` and `run_NAME`, which may be asynchronous. The module
is imported only when it is called, so that `threadkeep --help` is quick and loads no server and no driver.
"""

import argparse
import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from threadkeep import __version__
from threadkeep.conversation.caller import CALLER, SYSTEM, Caller
from threadkeep.errors import ThreadkeepError

COMMANDS = {
    "chat": "talk with an assistant in the terminal",
    "serve": "serve the store and its page over HTTP",
    "index": "fill and search an index of documents for assistants to look things up in",
    "list": "list conversations, the last active first, and what they cost",
    "search": "find messages and titles",
    "keys": "make, list and revoke API keys",
    "logins": "list the browsers that are signed in, and sign them out",
    "share": "make, list and take back the links by which anybody can read a conversation",
    "audit": "list who did what, sign the end of that list, and verify that nothing of it was changed",
    "migrate": "bring a store's schema up to date",
    "export": "write conversations to a file",
    "import": "take in conversations from a file or another program's database",
    "copy": "copy everything from one store to another",
    "backup": "write everything to a file while it is in use, and check it",
    "restore": "fill a store from a backup",
    "retention": "delete what is kept no longer, or show what would go, why and when",
    "hold": "keep conversations, users and tenants from being deleted",
    "erase": "erase a person and all that is stored about them",
    "cells": "show how many cells a tenant in PostgreSQL has, or give it more",
    "webhooks": "list what gets what happens in a tenant, test it, and show what was given up",
    "spool": "show and write what is kept on this disk because the database was away",
    "trust": "use the threadkeep.toml of this folder",
    "config": "show every setting and where it came from",
    "doctor": "check store, model, tool servers and port",
}
OURS = ("serve", "migrate", "trust")
"""The commands of the core, each in the module of its name; the others are in packages around it."""


def main(argv: Sequence[str] | None = None) -> int:
    _stand_in_for_closed_streams()
    parser = _main_parser()
    called = parser.parse_args(argv)
    if called.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        status = _run_command(called.command, called.arguments)
        sys.stdout.flush()  # an error is handled below, and not shown by Python at its end
        return status
    except ThreadkeepError as error:
        return _complain(str(error))
    except BrokenPipeError:
        _write_nothing_more()  # nobody reads any more, as behind `| head`
        return 1
    except OSError as error:
        _write_nothing_more()
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except KeyboardInterrupt:
        return 130


def _complain(reason: str) -> int:
    print(f"threadkeep: {' '.join(reason.split())}", file=sys.stderr)
    return 1


def _stand_in_for_closed_streams() -> None:
    """Replace standard streams that the caller has closed, which are None, by the null device."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _write_nothing_more() -> None:
    """Redirect the remaining output to nowhere, so that flushing it does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main_parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<10}{purpose}" for name, purpose in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="threadkeep",
        description="Threadkeep keeps conversations with language models.",
        epilog=f"commands:\n{listing}\n\n'threadkeep <command> --help' explains a command.",
        usage="threadkeep [-h] [--version] command ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"threadkeep {__version__}")
    parser.add_argument("command", nargs="?", choices=COMMANDS, metavar="command", help="one of the commands below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the command's own arguments")
    return parser


def _module_of(name: str) -> ModuleType:
    if name in OURS:
        return importlib.import_module(f"threadkeep.cli.{name}")
    rings = importlib.import_module("threadkeep.rings")
    module: ModuleType = rings.load(rings.COMMANDS, name, f"the command {name}")
    return module


def _run_command(name: str, argv: Sequence[str]) -> int:
    module = _module_of(name)
    parser = argparse.ArgumentParser(prog=f"threadkeep {name}", description=COMMANDS[name], allow_abbrev=False)
    parser.add_argument("--config", metavar="FILE", help="the file of settings (default: threadkeep.toml, if trusted)")
    getattr(module, f"add_{name}_arguments")(parser)
    arguments = parser.parse_args(argv)
    if arguments.config is not None:
        os.environ["THREADKEEP_CONFIG"] = arguments.config  # for whatever reads settings
    before = CALLER.set(SYSTEM if name == "serve" else Caller("operator"))
    try:
        run = getattr(module, f"run_{name}")
        return int(asyncio.run(run(arguments)) if inspect.iscoroutinefunction(run) else run(arguments))
    finally:
        CALLER.reset(before)


if __name__ == "__main__":
    sys.exit(main())
