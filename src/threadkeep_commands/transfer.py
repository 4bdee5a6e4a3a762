"""`threadkeep export`, `import`, `copy`, `backup` and `restore`: conversations in and out of stores.

A file is written under another name and renamed when it is complete. Conversations that cannot be imported are reported
on the standard error, one line each, and the others are imported. Formats and rules are in `transfer/`.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from urllib.parse import quote

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import ImportDamaged, InvalidValue, StoreCorrupt
from threadkeep.runtime import back_up_file, pending_migrations
from threadkeep.transfer.exporter import EXPORTED, Selection
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.jsonl import Written, written
from threadkeep.transfer.moving import RECORDS, ExportFormat
from threadkeep.transfer.portable import ImportProblem, Portable
from threadkeep.transfer.sources import is_sqlite, read_items, read_source
from threadkeep_commands.opening import add_store_flag, add_tenant_flag, checked_settings, opened
from threadkeep_commands.progress import Progress


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep export`."""
    add_store_flag(parser)
    add_tenant_flag(parser)
    parser.add_argument("--user", help="of this user only")
    parser.add_argument("--conversation", metavar="ID", help="this one only")
    parser.add_argument(
        "--format", type=ExportFormat, choices=list(ExportFormat), help="default: zip for FILE.zip, else jsonl"
    )
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="what to write (default: standard output)")


async def run_export(arguments: argparse.Namespace) -> int:
    """Write the export."""
    user = arguments.user or (LOCAL.user if arguments.conversation and arguments.tenant == LOCAL.tenant else None)
    if arguments.conversation and user is None:
        raise InvalidValue("Name the user of the conversation with --user.")
    selection = Selection(arguments.tenant, user, arguments.conversation)
    is_zip = arguments.file is not None and arguments.file.suffix.lower() == ".zip"
    form = arguments.format or (ExportFormat.ZIP if is_zip else ExportFormat.JSONL)
    are_pages = form in (ExportFormat.MARKDOWN, ExportFormat.HTML) and arguments.conversation is None
    if are_pages and not is_zip and (arguments.file or sys.stdout.isatty()):
        raise InvalidValue(
            f"As {form}, many conversations are a ZIP: name FILE.zip, or one of them with --conversation."
        )
    async with opened(arguments.store) as conversations:
        await conversations.admin.record(arguments.tenant, EXPORTED, selection.concerned, format=form.value)
        stored = await conversations.admin.statistics(arguments.tenant, user=user)
        with Progress(stored.entries, sys.stderr) as progress:
            write = partial(_write, conversations, selection, form, progress)
            if form is ExportFormat.JSONL and arguments.file is not None:
                with _going_on(arguments, selection) as (file, begun):
                    await write(file, begun)
            else:
                with _writing(arguments.file) as file:
                    await write(file)
    if arguments.file is not None:
        exported = 1 if arguments.conversation else stored.conversations
        print(f"{exported} conversation(s) are in {arguments.file}", file=sys.stderr)
    return 0


async def _write(
    conversations: Conversations,
    selection: Selection,
    form: ExportFormat,
    progress: Progress,
    file: IO[bytes],
    begun: Written | None = None,
) -> None:
    shown = partial(progress.show, remark="exported")
    async for data in conversations.export(selection, form, progress=shown, begun=begun):
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def _going_on(arguments: argparse.Namespace, selection: Selection) -> Iterator[tuple[IO[bytes], Written | None]]:
    """Yield a file of lines and what is in it: after an interruption, the same command goes on where it stopped."""
    store = checked_settings(arguments.store).store
    same = blake2b(repr((store, selection)).encode(), digest_size=4).hexdigest()
    draft = arguments.file.with_name(f"{arguments.file.name}.{same}.partial")
    if not draft.exists():
        _make_private(draft)
    with draft.open("r+b") as file:
        begun = written(file)
        file.seek(begun.end if begun else 0)
        file.truncate()
        yield file, begun
        file.flush()
        os.fsync(file.fileno())
    draft.replace(arguments.file)


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep import`."""
    add_store_flag(parser)
    parser.add_argument("source", metavar="FILE", help="an export, or the URL of a database of another program")
    add_tenant_flag(parser, "to whom it will belong")
    parser.add_argument("--user", default=LOCAL.user, help=f"to whom it will belong (default: {LOCAL.user})")
    parser.add_argument(
        "--keep-users", action="store_true", help="leave conversations to the users that the file names"
    )
    parser.add_argument("--assistant", help="who answers in conversations that name no assistant")
    parser.add_argument("--table", help="the table of a database to read (default: those that are known)")


async def run_import(arguments: argparse.Namespace) -> int:
    """Import, and say what came of it."""
    scope = Scope(tenant=arguments.tenant, user=arguments.user)
    async with opened(arguments.store, is_made=True) as conversations:
        importer = conversations.admin.importer(scope, keep_users=arguments.keep_users, assistant=arguments.assistant)
        return _told(await _imported(importer, read_source(arguments.source, arguments.table)))


async def _imported(importer: Importer, items: AsyncIterator[Portable | ImportProblem]) -> Report:
    with Progress(1, sys.stderr) as progress:
        async for item in items:
            await importer.add(item)
            progress.show(0, f"{importer.report.conversations} conversations, {importer.report.entries} new entries")
            if isinstance(item, ImportProblem):
                progress.clear()
        await importer.finish()
    return importer.report


def _told(report: Report) -> int:
    for problem in report.problems:
        print(f"threadkeep: {problem.place}: {problem.code}: {' '.join(problem.detail.split())}", file=sys.stderr)
    for key in report.keys:
        print(f"Added: API key {key}")
    for action, count in sorted(report.acts.items()):
        print(f"Added: {count} audit record(s) {action}")
    print(
        f"Imported: {report.added} conversation(s) with {report.entries} entries, "
        f"{report.unchanged} had nothing new, {report.failed} failed"
    )
    return 1 if report.failed else 0


def add_copy_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep copy`."""
    parser.add_argument("--from", dest="source", required=True, metavar="URL", help="the store to copy")
    parser.add_argument("--to", dest="target", required=True, metavar="URL", help="the store to fill")
    parser.add_argument("--tenant", help="of this tenant only (default: all)")
    parser.add_argument("--user", help="of this user of the tenant only")


async def run_copy(arguments: argparse.Namespace) -> int:
    """Copy from store to store."""
    if arguments.user and not arguments.tenant:
        raise InvalidValue("Name the tenant of the user with --tenant.")
    selection = Selection(arguments.tenant, arguments.user)
    async with opened(arguments.source) as source, opened(arguments.target, is_made=True) as target:
        tenants = (arguments.tenant,) if arguments.tenant else await source.admin.tenants()
        total = sum([(await source.admin.statistics(tenant, user=arguments.user)).entries for tenant in tenants])
        with Progress(total, sys.stderr) as progress:
            shown = partial(progress.show, remark="copied")
            report = await source.admin.copy_to(target.admin, selection, shown)
    return _told(report)


def add_backup_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep backup`."""
    add_store_flag(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not be there yet")


async def run_backup(arguments: argparse.Namespace) -> int:
    """Write a backup, and read it back."""
    if arguments.file.exists():
        raise InvalidValue(f"{arguments.file} is there already; a backup is never overwritten.")
    settings, draft = checked_settings(arguments.store), _draft(arguments.file)
    with Progress(100, sys.stderr) as progress, _writing(arguments.file) as file:
        copied = partial(
            back_up_file, settings.store, draft, lambda share: progress.show(int(100 * share), "backed up")
        )
        # Opening a file of an earlier release, to put this on record, would bring it up to date.
        count = await asyncio.to_thread(copied) if pending_migrations(settings.store) else None
        if count is None:
            async with opened(arguments.store) as conversations:
                for tenant in await conversations.admin.tenants():
                    await conversations.admin.record(tenant, EXPORTED, f"tenant:{tenant}", format="backup")
                count = await asyncio.to_thread(copied)
                if count is None:
                    count = await _back_up_by_export(conversations, arguments.file, file, progress)
    print(f"{count} conversation(s) are in {arguments.file}, checked")
    return 0


async def _back_up_by_export(conversations: Conversations, path: Path, file: IO[bytes], progress: Progress) -> int:
    exported = 0

    def show(done: int) -> None:
        nonlocal exported
        exported = done
        progress.show(0, f"{done} entries")

    async for data in conversations.export(Selection(), ExportFormat.ZIP, progress=show):
        file.write(data.encode() if isinstance(data, str) else data)
    file.flush()
    count, entries = await asyncio.to_thread(_counted, _draft(path))
    if entries != exported:
        raise ImportDamaged(f"The backup does not read back as it was written; {path} was not made.")
    return count


def _counted(path: Path) -> tuple[int, int]:
    """Read an archive back with all checks; return how many conversations and entries are in it."""
    conversations = entries = 0
    with path.open("rb") as file:
        for item in read_items(file, path.name):
            if isinstance(item, ImportProblem):
                raise ImportDamaged(f"{item.place}: {item.detail}")
            conversations, entries = conversations + 1, entries + sum(1 for _ in item.entries())
            for attached in item.files:
                attached.check()
    return conversations, entries


def add_restore_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep restore`."""
    add_store_flag(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="what `threadkeep backup` wrote")
    parser.add_argument(
        "--with",
        dest="records",
        action="append",
        choices=RECORDS,
        default=[],
        help="bring these too into a store that has data (default: conversations only; into an empty store, all)",
    )


async def run_restore(arguments: argparse.Namespace) -> int:
    """Fill a store from a backup; what is there already stays."""
    if not await asyncio.to_thread(is_sqlite, arguments.file):
        async with opened(arguments.store, is_made=True) as target:
            importer = target.admin.importer(LOCAL, keep_users=True, keep_tenants=True)
            return _told(await _imported(importer, read_source(str(arguments.file))))
    with TemporaryDirectory() as folder:
        # Opening a store writes to it, and a backup stays as it is.
        path = Path(folder, "backup.db")
        _make_private(path)
        try:
            await asyncio.to_thread(back_up_file, _url_of(arguments.file), path, lambda share: None)
        except StoreCorrupt:
            raise ImportDamaged(f"{arguments.file} is damaged, or was cut off; nothing was restored.") from None
        async with opened(_url_of(path)) as source, opened(arguments.store, is_made=True) as target:
            return _told(await source.admin.restore_to(target.admin, arguments.records))


def _url_of(file: Path) -> str:
    return f"sqlite:///{quote(str(file))}"


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, because it will contain conversations."""
    path.unlink(missing_ok=True)
    path.touch(0o600)


@contextmanager
def _writing(path: Path | None) -> Iterator[IO[bytes]]:
    """Yield where to write; a file gets its name when it is whole and on disk."""
    if path is None:
        yield sys.stdout.buffer
        return
    draft = _draft(path)
    try:
        _make_private(draft)
        with draft.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
