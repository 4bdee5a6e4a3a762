"""Checkpoints of a thread as LangGraph wants them, with objects of their own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from threadkeep_integrations.langgraph.forms import copied, value_of, values_of
from threadkeep_integrations.langgraph.lists import Handed, ListVersion
from threadkeep_integrations.langgraph.thread import Saved, Thread


def config_of(name: str, namespace: str, checkpoint: str) -> RunnableConfig:
    """Return where a checkpoint is, as LangGraph says it."""
    return {"configurable": {"thread_id": name, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}}


class ThreadReader:
    """Makes checkpoints of a thread that is called by this name."""

    def __init__(self, thread: Thread, name: str, serde: SerializerProtocol) -> None:
        self._thread = thread
        self._name = name
        self._serde = serde

    def found(self, namespace: str, checkpoint: str | None) -> CheckpointTuple | None:
        """Return a checkpoint, or the newest one, from which a graph may go on."""
        saved = self._saved(namespace, checkpoint)
        return None if saved is None else self.whole(namespace, saved, hands=True)

    def _saved(self, namespace: str, checkpoint: str | None) -> Saved | None:
        if checkpoint is None:
            return self._thread.newest(namespace)
        saved = self._thread.saved.get(namespace, {}).get(checkpoint)
        return saved if saved is not None and saved.is_listed else None

    def listed(
        self, namespace: str | None, checkpoint: str | None, *, before: str | None
    ) -> Iterator[tuple[str, Saved]]:
        """Yield the checkpoints of a namespace (none: of all) with their namespaces."""
        for each in self._thread.saved if namespace is None else (namespace,):
            for saved in self._thread.checkpoints(each):
                if checkpoint in (None, saved.id) and (before is None or saved.id < before):
                    yield each, saved

    def whole(self, namespace: str, saved: Saved, *, hands: bool = False) -> CheckpointTuple:
        """Return a checkpoint with its values; `hands` where the graph goes on from them."""
        forms = {name: value_of(form, self._serde) for name, form in saved.forms.items()}
        fields = {**copied(dict(saved.fields)), **forms}
        versions = fields["channel_versions"]
        values = {
            channel: self._value(namespace, channel, version, hands=hands)
            for channel, version in versions.items()
            if (namespace, channel, version) in self._thread.values
        }
        parent = None if saved.parent is None else config_of(self._name, namespace, saved.parent)
        return CheckpointTuple(
            config=config_of(self._name, namespace, saved.id),
            checkpoint=cast(Checkpoint, {**fields, "channel_values": values}),
            metadata=self.metadata(saved),
            parent_config=parent,
            pending_writes=self._pending(namespace, saved.id),
        )

    def metadata(self, saved: Saved) -> CheckpointMetadata:
        forms = {name: value_of(form, self._serde) for name, form in saved.metadata_forms.items()}
        return cast(CheckpointMetadata, {**copied(dict(saved.metadata)), **forms})

    def _value(self, namespace: str, channel: str, version: Any, *, hands: bool = False) -> Any:
        key = (namespace, channel, version)
        stored = self._thread.values[key]
        if not isinstance(stored, ListVersion):
            return value_of(stored, self._serde)
        values = values_of(stored.items(), self._serde)
        if key in self._thread.snapshots:
            return _DeltaSnapshot(values)
        if hands:
            self._thread.handed[namespace, channel] = Handed(version, values)
        return values

    def _pending(self, namespace: str, checkpoint: str) -> list[PendingWrite]:
        written = self._thread.writes(namespace, checkpoint)
        return [(one.task, one.channel, value_of(one.form, self._serde)) for one in written]

    def delta_history(
        self, namespace: str, checkpoint: str | None, channels: Sequence[str]
    ) -> dict[str, DeltaChannelHistory]:
        """Return what was written to channels since each was last stored as a value, on the way to a checkpoint."""
        newest_first: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        saved = self._saved(namespace, checkpoint)
        ancestors = self._thread.saved.get(namespace, {})
        seen = set[str]()
        while saved is not None and saved.parent in ancestors and saved.parent not in seen:
            saved = ancestors[saved.parent]
            seen.add(saved.id)
            for one in reversed(self._thread.writes(namespace, saved.id)):
                if one.channel in newest_first and one.channel not in seeds:
                    found = (one.task, one.channel, value_of(one.form, self._serde))
                    newest_first[one.channel].append(found)
            for channel in newest_first.keys() - seeds.keys():
                if self._thread.stored(namespace, saved, channel) is not None:
                    seeds[channel] = self._value(namespace, channel, saved.fields["channel_versions"][channel])
            if seeds.keys() == newest_first.keys():
                break
        return {
            channel: cast(
                DeltaChannelHistory,
                {"writes": writes[::-1], **({"seed": seeds[channel]} if channel in seeds else {})},
            )
            for channel, writes in newest_first.items()
        }


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether metadata has these values."""
    return all(name in metadata and metadata[name] == value for name, value in (wanted or {}).items())
