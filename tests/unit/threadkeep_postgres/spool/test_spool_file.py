"""The file of a spool: whose its conversations are, and what is kept of each for carrying it over."""

import shutil
from pathlib import Path

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.record import KeyUse
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, BOB, asked, texts_of
from threadkeep_postgres.spool.spool_file import Copy, Holding, SpoolFile, damage_in

KEY = KeyUse(name="00" * 16, digest="11" * 16)
LEASE = Lease(scope=ADA, conversation="c", turn=103, owner="one", fence=2)


async def test_a_process_that_was_killed_leaves_a_spool_that_is_whole(tmp_path: Path) -> None:
    folder, killed = tmp_path / "spool", tmp_path / "killed"
    spool = await SpoolFile.open_in(folder, utc_now, new_id, MAX_BYTES)
    shutil.copytree(folder, killed)  # as it lies on the disk while it is open
    again = await SpoolFile.open_in(killed, utc_now, new_id, MAX_BYTES)
    assert damage_in(killed) is None
    await again.close()
    await spool.close()


@pytest.mark.parametrize(("turn", "runs"), [(102, False), (103, True), (104, False), (105, True)])
def test_turns_run_here_that_began_here_or_were_carried_along(turn: int, runs: bool) -> None:
    assert Copy(scope=ADA, id="c", base=104, lease=LEASE).runs(turn) is runs


async def test_everybody_has_a_place_of_their_own_and_what_is_known_of_it_is_kept(tmp_path: Path) -> None:
    spool = await SpoolFile.open_in(tmp_path, utc_now, new_id, MAX_BYTES)
    owners = (ADA, BOB, Scope(tenant="other", user=ADA.user))
    for owner in owners:
        copy = Copy(scope=owner, id="same", is_new=True, key=KEY, lease=LEASE, answers=False)
        await spool.hold(Holding(copy=copy, new=NewConversation(id="same", metadata={"of": owner.user})))
        await spool.append(owner, "same", Append(bodies=(asked(owner.tenant),)))
    await spool.close()
    spool = await SpoolFile.open_in(tmp_path, utc_now, new_id, MAX_BYTES)
    assert {copy.scope for copy in await spool.copies()} == set(owners)
    for copy in await spool.copies():
        assert (copy.last, copy.is_new, copy.answers, copy.key, copy.lease) == (1, True, False, KEY, LEASE)
        kept = await spool.get(*copy.place)
        assert (kept.scope, kept.metadata) == (copy.scope, {"of": copy.scope.user})
        assert texts_of(await spool.newest(*copy.place)) == [copy.scope.tenant]
        await spool.remove(copy)
    assert await spool.copies() == []
    await spool.close()
