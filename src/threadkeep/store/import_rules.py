"""The rules for entries that were written elsewhere: the import of another store's entries, and the adoption of what an
instance acknowledged while the database was away. Like `rules`, they read and write nothing."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.turn import Turn, TurnChange, TurnState
from threadkeep.errors import ConversationBusy, ImportConflict
from threadkeep.store import rules
from threadkeep.store.base import ROOT
from threadkeep.store.codec import Row
from threadkeep.store.record import End, Imported, ImportedPlace, KeyPlace
from threadkeep.store.values import Adopt, Appended, Import

ADOPTED_FOR = timedelta(seconds=10)
"""How long a running turn that was adopted is left alone: its other entries follow at once."""


class ImportRules(rules.Rules):
    """Decides about entries that follow the end of the log; `besides` tells what first continued a parent of them."""

    def import_entries(
        self, end: End, imported: Import, rows: Mapping[int, Row], besides: Mapping[int, int]
    ) -> rules.Decision[int]:
        """Take in entries of another store."""
        entries = [entry for entry in imported.entries if entry.seq > end.tip.last]
        if not entries or entries[0].seq != end.tip.last + 1:
            raise rules.EndMovedError
        if end.draft is not None or any(turn.owner is not None for turn in end.open_turns.values()):
            raise ConversationBusy
        turns = self._imported_turns(end, imported) if imported.version is not None else ()
        return self.decision(
            len,
            [entry.body for entry in entries],
            [rows[entry.seq] for entry in entries],
            imported=Imported(places=_places(entries, besides), version=imported.version or 0, turns=turns),
        )

    def _imported_turns(self, end: End, imported: Import) -> tuple[Turn, ...]:
        """Return the open turns of an import, which nobody sees to but whoever has the lease, and those that it
        ended."""
        now, states, lease = self.clock(), imported.open_turns, imported.lease
        ended = (turn.model_copy(update={"state": TurnState.COMPLETED}) for turn in end.open_turns.values())
        turns = {
            number: rules.turn_of(end, number, state, until=now if state is TurnState.RUNNING else None)
            for number, state in sorted(states.items())
        }
        if lease is not None:
            held = {"owner": lease.owner, "fence": lease.fence, "until": now + ADOPTED_FOR}
            turns[lease.turn] = turns[lease.turn].model_copy(update=held)
        return (*(turn for turn in ended if turn.number not in states), *turns.values())

    def adopt(
        self, end: End, adopt: Adopt, rows: Sequence[Row], besides: Mapping[int, int]
    ) -> rules.Decision[Appended]:
        """Take in entries that were acknowledged elsewhere."""
        entries, use = adopt.entries, rules.key_use(end.scope, adopt.key)
        if (found := rules.replayed(end, use)) is not None:
            return rules.Decision(lambda made: Appended(entries=made, replayed=True), again=found)
        if entries[0].seq != end.tip.last + 1:
            raise ImportConflict("Others have written to this conversation meanwhile.")
        turns, bodies = self._adopted_turns(end, adopt), [entry.body for entry in entries]
        ended = {turn.number for turn in turns if not turn.state.is_open}
        if end.draft is not None and end.draft.turn in ended and not rules.holds_message(bodies, end.draft.message):
            raise ConversationBusy
        return self.decision(
            lambda made: Appended(entries=made),
            bodies,
            rows,
            imported=Imported(
                places=_places(entries, besides),
                version=adopt.version or end.version + any(map(rules.changes_version, bodies)),
                turns=turns,
                keys=tuple(
                    KeyPlace(name=key.name(end.scope).hex(), digest=key.digest.hex(), first=first, last=last)
                    for key, first, last in adopt.keys
                ),
            ),
            key=use,
        )

    def _adopted_turns(self, end: End, adopt: Adopt) -> tuple[Turn, ...]:
        """Return the turns that some entries open, change or end here, as they are after them."""
        until, turns, lease = self.clock() + ADOPTED_FOR, dict[int, Turn](), adopt.lease
        for entry in adopt.entries:
            if isinstance(entry.body, TurnChange) and entry.turn is not None:
                known, state = end.open_turns.get(entry.turn), entry.body.state
                fields = {"fence": known.fence if known else 0, "until": until if state is TurnState.RUNNING else None}
                turns[entry.turn] = rules.turn_of(end, entry.turn, state, **fields)
        if lease is not None and lease.turn in {**end.open_turns, **turns}:
            held = {"owner": lease.owner, "fence": lease.fence, "until": until}
            turns[lease.turn] = rules.turn_of(end, lease.turn, TurnState.RUNNING, **held)
        return tuple(turn for turn in turns.values() if turn.state.is_open or turn.number in end.open_turns)


def _places(entries: Sequence[Entry], besides: Mapping[int, int]) -> tuple[ImportedPlace, ...]:
    """Return where entries of another store go."""
    return tuple(
        ImportedPlace.trusted(
            parent=entry.parent or ROOT,
            turn=entry.turn,
            at=entry.created_at,
            beside=besides.get(entry.parent or ROOT, 0),
        )
        for entry in entries
    )
