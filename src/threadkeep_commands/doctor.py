"""`threadkeep doctor`: checks everything that a server needs, and says how to fix problems.

It changes nothing that is there, unless told to go on without a log: an SQLite file or folder that does not exist yet
is not made. A check takes the settings and yields findings; it never raises and never waits for long.
"""

import argparse
import asyncio
import json
import logging
import os
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import NamedTuple

from threadkeep.assistants import EXTRA, found_assistants, load_counter, missing_assistants
from threadkeep.cli.settings_loading import add_setting_flags, given_flags, unknown_variables
from threadkeep.cli.trust import trusted_settings
from threadkeep.errors import PackageMissing, StoreNotMigrated, StoreTooNew, ThreadkeepError
from threadkeep.llm.choice import choose_model
from threadkeep.llm.loading import load_model
from threadkeep.rings import A_SPOOL, PROTOCOLS, SPOOLS, load, offered
from threadkeep.runtime import open_unanswered, pending_migrations, set_log_aside, store_path
from threadkeep.server.middleware.origins import is_loopback
from threadkeep.settings import Settings
from threadkeep.tools.mcp import Connected, McpServers


class Grade(StrEnum):
    """How good it is: a warning does not keep a server from working."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    """What was looked at, what was found, and what to do about it."""

    grade: Grade
    what: str
    said: str
    advice: str | None = None


MCP_SECONDS = 15.0
MEGABYTE = 1024**2
LITTLE_SPACE = 1024 * MEGABYTE
NO_SPACE = 50 * MEGABYTE
CLOCK_SECONDS = 120.0


async def check_store(settings: Settings) -> AsyncIterator[Finding]:
    """Open the store, which checks its schema, and try to write; a store that would be migrated is not opened."""
    shown, path = settings.store_without_secrets, _store_path(settings)
    if path is not None and not path.exists():
        yield _will_be_made(shown, path)
        return
    try:
        pending = pending_migrations(settings.store) if path is not None else []
        with _store_warnings() as warnings:
            yield _will_be_migrated(shown, pending) if pending else await _try_store(shown, settings.store)
        for warning in warnings:
            yield Finding(Grade.WARN, "store", warning.getMessage())
    except ThreadkeepError as error:
        yield Finding(Grade.FAIL, "store", f"{shown}: {error}", _store_advice(error))


@contextmanager
def _store_warnings() -> Iterator[list[logging.LogRecord]]:
    """Collect warnings that are logged while a store is opened, to report them as findings."""
    logger, listener = logging.getLogger("threadkeep.store"), BufferingHandler(1_000)
    listener.setLevel(logging.WARNING)
    logger.addHandler(listener)
    try:
        yield listener.buffer
    finally:
        logger.removeHandler(listener)


async def _try_store(shown: str, url: str) -> Finding:
    async with await open_unanswered(url) as conversations:
        await conversations.ping()
    return Finding(Grade.OK, "store", f"{shown} can be read and written, and its schema is current")


def _will_be_migrated(shown: str, pending: list[str]) -> Finding:
    text = f"{shown} is of an earlier release; opening it makes a copy beside it, then applies {', '.join(pending)}"
    return Finding(Grade.WARN, "store", text, "keep that copy for as long as you may want to go back to that release")


def _will_be_made(shown: str, path: Path) -> Finding:
    folder = _existing_folder(path.absolute().parent)
    if os.access(folder, os.W_OK | os.X_OK):
        return Finding(Grade.OK, "store", f"{shown} does not exist yet and will be made")
    return Finding(Grade.FAIL, "store", f"{shown} cannot be made in {folder}", "allow it, or choose another --store")


def _store_advice(error: ThreadkeepError) -> str:
    if isinstance(error, StoreNotMigrated):
        return "threadkeep migrate --store URL"
    return "upgrade Threadkeep" if isinstance(error, StoreTooNew) else "check the URL, the rights and the database"


async def check_spool(settings: Settings) -> AsyncIterator[Finding]:
    """Tell what was found to be wrong with the spool."""
    if settings.spool_dir is None:
        return
    try:
        damage = load(SPOOLS, "damage", A_SPOOL)(Path(settings.spool_dir))
    except PackageMissing as error:
        yield Finding(Grade.FAIL, "spool", str(error), "install Threadkeep whole, or serve without a spool")
        return
    if damage is not None:
        advice = "put back what is missing or kept aside, then remove the file `damage` from the folder of the spool"
        yield Finding(Grade.FAIL, "spool", damage, advice)


async def check_disk(settings: Settings) -> AsyncIterator[Finding]:
    """Look how much room is left where the store is."""
    path = _store_path(settings)
    if path is None:
        return
    folder = _existing_folder(path.absolute().parent)
    free = shutil.disk_usage(folder).free
    text = f"{free // MEGABYTE} MB free in {folder}"
    if free < NO_SPACE:
        yield Finding(Grade.FAIL, "disk", text, "make room: messages can soon not be stored any more")
    elif free < LITTLE_SPACE:
        yield Finding(Grade.WARN, "disk", text, "make room")
    else:
        yield Finding(Grade.OK, "disk", text)


async def check_model(settings: Settings) -> AsyncIterator[Finding]:
    """Choose the model as a server would, and load it; no provider is called."""
    choice = await choose_model(settings.model, os.environ)
    try:
        load_model(choice.name)
    except ThreadkeepError as error:
        yield Finding(Grade.FAIL, "model", f"{choice.name}: {error}", "install what is missing, or choose --model")
        return
    if choice.name == "demo":
        advice = "set a provider's key, such as OPENAI_API_KEY, or --model"
        yield Finding(Grade.WARN, "model", f"demo, whose answers are scripted. {choice.reason}", advice)
    else:
        yield Finding(Grade.OK, "model", f"{choice.name}. {choice.reason}")


async def check_mcp(settings: Settings) -> AsyncIterator[Finding]:
    async with McpServers(settings.mcp.servers) as servers:
        await servers.settled(MCP_SECONDS)
        states = servers.states()
    for state in states:
        what = f"mcp {state.server}"
        if state.state is Connected.READY:
            yield Finding(Grade.OK, what, f"connected, with {state.tools} tools")
        else:
            reason = state.reason or f"no answer within {MCP_SECONDS:g} seconds"
            yield Finding(Grade.FAIL, what, reason, f"check [mcp.servers.{state.server}] in threadkeep.toml")


async def check_port(settings: Settings) -> AsyncIterator[Finding]:
    place = f"{settings.host}:{settings.port}"
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        socket.create_server((settings.host, settings.port), family=family).close()
        yield Finding(Grade.OK, "port", f"{place} is free")
    except OSError as error:
        if _is_ours(settings.host, settings.port):
            yield Finding(Grade.WARN, "port", f"a Threadkeep server listens on {place} already")
        else:
            reason = (error.strerror or str(error)).partition(" (while")[0]
            yield Finding(
                Grade.FAIL, "port", f"cannot listen on {place}: {reason}", "choose another --port, or another --host"
            )


def _is_ours(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/health/live")
        return b'"status"' in connection.getresponse().read(100)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


async def check_clock(settings: Settings) -> AsyncIterator[Finding]:
    """Compare the clock with files that were written before now."""
    path = _store_path(settings)
    written = [Path(__file__), *([path] if path is not None and path.exists() else [])]
    behind = max(file.stat().st_mtime for file in written) - time.time()
    if behind > CLOCK_SECONDS:
        advice = "set the clock, best by NTP: ids and leases need it"
        yield Finding(Grade.WARN, "clock", f"the clock is {behind:.0f} seconds behind a file of ours", advice)
    else:
        yield Finding(Grade.OK, "clock", f"{time.strftime('%Y-%m-%d %H:%M:%S %z')}, plausible")


def _store_path(settings: Settings) -> Path | None:
    """Return where the store is on this machine; None if it is elsewhere, in memory or nowhere."""
    try:
        return store_path(settings.store)
    except ThreadkeepError:
        return None


def _existing_folder(folder: Path) -> Path:
    return next((each for each in (folder, *folder.parents) if each.exists()), Path("/"))


async def check_variables(settings: Settings) -> AsyncIterator[Finding]:
    """Find variables that look like settings but have no effect, such as misspelt ones."""
    for name in unknown_variables(os.environ):
        advice = "threadkeep config lists the settings; unset it if it belongs to something else"
        yield Finding(Grade.WARN, "variable", f"{name} is set, but there is no such setting", advice)


async def check_assistants(settings: Settings) -> AsyncIterator[Finding]:
    """Load every assistant, and the counter of tokens, as a server would."""
    try:
        known = found_assistants(settings)
        load_counter(settings.token_counter)
    except ThreadkeepError as error:
        advice = "install what is missing, or correct the settings"
        yield Finding(Grade.FAIL, "assistants", str(error), advice)
        return
    yield Finding(Grade.OK, "assistants", ", ".join(known))
    if missing := missing_assistants(known):
        yield Finding(Grade.WARN, "assistants", f"{', '.join(missing)} cannot be loaded", f"if you want them, {EXTRA}")
    protocols = {point.name for point in offered(PROTOCOLS)}
    for dialect, name in settings.dialects:
        if dialect not in protocols:
            text = f"no installed package offers the dialect {dialect}; its addresses are not served"
            yield Finding(Grade.WARN, "dialects", text, "install Threadkeep whole, if older clients use it")
        elif name not in known:
            text = f"{name}, which is to answer in the dialect {dialect}, is not there; {next(iter(known))} answers"
            advice = f"if older clients come, {EXTRA}, or name another assistant: [dialects] in a threadkeep.toml"
            yield Finding(Grade.WARN, "dialects", text, advice)


async def check_files(settings: Settings) -> AsyncIterator[Finding]:
    """Say what cannot be read of attached files."""
    missing = [
        what
        for what, package in (("the text of PDF files", "pypdf"), ("smaller copies of large images", "PIL"))
        if not find_spec(package)
    ]
    if missing:
        text = f"models do not get {' or '.join(missing)}"
        yield Finding(Grade.WARN, "files", text, "if you want that, pip install 'threadkeep[files]'")


async def check_address(settings: Settings) -> AsyncIterator[Finding]:
    """Find an address that a server refuses to listen on."""
    if settings.auth == "none" and not is_loopback(settings.host):
        advice = "make a key with 'threadkeep keys create --tenant T --user U' and serve with --auth keys"
        text = f"{settings.host} is not a loopback address, and nobody would be asked who they are"
        yield Finding(Grade.FAIL, "address", text, advice)


CHECKS: tuple[Callable[[Settings], AsyncIterator[Finding]], ...] = (
    check_variables,
    check_clock,
    check_disk,
    check_store,
    check_spool,
    check_model,
    check_assistants,
    check_mcp,
    check_files,
    check_address,
    check_port,
)


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    add_setting_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--set-log-aside",
        action="store_true",
        help="first go on with what an SQLite file and its -wal still hold; a log that does not fit is moved away",
    )


def run_doctor(arguments: argparse.Namespace) -> int:
    """Check, print a line for each finding, and return 1 if something would keep a server from working."""
    settings = trusted_settings(given_flags(arguments))
    if arguments.set_log_aside and (done := set_log_aside(settings.store)):
        print(done, file=sys.stderr)
    findings = asyncio.run(_run_checks(settings, as_lines=not arguments.json))
    if arguments.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=2))
    return 1 if any(finding.grade is Grade.FAIL for finding in findings) else 0


async def _run_checks(settings: Settings, *, as_lines: bool) -> list[Finding]:
    findings = []
    for check in CHECKS:
        async for finding in check(settings):
            findings.append(finding)
            if as_lines:
                _print_finding(finding)
    return findings


def _print_finding(finding: Finding) -> None:
    """Print a finding as soon as it is there, because other checks may take long."""
    advice = f" -> {finding.advice}" if finding.advice else ""
    print(f"{finding.grade:<4}  {finding.what:<12}  {finding.said}{advice}")
    sys.stdout.flush()
