"""The rules for entries that were written elsewhere: the import of another store's entries, and the adoption of what an
instance acknowledged while the database was away. Like `rules`, they read and write nothing."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import ConversationBusy, ImportConflict
from threadkeep.store.base import ROOT
from threadkeep.store.codec import Row
from threadkeep.store.record import End, Imported, ImportedPlace, KeyPlace, OpenTurn
from threadkeep.store.rules import Decision, EndMovedError, Rules, changes_version, holds_message, key_use, replayed
from threadkeep.store.values import Adopt, Appended, Import

ADOPTED_FOR = timedelta(seconds=10)
"""How long a running turn that was adopted is left alone: its other entries follow at once."""


def import_entries(
    rules: Rules, imported: Import, rows: Mapping[int, Row], besides: Mapping[int, int], end: End
) -> Decision[int]:
    """Take in entries that follow the end of the log; `besides` tells what first continued a parent of them."""
    entries = [entry for entry in imported.entries if entry.seq > end.tip.last]
    if not entries or entries[0].seq != end.tip.last + 1:
        raise EndMovedError
    if end.draft is not None or any(turn.owner is not None for turn in end.open_turns.values()):
        raise ConversationBusy
    is_last = imported.version is not None
    turns = _imported_turns(rules, end, imported) if is_last else ()
    return rules.decision(
        len,
        [entry.body for entry in entries],
        [rows[entry.seq] for entry in entries],
        imported=Imported(places=_places(entries, besides), version=imported.version or 0, turns=turns),
    )


def _imported_turns(rules: Rules, end: End, imported: Import) -> tuple[OpenTurn, ...]:
    """Return the open turns of an import, which nobody sees to but whoever has the lease, and those that it ended."""
    now, states, lease = rules.clock(), imported.open_turns, imported.lease
    ended = (turn.model_copy(update={"state": TurnState.COMPLETED}) for turn in end.open_turns.values())
    turns = {
        number: OpenTurn(number=number, state=state, until=now if state is TurnState.RUNNING else None)
        for number, state in sorted(states.items())
    }
    if lease is not None:
        held = {"owner": lease.owner, "fence": lease.fence, "until": now + ADOPTED_FOR}
        turns[lease.turn] = turns[lease.turn].model_copy(update=held)
    return (*(turn for turn in ended if turn.number not in states), *turns.values())


def adopt(rules: Rules, adopt: Adopt, rows: Sequence[Row], besides: Mapping[int, int], end: End) -> Decision[Appended]:
    """Take in entries that follow the end of the log and were acknowledged elsewhere."""
    entries, use = adopt.entries, key_use(end.scope, adopt.key)
    if (found := replayed(end, use)) is not None:
        return Decision(lambda made: Appended(entries=made, replayed=True), again=found)
    if entries[0].seq != end.tip.last + 1:
        raise ImportConflict("Others have written to this conversation meanwhile.")
    turns = _adopted_turns(rules, end, adopt)
    bodies = [entry.body for entry in entries]
    ended = {turn.number for turn in turns if not turn.state.is_open}
    if end.draft is not None and end.draft.turn in ended and not holds_message(bodies, end.draft.message):
        raise ConversationBusy
    return rules.decision(
        lambda made: Appended(entries=made),
        bodies,
        rows,
        imported=Imported(
            places=_places(entries, besides),
            version=adopt.version or end.version + any(map(changes_version, bodies)),
            turns=turns,
            keys=tuple(_key_place(end, *made) for made in adopt.keys),
        ),
        key=use,
    )


def _key_place(end: End, key: IdempotencyKey, first: int, last: int) -> KeyPlace:
    return KeyPlace(name=key.name(end.scope).hex(), digest=key.digest.hex(), first=first, last=last)


def _adopted_turns(rules: Rules, end: End, adopt: Adopt) -> tuple[OpenTurn, ...]:
    """Return the turns that some entries open, change or end here, as they are after them."""
    until, turns, lease = rules.clock() + ADOPTED_FOR, dict[int, OpenTurn](), adopt.lease
    for entry in adopt.entries:
        if isinstance(entry.body, TurnChange) and entry.turn is not None:
            known, state = end.open_turns.get(entry.turn), entry.body.state
            turns[entry.turn] = OpenTurn(
                number=entry.turn,
                state=state,
                fence=known.fence if known else 0,
                until=until if state is TurnState.RUNNING else None,
            )
    if lease is not None and lease.turn in {**end.open_turns, **turns}:
        held = OpenTurn(number=lease.turn, state=TurnState.RUNNING, owner=lease.owner, fence=lease.fence, until=until)
        turns[lease.turn] = held
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
