"""What is appended for a checkpoint: its record, before it the new messages of the state, and where these belong."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.checkpoint.base import ChannelVersions, Checkpoint
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from threadkeep.conversation.entry import Kept
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message
from threadkeep.errors import ThreadkeepError
from threadkeep.text.title import title_from_words
from threadkeep_integrations.langchain.messages import from_langchain, text_of
from threadkeep_integrations.langgraph.forms import Form, Item, form_of, is_plain, value_of
from threadkeep_integrations.langgraph.lists import Handed, ListVersion, New, Step, difference
from threadkeep_integrations.langgraph.thread import OF, PIECE, Record, Thread, record_text
from threadkeep_integrations.raw_items import raw_part

LARGEST = 200_000
"""Characters of a record, or of a message, in one entry."""


@dataclass(slots=True)
class Addition:
    """What an append adds: messages, then records; `parent` is the entry that the messages continue, unless that is the
    head, and `handed` the lists whose elements a graph holds."""

    messages: list[Message] = field(default_factory=list)
    records: tuple[Kept, ...] = ()
    parent: int | None = None
    handed: dict[tuple[str, str], Handed] = field(default_factory=dict)

    @property
    def bodies(self) -> tuple[Message | Kept, ...]:
        return (*self.messages, *self.records)


def kept(record: Record) -> tuple[Kept, ...]:
    """Return the entries that hold a record, the last one of which ends it."""
    text = record_text(record)
    *pieces, last = [text[at : at + LARGEST] for at in range(0, len(text), LARGEST)]
    return (*(Kept(of=PIECE, content=piece) for piece in pieces), Kept(of=OF, content=last))


def title_of(given: Any, shown: str | None) -> str | None:
    """Return a title of the words of the first question that a graph was given, if they can be told."""
    said: Any = given.get(shown) if isinstance(given, Mapping) else getattr(given, shown or "", None)
    with suppress(NotImplementedError, TypeError, ValueError):  # what is no message
        messages = convert_to_messages(said if isinstance(said, list) else [said])
        asked = (text_of(message.content) for message in messages if message.type == "human")
        return title_from_words(next(asked, "")) or None
    return None


def written(
    place: tuple[str, str], task: tuple[str, str], writes: Sequence[tuple[str, Any]], serde: SerializerProtocol
) -> tuple[Kept, ...]:
    """Return the entries for what a task wrote on top of a checkpoint."""
    forms = [[channel, form_of(value, serde)] for channel, value in writes]
    return kept({"writes": forms, "task": task[0], "path": task[1], "namespace": place[0], "on": place[1]})


class CheckpointWriter:
    """Makes the addition for checkpoints of a thread; the channel `shown` has messages for people."""

    def __init__(self, thread: Thread, serde: SerializerProtocol, shown: str | None) -> None:
        self._thread = thread
        self._serde = serde
        self._shown = shown

    def addition(
        self,
        place: tuple[str, str | None],
        checkpoint: Checkpoint,
        metadata: Mapping[str, Any],
        new_versions: ChannelVersions,
    ) -> Addition:
        """Return what is to be appended for a checkpoint; `place` is its namespace and the checkpoint before it."""
        namespace, parent = place
        values = checkpoint["channel_values"]
        stored: dict[str, list[Any]] = {}
        added = Addition()
        for channel, version in new_versions.items():
            value = values.get(channel)
            if channel in values:
                stored[channel] = [version, self._stored(added, place, channel, version, value)]
            if self._is_shown(namespace, channel) and parent and (channel not in values or _is_snapshot(value)):
                added.messages += self._messages_written(namespace, parent)
        fields, forms = _parted(
            {name: each for name, each in checkpoint.items() if name != "channel_values"}, self._serde
        )
        more, more_forms = _parted(metadata, self._serde)
        record: Record = {"checkpoint": fields, "namespace": namespace, "values": stored, "metadata": more}
        optional = {"parent": parent, "forms": forms, "metadata_forms": more_forms}
        added.records = kept(record | {name: each for name, each in optional.items() if each})
        return added

    def _is_shown(self, namespace: str, channel: str) -> bool:
        return not namespace and channel == self._shown

    def _stored(self, added: Addition, place: tuple[str, str | None], channel: str, version: Any, value: Any) -> Form:
        if type(value) is list:
            form = self._list(added, place, channel, value, shows=self._is_shown(place[0], channel))
            added.handed[place[0], channel] = Handed(version, value)
            return form
        if _is_snapshot(value):
            return {**self._list(added, place, channel, value.value, shows=False), "snapshot": True}
        return form_of(value, self._serde)

    def _list(
        self, added: Addition, place: tuple[str, str | None], channel: str, values: list[Any], *, shows: bool
    ) -> Form:
        """Return a list as what differs from the version before; new messages at its end are shown."""
        base, items = self._base(place, channel, anywhere=not shows)
        steps: list[Step] = []
        changes = self._changes(place, channel, base, values, items)
        trailing = next((at for at in range(len(changes), 0, -1) if isinstance(changes[at - 1], list)), 0)
        for number, change in enumerate(changes):
            if not isinstance(change, New):
                steps.append(change)
            elif number >= trailing and shows and isinstance(change.value, BaseMessage):
                steps.append(self._shown_step(added, change.value))
            else:
                steps.append(form_of(change.value, self._serde))
        if added.messages and trailing:
            added.parent = self._continued(changes[:trailing], items)
        return {"steps": steps} if base is None else {"steps": steps, "of": base}

    def _base(self, place: tuple[str, str | None], channel: str, *, anywhere: bool) -> tuple[Any, Sequence[Item]]:
        """Return the version of a list, and its elements, in the checkpoint before, or in the nearest that has it."""
        namespace, saved = place[0], self._thread.saved.get(place[0], {}).get(place[1] or "")
        seen = set[str]()
        while saved is not None and saved.id not in seen:
            version = saved.fields["channel_versions"].get(channel)
            stored = self._thread.values.get((namespace, channel, version))
            if stored is not None or not anywhere:
                return (version, stored.items()) if isinstance(stored, ListVersion) else (None, ())
            seen.add(saved.id)
            saved = self._thread.saved[namespace].get(saved.parent or "")
        return None, ()

    def _changes(
        self, place: tuple[str, str | None], channel: str, base: Any, values: list[Any], items: Sequence[Item]
    ) -> Sequence[Any]:
        if base is None:
            return [New(value) for value in values]
        handed, on = self._thread.handed.get((place[0], channel)), (place[0], place[1] or "")
        # Only where it was told what nodes returned can an object that is the same be known to be as it was.
        if handed is not None and handed.version == base and channel in self._thread.wrote.get(on, ()):
            return handed.difference(values, self._thread.returned.get(on, set()), items, self._serde)
        return difference(values, items, self._serde)

    def _continued(self, changes: Sequence[Any], items: Sequence[Item]) -> int | None:
        """Return the entry that new messages continue, unless that is the newest one."""
        end = changes[-1][1]
        entry = next((item.entry for item in reversed(items[:end]) if item.entry), 0)
        return None if entry in (0, self._thread.shown) else entry

    def _shown_step(self, added: Addition, value: BaseMessage) -> Step:
        form = form_of(value, self._serde)
        is_short = "message" in form and len(str(form)) <= LARGEST
        message = self._message(value, form if is_short else None)
        if message is None:
            return form
        added.messages.append(message)
        return None if is_short else form

    def _messages_written(self, namespace: str, checkpoint: str) -> Iterator[Message]:
        """Yield messages for people of a channel that is kept as what was written to it alone."""
        for one in self._thread.writes(namespace, checkpoint):
            if one.channel == self._shown:
                forms = one.form.get("list", [one.form])
                for form in forms:
                    value = value_of(form, self._serde) if "message" in form else None
                    if value is not None and (message := self._message(value, form)) is not None:
                        yield message

    def _message(self, value: BaseMessage, form: Form | None) -> Message | None:
        """Return a message of LangChain's as one for people, with what it was beside it; None if it says nothing."""
        try:
            message = from_langchain([value])[0]
            raw = () if form is None else (raw_part(OF, [form], message.content),)
        except (ThreadkeepError, ValueError):
            return None
        if len(message.content) > LARGEST or not (message.content or message.tool_calls or message.tool_result):
            return None
        id = new_id() if message.id in self._thread.ids else message.id
        return message.model_copy(update={"id": id, "parts": (*message.parts, *raw)})


def _is_snapshot(value: Any) -> bool:
    return type(value) is _DeltaSnapshot and type(value.value) is list


def _parted(fields: Mapping[str, Any], serde: SerializerProtocol) -> tuple[dict[str, Any], dict[str, Form]]:
    """Return which fields are plain JSON, and the others as forms."""
    beside = {name: form_of(value, serde) for name, value in fields.items() if not is_plain(value)}
    return {name: value for name, value in fields.items() if name not in beside}, beside
