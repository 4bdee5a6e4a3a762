"""Makes a skill in processes that die: `python -m tests.acceptance.skill_player FOLDER [STEP]`.

For every moment before and after a write of the store (every third with STEP 3), a process dies there by its own hand
and another one goes on, until one survives. Prints how many moments there were; ends with 1 if a skill differs from the
undisturbed one.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import cast

from tests.acceptance.child import fork, in_child
from tests.acceptance.turn_player import LEASE_AND_MORE, Mortal
from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, ended
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.turn.assistant import Assistant
from threadkeep_assistants.demo.model import DemoModel
from threadkeep_assistants.skill_creator import skill_creator
from threadkeep_assistants.skill_creator.agent import SkillCreator

TALK = (
    "I want a skill that turns meeting notes into action items. It needs a script to parse dates.",
    "yes",
    "find tasks: owner, due date; write a summary",
    "you decide everything",
    "change the name to Minutes Maker",
    "write it",
    "me",
)


async def play(folder: Path, moment: int, lives: int) -> None:
    """Say everything, each line once however often this is called; die at a moment."""
    clock = FakeClock(datetime.now(UTC) + lives * LEASE_AND_MORE)

    async def opened() -> Store:
        return await open_store(f"sqlite:///{folder}/log.db", clock=clock)

    processes = Processes(opened, clock)
    assistant = _assistant(folder)
    conversations = await processes.open(
        DemoModel(pace=0), assistant=assistant, store=cast(Store, Mortal(await opened(), moment))
    )
    chat = await conversations.create(id="skill", title="A skill", key=IdempotencyKey.of("create", "skill", None))
    for number, line in enumerate(TALK):
        end = await ended(await chat.send(line, key=f"line {number}"))
        if name_of(end) != "turn.completed":
            raise AssertionError(f"{line!r} ended with {name_of(end)}: {data_of(end)}")
    state = (await conversations._store.state(LOCAL, "skill")).values["state"]
    if state != "completed":
        raise AssertionError(f"all was said, and the conversation is {state}")
    await processes.close()


def _assistant(folder: Path) -> Assistant:
    made = skill_creator(Settings(skills_dir=str(folder / "skills")))
    return Assistant(name=made.name, tools=made.tools, machine=made.machine, agent=SkillCreator())


def skill_in(folder: Path) -> dict[str, bytes]:
    """Return all files below the folder of skills, hidden ones too: nothing may be left of a process that died."""
    root = folder / "skills"
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def every_moment(folder: Path, step: int) -> int:
    """Let a process die at each moment once, or at each that a step comes to; return the last that there is."""
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir()
    in_child(lambda out: asyncio.run(play(undisturbed, 0, 0)))
    expected = skill_in(undisturbed)
    assert len(expected) == 2, expected
    for moment in count(1, step):
        place = folder / f"moment{moment}"
        place.mkdir()
        survived = _dies(place, moment) == 0
        in_child(_going_on(place))
        assert skill_in(place) == expected, f"after a death at moment {moment} the skill is another one"
        if survived:
            return moment - step
    raise AssertionError("there is always a last moment")


def _going_on(place: Path) -> Callable[[int], None]:
    return lambda out: asyncio.run(play(place, 0, 1))


def _dies(place: Path, moment: int) -> int:
    child = fork(lambda: asyncio.run(play(place, moment, 0)))
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    print(f"{every_moment(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)} moments")
