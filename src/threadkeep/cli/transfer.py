"""`threadkeep export`, `import`, `copy`, `backup` and `restore`: conversations in and out of stores.

A file is written under another name and renamed when it is complete. Conversations that cannot be imported are reported
on the standard error, one line each, and the others are imported. Formats and rules are in `transfer/`.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from urllib.parse import quote

from threadkeep.cli.index import Progress
from threadkeep.cli.settings_loading import load_settings
from threadkeep.cli.trust import read_trusted_file
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import ImportDamaged, InvalidValue, StoreCorrupt, StoreUnavailable
from threadkeep.runtime import attachments_of, back_up_file, open_store, store_path
from threadkeep.server.export.document import HtmlWriter
from threadkeep.settings import Settings
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import Wanted, act_now
from threadkeep.store.base import Store
from threadkeep.text.markdown import MarkdownWriter
from threadkeep.transfer.exporter import EXPORTED, Selection
from threadkeep.transfer.files import UNLIMITED
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.jsonl import written
from threadkeep.transfer.moving import (
    RECORDS,
    Format,
    copy,
    export_archive,
    export_lines,
    finetune_lines,
    write_branches,
)
from threadkeep.transfer.portable import Portable, Problem
from threadkeep.transfer.sources import is_sqlite, read_items, read_source


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep export`."""
    _add_store(parser)
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"whose conversations (default: {LOCAL.tenant})")
    parser.add_argument("--user", help="of this user only")
    parser.add_argument("--conversation", metavar="ID", help="this one only")
    parser.add_argument("--format", type=Format, choices=list(Format), help="default: zip for FILE.zip, else jsonl")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="what to write (default: standard output)")


def run_export(arguments: argparse.Namespace) -> int:
    """Write the export."""
    return asyncio.run(_export(arguments))


async def _export(arguments: argparse.Namespace) -> int:
    user = arguments.user or (LOCAL.user if arguments.conversation and arguments.tenant == LOCAL.tenant else None)
    if arguments.conversation and user is None:
        raise InvalidValue("Name the user of the conversation with --user.")
    selection = Selection(arguments.tenant, user, arguments.conversation)
    is_zip = arguments.file is not None and arguments.file.suffix.lower() == ".zip"
    form = arguments.format or (Format.ZIP if is_zip else Format.JSONL)
    are_pages = form in (Format.MARKDOWN, Format.HTML) and arguments.conversation is None
    if are_pages and not is_zip and (arguments.file or sys.stdout.isatty()):
        raise InvalidValue(
            f"As {form}, many conversations are a ZIP: name FILE.zip, or one of them with --conversation."
        )
    async with opened_store(arguments.store) as store:
        act = act_now(utc_now, EXPORTED, selection.concerned, format=form.value)
        await store.audit.append(arguments.tenant, act)
        stored = await store.statistics(arguments.tenant, user=user)
        if form is Format.JSONL and arguments.file is not None:
            await _export_lines(store, selection, arguments, stored.entries)
        else:
            with _writing(arguments.file) as file, Progress(stored.entries, sys.stderr) as progress:
                await _export_as(form, store, selection, file, partial(progress.show, remark="exported"))
    if arguments.file is not None:
        exported = 1 if arguments.conversation else stored.conversations
        print(f"{exported} conversation(s) are in {arguments.file}", file=sys.stderr)
    return 0


async def _export_as(
    form: Format, store: Store, selection: Selection, file: IO[bytes], shown: Callable[[int], None]
) -> None:
    match form:
        case Format.JSONL:
            await _write(export_lines(store, selection, shown, attachments=_files(store)), file)
        case Format.FINETUNE:
            await _write(finetune_lines(store, selection, shown), file)
        case Format.ZIP:
            async for data in export_archive(store, selection, shown, _files(store)):
                file.write(data)
        case Format.MARKDOWN:
            await write_branches(store, selection, file, shown, MarkdownWriter, "md", _files(store))
        case Format.HTML:
            await write_branches(store, selection, file, shown, HtmlWriter, "html", _files(store))


async def _export_lines(store: Store, selection: Selection, arguments: argparse.Namespace, total: int) -> None:
    """Write lines to a file; after an interruption, the same command goes on where it stopped."""
    same = blake2b(repr((_url(arguments.store), selection)).encode(), digest_size=4).hexdigest()
    draft = arguments.file.with_name(f"{arguments.file.name}.{same}.partial")
    if not draft.exists():
        _make_private(draft)
    with draft.open("r+b") as file, Progress(total, sys.stderr) as progress:
        begun = written(file)
        file.seek(begun.end if begun else 0)
        file.truncate()
        shown = partial(progress.show, remark="exported")
        await _write(export_lines(store, selection, shown, begun, _files(store)), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(arguments.file)


async def _write(lines: AsyncIterator[str], file: IO[bytes]) -> None:
    async for line in lines:
        file.write(line.encode())


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep import`."""
    _add_store(parser)
    parser.add_argument("source", metavar="FILE", help="an export, or the URL of a database of another program")
    parser.add_argument("--tenant", default=LOCAL.tenant, help=f"to whom it will belong (default: {LOCAL.tenant})")
    parser.add_argument("--user", default=LOCAL.user, help=f"to whom it will belong (default: {LOCAL.user})")
    parser.add_argument(
        "--keep-users", action="store_true", help="leave conversations to the users that the file names"
    )
    parser.add_argument("--assistant", help="who answers in conversations that name no assistant")
    parser.add_argument("--table", help="the table of a database to read (default: those that are known)")


def run_import(arguments: argparse.Namespace) -> int:
    """Import, and say what came of it."""
    return asyncio.run(_import(arguments))


async def _import(arguments: argparse.Namespace) -> int:
    scope = Scope(tenant=arguments.tenant, user=arguments.user)
    async with opened_store(arguments.store, is_made=True) as store:
        importer = Importer(
            store,
            scope,
            keep_users=arguments.keep_users,
            assistant=arguments.assistant,
            attachments=_files(store),
        )
        return _told(await _imported(importer, read_source(arguments.source, arguments.table)))


async def _imported(importer: Importer, items: AsyncIterator[Portable | Problem]) -> Report:
    with Progress(1, sys.stderr) as progress:
        async for item in items:
            await importer.add(item)
            progress.show(0, f"{importer.report.conversations} conversations, {importer.report.entries} new entries")
            if isinstance(item, Problem):
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


def run_copy(arguments: argparse.Namespace) -> int:
    """Copy from store to store."""
    return asyncio.run(_copy(arguments))


async def _copy(arguments: argparse.Namespace) -> int:
    if arguments.user and not arguments.tenant:
        raise InvalidValue("Name the tenant of the user with --tenant.")
    selection = Selection(arguments.tenant, arguments.user)
    async with opened_store(arguments.source) as source, opened_store(arguments.target, is_made=True) as target:
        tenants = (arguments.tenant,) if arguments.tenant else await source.tenants()
        total = sum([(await source.statistics(tenant, user=arguments.user)).entries for tenant in tenants])
        with Progress(total, sys.stderr) as progress:
            shown = partial(progress.show, remark="copied")
            report = await copy(source, target, selection, shown, (_files(source), _files(target)))
    return _told(report)


def add_backup_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep backup`."""
    _add_store(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not be there yet")


def run_backup(arguments: argparse.Namespace) -> int:
    """Write a backup, and read it back."""
    return asyncio.run(_backup(arguments))


async def _backup(arguments: argparse.Namespace) -> int:
    if arguments.file.exists():
        raise InvalidValue(f"{arguments.file} is there already; a backup is never overwritten.")
    async with opened_store(arguments.store) as store:
        for tenant in await store.tenants():
            await store.audit.append(tenant, act_now(utc_now, EXPORTED, f"tenant:{tenant}", format="backup"))
    draft = _draft(arguments.file)
    _make_private(draft)
    try:
        with Progress(100, sys.stderr) as progress:
            conversations = await asyncio.to_thread(
                back_up_file,
                _url(arguments.store),
                draft,
                lambda share: progress.show(int(100 * share), "backed up"),
            )
            if conversations is None:
                conversations = await _back_up_by_export(arguments, progress)
            else:
                draft.replace(arguments.file)
    finally:
        draft.unlink(missing_ok=True)
    print(f"{conversations} conversation(s) are in {arguments.file}, checked")
    return 0


async def _back_up_by_export(arguments: argparse.Namespace, progress: Progress) -> int:
    written = 0

    def show(done: int) -> None:
        nonlocal written
        written = done
        progress.show(0, f"{done} entries")

    async with opened_store(arguments.store) as store:
        with _writing(arguments.file) as file:
            async for data in export_archive(store, Selection(), show, _files(store)):
                file.write(data)
            file.flush()
            conversations, entries = await asyncio.to_thread(_counted, _draft(arguments.file))
            if entries != written:
                raise ImportDamaged(f"The backup does not read back as it was written; {arguments.file} was not made.")
    return conversations


def _counted(path: Path) -> tuple[int, int]:
    """Read an archive back with all checks; return how many conversations and entries are in it."""
    conversations = entries = 0
    with path.open("rb") as file:
        for item in read_items(file, path.name):
            if isinstance(item, Problem):
                raise ImportDamaged(f"{item.place}: {item.detail}")
            conversations, entries = conversations + 1, entries + sum(1 for _ in item.entries())
            for attached in item.files:
                attached.check()
    return conversations, entries


def add_restore_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep restore`."""
    _add_store(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="what `threadkeep backup` wrote")
    parser.add_argument(
        "--with",
        dest="records",
        action="append",
        choices=RECORDS,
        default=[],
        help="bring these too into a store that has data (default: conversations only; into an empty store, all)",
    )


def run_restore(arguments: argparse.Namespace) -> int:
    """Fill a store from a backup; what is there already stays."""
    return asyncio.run(_restore(arguments))


async def _restore(arguments: argparse.Namespace) -> int:
    if not await asyncio.to_thread(is_sqlite, arguments.file):
        async with opened_store(arguments.store, is_made=True) as store:
            importer = Importer(store, LOCAL, keep_users=True, keep_tenants=True, attachments=_files(store))
            return _told(await _imported(importer, read_source(str(arguments.file))))
    with TemporaryDirectory() as folder:
        # Opening a store writes to it, and a backup stays as it is.
        path = Path(folder, "backup.db")
        _make_private(path)
        try:
            await asyncio.to_thread(back_up_file, _url_of(arguments.file), path, lambda share: None)
        except StoreCorrupt:
            raise ImportDamaged(f"{arguments.file} is damaged, or was cut off; nothing was restored.") from None
        async with opened_store(_url_of(path)) as source, opened_store(arguments.store, is_made=True) as store:
            files = (_files(source), _files(store))
            records = arguments.records if await _has_data(store, source) else RECORDS
            report = await copy(source, store, Selection(), lambda done: None, files, is_move=False, records=records)
            return _told(report)


async def _has_data(store: Store, source: Store) -> bool:
    """Whether a store has anything that what comes from the source could change."""
    if await store.tenants() or await store.keyring.all():
        return True
    return any([await store.audit.read(tenant, Wanted(), limit=1) for tenant in await source.tenants()])


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="URL", help="where conversations are kept (default: the one that is set)")


def _url_of(file: Path) -> str:
    return f"sqlite:///{quote(str(file))}"


def _url(store: str | None) -> str:
    return _settings(store).store


def _settings(store: str | None = None) -> Settings:
    return load_settings(os.environ, {"store": store}, read_trusted_file(os.environ))


def _files(store: Store) -> Attachments | None:
    """Return the files of a store, whose bytes are where the settings say."""
    return attachments_of(store, _settings().files, UNLIMITED)


@asynccontextmanager
async def opened_store(given: str | None, *, is_made: bool = False) -> AsyncIterator[Store]:
    """Open a store; one that is only read must exist."""
    url = _url(given)
    path = store_path(url)
    if path is not None and not path.exists() and not is_made:
        raise StoreUnavailable(f"There is no store {url} yet.")
    store = await open_store(url)
    try:
        yield store
    finally:
        await store.close()


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
