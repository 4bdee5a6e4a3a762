"""A thread, as the log of its conversation tells it: its checkpoints, what nodes wrote, and the values of channels.

It is folded from entries in their order and from nothing else; what comes later is added. Records that nobody of us
wrote, which an import may have brought, are passed over.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, writes_sort_key

from threadkeep.conversation.entry import Entry, Kept, Update
from threadkeep.conversation.message import Message
from threadkeep.errors import StoreUnavailable
from threadkeep_integrations.langgraph.forms import Form, FormError, Item
from threadkeep_integrations.langgraph.lists import Handed, ListVersion
from threadkeep_integrations.raw_items import plain, raw_items

OF = "langgraph"
PIECE = "langgraph.piece"
"""A part of the text of the record that follows, which would be too large for one entry."""
Record = dict[str, Any]
Stored = Form | ListVersion


@dataclass(slots=True)
class Saved:
    """A checkpoint without the values of its channels: fields and metadata that are plain JSON, and the others as
    forms."""

    id: str
    parent: str | None
    fields: Mapping[str, Any]
    metadata: Mapping[str, Any]
    forms: Mapping[str, Form]
    metadata_forms: Mapping[str, Form]
    is_listed: bool = True


@dataclass(slots=True)
class Written:
    """What one task wrote to one channel, and the place of that among its writes."""

    task: str
    path: str
    channel: str
    index: int
    form: Form


Place = tuple[str, str]
"""A namespace and the id of a checkpoint in it."""


@dataclass(slots=True)
class Thread:
    """What is known of a thread: up to the entry `seen`, which was made `at` then.

    `name` is what the application calls it; `shown` is the newest message of a state, `ids` are those of all messages.
    `handed` are the lists that a graph holds; `returned` and `wrote` what its nodes have returned on top of a
    checkpoint, by identity and by channel.
    """

    seen: int = 0
    at: Any = None
    name: str = ""
    saved: dict[str, dict[str, Saved]] = field(default_factory=dict)
    values: dict[tuple[str, str, Any], Stored] = field(default_factory=dict)
    snapshots: set[tuple[str, str, Any]] = field(default_factory=set)
    handed: dict[tuple[str, str], Handed] = field(default_factory=dict)
    returned: dict[Place, set[int]] = field(default_factory=dict)
    wrote: dict[Place, set[str]] = field(default_factory=dict)
    shown: int = 0
    ids: set[str] = field(default_factory=set)
    _newest: dict[str, Saved] = field(default_factory=dict)
    _writes: dict[Place, dict[tuple[str, int], Written]] = field(default_factory=dict)
    _messages: list[Item] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _early: dict[int, Sequence[Entry]] = field(default_factory=dict)

    # Reading

    def newest(self, namespace: str) -> Saved | None:
        """Return the checkpoint with the greatest id that was not forgotten."""
        return self._newest.get(namespace)

    def checkpoints(self, namespace: str) -> Iterator[Saved]:
        """Yield the checkpoints that were not forgotten."""
        return (saved for saved in self.saved.get(namespace, {}).values() if saved.is_listed)

    def writes(self, namespace: str, checkpoint: str) -> list[Written]:
        """Return what was written on top of a checkpoint, in the order in which LangGraph applies it."""
        found = self._writes.get((namespace, checkpoint), {}).values()
        return sorted(found, key=lambda one: writes_sort_key(one.path, one.task, one.index))

    def knows_writes(self, place: Place, task: str, writes: Iterable[tuple[str, Any]]) -> bool:
        """Whether all of these writes are there already and stay as they are."""
        known = self._writes.get(place, {})
        slots = [(task, WRITES_IDX_MAP.get(channel, number)) for number, (channel, _) in enumerate(writes)]
        return all(slot in known and slot[1] >= 0 for slot in slots)

    def tell_writes(self, place: Place, writes: Iterable[tuple[str, Any]]) -> None:
        """Note what a node returned, before it is stored: LangGraph may look at it again at once."""
        for channel, value in writes:
            self.wrote.setdefault(place, set()).add(channel)
            self.returned.setdefault(place, set()).update(
                map(id, value if isinstance(value, list | tuple) else (value,))
            )

    def stored(self, namespace: str, saved: Saved, channel: str) -> Stored | None:
        """Return the value of a channel as of a checkpoint; None if it had none."""
        return self.values.get((namespace, channel, saved.fields["channel_versions"].get(channel)))

    # What comes from the log

    def take(self, entries: Sequence[Entry]) -> None:
        """Add entries that were appended here; those that come before them may yet be on their way."""
        if entries and entries[0].seq > self.seen:
            self._early[entries[0].seq] = entries
        while (nearest := self._early.pop(self.seen + 1, None)) is not None:
            self.fold(nearest)

    def fold(self, entries: Iterable[Entry]) -> None:
        """Add the entries that follow in the log."""
        for entry in entries:
            if entry.seq <= self.seen:
                continue
            is_unknown = isinstance(entry.body, Update) and not entry.body.model_fields_set
            if is_unknown or entry.seq > self.seen + 1:  # as an instance tells it whose database is away
                raise StoreUnavailable("Some of this thread is not known here now.")
            self.seen, self.at = entry.seq, entry.created_at
            body = entry.body
            if isinstance(body, Message):
                self._message(entry.seq, body)
            elif isinstance(body, Kept) and body.of == PIECE:
                self._pieces.append(body.content)
            elif isinstance(body, Kept) and body.of == OF:
                self._record("".join((*self._pieces, body.content)))
                self._messages, self._pieces = [], []
        for seq in [seq for seq in self._early if seq <= self.seen]:
            del self._early[seq]

    def _message(self, seq: int, message: Message) -> None:
        self.ids.add(message.id)
        for form in raw_items(message, OF) or ():
            if isinstance(form, dict):
                self._messages.append(Item(form, seq))
                self.shown = seq

    def _record(self, text: str) -> None:
        try:
            self._apply(json.loads(text))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
            return

    def _apply(self, record: Record) -> None:
        match record:
            case {"checkpoint": {"id": str(id), "channel_versions": dict()}, "namespace": str(namespace)}:
                self._save(id, namespace, record)
            case {"writes": [*writes], "task": str(task), "namespace": str(namespace), "on": str(checkpoint)}:
                found = self._writes.setdefault((namespace, checkpoint), {})
                for number, (channel, form) in enumerate(writes):
                    index = WRITES_IDX_MAP.get(channel, number)
                    if index < 0 or (task, index) not in found:
                        path = str(record.get("path", ""))
                        found[task, index] = Written(task, path, str(channel), index, dict(form))
            case {"thread": str(name)}:
                self.name = name
            case {"only": dict(newest)}:
                self._forget(lambda namespace, saved: newest.get(namespace, saved.id) != saved.id)
            case {"without_runs": [*runs]}:
                self._forget(lambda namespace, saved: saved.metadata.get("run_id") in runs)

    def _save(self, id: str, namespace: str, record: Record) -> None:
        for channel, (version, form) in record["values"].items():
            key = (namespace, channel, version)
            if "steps" in form:
                self.values[key] = self._list(namespace, channel, form)
                if form.get("snapshot"):
                    self.snapshots.add(key)
            else:
                self.values[key] = form
        parent, metadata = record.get("parent"), dict(record["metadata"])
        forms = dict(record.get("forms", {})), dict(record.get("metadata_forms", {}))
        saved = Saved(id, parent if isinstance(parent, str) else None, record["checkpoint"], metadata, *forms)
        self.saved.setdefault(namespace, {})[id] = saved
        newest = self._newest.get(namespace)
        if newest is None or id >= newest.id:
            self._newest[namespace] = saved

    def _list(self, namespace: str, channel: str, form: Form) -> ListVersion:
        base = None
        if form.get("of") is not None:
            base = self.values[namespace, channel, form["of"]]
        if isinstance(base, dict):
            raise FormError("not a list")
        shown = self._messages[::-1]
        steps = [
            shown.pop() if step is None else step if isinstance(step, list) else Item(dict(step))
            for step in form["steps"]
        ]
        return ListVersion(base, steps)

    def _forget(self, which: Any) -> None:
        for namespace, saved in self.saved.items():
            for one in saved.values():
                one.is_listed = one.is_listed and not which(namespace, one)
        listed = {namespace: list(self.checkpoints(namespace)) for namespace in self.saved}
        self._newest = {namespace: max(left, key=lambda saved: saved.id) for namespace, left in listed.items() if left}


def record_text(record: Record) -> str:
    """Return a record as text that every store can keep."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text if plain(text) == text else json.dumps(record, separators=(",", ":"))
