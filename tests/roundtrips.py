"""Exports and imports as tests make them: a whole store as lines, and lines into a store."""

import io
from collections.abc import Iterator

from threadkeep.conversation.scope import Scope
from threadkeep.store.base import Store
from threadkeep.transfer.exporter import Selection, pages_of, select
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.jsonl import BEGINNING, JsonlReader, JsonlWriter
from threadkeep.transfer.portable import ImportProblem, Portable

EVERYTHING = Selection()
LOCAL = Scope(tenant="local", user="local")


async def exported(store: Store, selection: Selection = EVERYTHING) -> bytes:
    """Return what is selected as JSON Lines."""
    writer, lines = JsonlWriter(), [BEGINNING]
    async for conversation in select(store, selection):
        async for line in writer.conversation(selection.header(conversation), pages_of(store, conversation)):
            lines.append(line)
    return "".join([*lines, writer.total()]).encode()


async def imported(
    store: Store, items: Iterator[Portable | ImportProblem], scope: Scope = LOCAL, *, finish: bool = False
) -> Report:
    """Import everything, whoever it belongs to; the logs are as they were until the import is finished."""
    importer = Importer(store, scope, keep_users=True, keep_tenants=True)
    for item in items:
        await importer.add(item)
    if finish:
        await importer.finish()
    return importer.report


async def import_lines(store: Store, data: bytes, scope: Scope = LOCAL, *, finish: bool = False) -> Report:
    """Import an export of ours."""
    return await imported(store, JsonlReader(io.BytesIO(data), "file").read(), scope, finish=finish)
