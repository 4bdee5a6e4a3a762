"""Owners: a process that has ended is told from one that lives, and nobody else is taken for gone."""

import os
import socket
import subprocess
import sys

import pytest

from threadkeep.turn.runner import is_gone, new_owner

SAY = "from threadkeep.turn.runner import new_owner; print(new_owner(), flush=True); input()"


def test_two_owners_have_different_names_and_both_live() -> None:
    one, other = new_owner(), new_owner()
    assert one != other
    assert not is_gone(one)
    assert not is_gone(other)


def test_another_process_lives_until_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", SAY], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        owner = process.stdout.readline().strip()
        assert not is_gone(owner)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(owner), "it has ended, though nobody has asked how yet"
        process.wait()
        assert is_gone(owner)


def test_a_number_that_is_used_again_is_not_the_process_that_had_it() -> None:
    host, space, pid, _, id = new_owner().split(" ")
    assert is_gone(f"{host} {space} {pid} 1 {id}")


@pytest.mark.parametrize(
    "owner",
    ["", "somebody", "host-1-2", f"elsewhere pid:[1] {os.getpid()} 1 x", f"{socket.gethostname()} pid:[1] 1 1 x"],
    ids=["empty", "a word", "an older form", "another machine", "another space of processes"],
)
def test_nobody_is_taken_for_gone_who_cannot_be_seen_from_here(owner: str) -> None:
    assert not is_gone(owner)
