"""Everything of a selection, moved: from one store to another, or into a file in one of the formats."""

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import AlreadyExists, Conflict, InvalidInput, NotFound, StoreCorrupt
from threadkeep.rings import WRITERS, load
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import FACTS, PAGE, PRUNED, USER, Act, Wanted, act_now
from threadkeep.store.base import Store
from threadkeep.store.file_tables import attached_files
from threadkeep.store.paging import walk
from threadkeep.transfer.archive import FILES, ArchiveWriter, Sink
from threadkeep.transfer.exporter import Selection, log_of, pages_of, select
from threadkeep.transfer.files import FilesFound, copy_files, with_images
from threadkeep.transfer.importer import Importer, Report, erased_at
from threadkeep.transfer.jsonl import BEGINNING, JsonlWriter, Written
from threadkeep.transfer.portable import ImportProblem, LogCheck

Progress = Callable[[int], None]
"""Is told how many entries are done."""
RECORDS = ("keys", "audit")
"""What a whole tenant has beside conversations and their files."""
SENT = 64 * 1024
"""How many bytes of an archive are handed on together."""


class ExportFormat(StrEnum):
    """What an export is written as."""

    JSONL = "jsonl"
    ZIP = "zip"
    MARKDOWN = "markdown"
    HTML = "html"
    FINETUNE = "finetune"


class BranchWriter(Protocol):
    """Writes one branch for people to read."""

    def begin(self) -> str:
        """Return what stands before the messages."""

    def write(self, entry: Entry, images: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return what stands for an entry; `images` are the URIs of those that can be shown, by their ids."""

    def end(self) -> str:
        """Return what stands after them."""


async def export_lines(
    store: Store,
    selection: Selection,
    progress: Progress,
    begun: Written | None = None,
    attachments: Attachments | None = None,
) -> AsyncIterator[str]:
    """Yield a selection as JSON Lines, or the rest of one that was begun. Attached files are named."""
    writer, files = JsonlWriter(), FilesFound(attachments)
    if begun is None:
        yield BEGINNING
    else:
        writer.conversations, writer.entries = begun.conversations, begun.entries
    async for conversation in select(store, selection):
        if begun is not None and begun.holds(conversation):
            continue
        named = partial(files.lines, conversation.scope)
        async for line in writer.conversation(selection.header(conversation), pages_of(store, conversation), named):
            yield line
        progress(writer.entries)
    yield writer.total()


async def export_archive(
    store: Store, selection: Selection, progress: Progress, attachments: Attachments | None = None
) -> AsyncIterator[bytes]:
    """Yield a selection as an archive of parts, and behind them the attached files, each once."""
    sink, entries, files = Sink(), 0, FilesFound(attachments)
    archive, part = ArchiveWriter(sink), JsonlWriter()
    archive.begin()
    archive.write(BEGINNING)
    async for conversation in select(store, selection):
        if archive.is_full:
            archive.write(part.total())
            part = JsonlWriter()
            archive.begin()
            archive.write(BEGINNING)
        named = partial(files.lines, conversation.scope)
        async for line in part.conversation(selection.header(conversation), pages_of(store, conversation), named):
            archive.write(line)
            if len(sink) > SENT:
                yield sink.take()
        entries += conversation.entries
        progress(entries)
    archive.write(part.total())
    for sha256 in sorted(files.by_digest):
        archive.begin(FILES + sha256, packed=False)
        async for data in files.data(sha256):
            archive.write(data)
            yield sink.take()
    archive.close()
    yield sink.take()


async def branch_text(
    store: Store,
    files: Attachments | None,
    scope: Scope,
    conversation: str,
    writer: BranchWriter,
    head: int | None = None,
) -> AsyncIterator[str]:
    """Yield a branch (none: the current one) of a conversation as a writer shows it, message by message."""
    yield writer.begin()
    async for entry in walk(store, scope, conversation, head=head):
        async for text in with_images(files, scope, entry, writer.write):
            yield text
    yield writer.end()


async def export_branches(
    store: Store,
    attachments: Attachments | None,
    selection: Selection,
    progress: Progress,
    writer: Callable[[Conversation], BranchWriter],
    ending: str,
) -> AsyncIterator[str | bytes]:
    """Yield the current branch of each conversation: one alone as it is, many as members of an archive."""
    sink, done = Sink(), 0
    archive = ArchiveWriter(sink)
    async for conversation in select(store, selection):
        if selection.conversation is None:
            archive.begin(f"{archive.members + 1:05}-{conversation.id}.{ending}")
        async for text in branch_text(store, attachments, conversation.scope, conversation.id, writer(conversation)):
            if selection.conversation is not None:
                yield text
            else:
                archive.write(text)
                yield sink.take()
        done += conversation.entries
        progress(done)
    if selection.conversation is None:
        archive.close()
        yield sink.take()


def writer_of(form: str) -> Any:
    """Return what makes a `BranchWriter` of a conversation, for `markdown` or `html`."""
    return load(WRITERS, form, f"the writer of {form}")


def export(
    store: Store,
    attachments: Attachments | None,
    selection: Selection,
    form: ExportFormat,
    progress: Progress,
    begun: Written | None,
) -> AsyncIterator[str | bytes]:
    """Yield a selection in one of the formats. What people read, a package around the core writes."""
    match form:
        case ExportFormat.JSONL:
            return export_lines(store, selection, progress, begun, attachments)
        case ExportFormat.ZIP:
            return export_archive(store, selection, progress, attachments)
        case ExportFormat.FINETUNE:
            return finetune_lines(store, selection, progress)
        case ExportFormat.MARKDOWN | ExportFormat.HTML:
            ending = "md" if form is ExportFormat.MARKDOWN else "html"
            return export_branches(store, attachments, selection, progress, writer_of(form), ending)


async def finetune_lines(store: Store, selection: Selection, progress: Progress) -> AsyncIterator[str]:
    """Yield the current branch of each conversation as a line for fine-tuning, in the shape of OpenAI's chat format."""
    done = 0
    async for conversation in select(store, selection):
        messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
        messages += [
            _finetuned(entry.body)
            async for entry in walk(store, conversation.scope, conversation.id)
            if isinstance(entry.body, Message)
        ]
        if any(message["role"] == "assistant" for message in messages):
            yield json.dumps({"messages": messages}, ensure_ascii=False) + "\n"
        done += conversation.entries
        progress(done)


def _finetuned(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.role is Role.TOOL and message.tool_result:
        found["tool_call_id"] = message.tool_result.tool_call_id
    if message.tool_calls:
        found["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.args, ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    return found


async def copy(
    source: Store,
    target: Store,
    selection: Selection,
    progress: Progress,
    files: tuple[Attachments | None, Attachments | None] = (None, None),
    *,
    is_move: bool = True,
    records: Collection[str] = RECORDS,
) -> Report:
    """Copy a selection from store to store, read each conversation back and compare it, with those of `files` that it
    uses (of the source, of the target); of whole tenants those `records` that are named, too. A move
    keeps turns open; what a backup holds is history.

    What is there already is compared instead, so a copy that was cut off goes on where it was.
    """
    importer, done = Importer(target, LOCAL, keep_users=True, keep_tenants=True, is_move=is_move), 0
    everyone = Selection(conversation=selection.conversation)
    if selection.conversation is None and selection.user is None:
        for tenant in await source.operations.tenants() if selection.tenant is None else (selection.tenant,):
            if "keys" in records:
                await _copy_keys(source, target, tenant, importer.report, is_on_record="audit" in records)
            if "audit" in records:
                facts = {} if is_move else await target.audit.facts(tenant)
                await _copy_acts(source, target, tenant, importer.report, facts)
    async for conversation in select(source, selection):
        header, check, used = everyone.header(conversation), LogCheck(), dict[str, None]()
        try:
            added = await importer.put(header, _checked(source, conversation, check, used), check.open_turns)
            if files[0] is not None and files[1] is not None:
                await copy_files(files[0], files[1], conversation.scope, used)
            again = await importer.put(header, log_of(source, conversation), check.open_turns) if added else 0
        except (InvalidInput, Conflict, NotFound) as error:
            importer.report.fail(ImportProblem.of(f"conversation {conversation.id}", error))
            continue
        if again:
            raise StoreCorrupt(f"Conversation {conversation.id} does not read back as it was copied.")
        importer.report.count(added)
        done += conversation.entries
        progress(done)
    await importer.finish()
    return importer.report


async def has_data(store: Store, source: Store) -> bool:
    """Whether a store has anything that what comes from the source could change."""
    if await store.operations.tenants() or await store.keyring.all():
        return True
    return any([await store.audit.read(tenant, Wanted(), limit=1) for tenant in await source.operations.tenants()])


async def _copy_keys(source: Store, target: Store, tenant: str, report: Report, *, is_on_record: bool) -> None:
    """Copy the API keys of a tenant that are not there, none of whoever was erased; what has no record gets one."""
    for key in await source.keyring.all(tenant):
        at = await erased_at(target, key.scope)
        if at is None or key.created_at > at:
            act = act_now(utc_now, "key.imported", f"key:{key.id}", user=f"{USER}{key.scope.user}", role=key.role.value)
            with suppress(AlreadyExists):
                await target.keyring.add(key, None if is_on_record else target.audit.recorded(tenant, act))
                report.keys.append(f"{key.id} ({key.role}) of {key.scope.user} in {tenant}")


async def _copy_acts(
    source: Store, target: Store, tenant: str, report: Report, facts: Mapping[tuple[str, str], Act]
) -> None:
    """Copy the acts on record that are not there yet, with their times.

    The chain is made anew, with the pseudonyms that the target gives to those who are known. Holds and settings are
    acts, and stay in force; what the target decided later stays as it is, and so do those `facts` of it.
    """
    keys = await source.keyring.all(tenant)
    people = [f"{USER}{user}" for user in {*await source.operations.users(tenant), *(key.scope.user for key in keys)}]
    names: dict[Any, str] = {source.audit.alias(tenant, person): person for person in people}
    async for record in source.audit.walk(tenant, Wanted(after=0)):
        # A record of pruning belongs to its own chain; what it says is in force still is.
        said = record.act.details["facts"] if record.act.action == PRUNED else [record.act.model_dump()]
        for act in map(Act.model_validate, said):
            details = {
                name: names.get(each, each) if isinstance(each, str) else each for name, each in act.details.items()
            }
            named = {"actor": names.get(act.actor, act.actor), "object": names.get(act.object, act.object)}
            copied = act.model_copy(update={**named, "details": details})
            here = target.audit.row(tenant, copied).act
            if await _is_decided(target, tenant, here, facts):
                continue
            at_once = Wanted(since=act.at, until=act.at + timedelta(microseconds=1), actions=(act.action,))
            there = await target.audit.read(tenant, at_once, limit=PAGE)
            if all(known.act != here for known in there):
                await target.audit.append(tenant, copied)
                report.acts[act.action] += 1


async def _is_decided(store: Store, tenant: str, act: Act, facts: Mapping[tuple[str, str], Act]) -> bool:
    """Whether a store has decided already what an act decides: one of its `facts` was in force, or is newer."""
    if act.action not in FACTS:
        return False
    topic = act.action.rpartition(".")[0]
    if (topic, act.object) in facts:
        return facts[topic, act.object] != act
    actions = tuple(action for action in FACTS if action.rpartition(".")[0] == topic)
    newest = await store.audit.read(tenant, Wanted(actions=actions, object=act.object, newest_first=True), limit=1)
    return bool(newest) and newest[0].act.at > act.at


async def _checked(
    store: Store, conversation: Conversation, check: LogCheck, files: dict[str, None]
) -> AsyncIterator[Entry]:
    async for entry in log_of(store, conversation):
        check.add(entry)
        files.update(dict.fromkeys(attached_files(entry.body)))
        yield entry
