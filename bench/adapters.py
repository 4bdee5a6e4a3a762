"""What it costs to keep a framework's sessions here, beside the store that the framework has itself, in one run.

    python -m bench.adapters                    every framework that `make setup` has installed
    python -m bench.adapters --quick            at 10 and 1,000 messages only
    python -m bench.adapters openai-agents ...  these frameworks

Each runs in an environment of its own. Measured are: saving a turn, as the framework does it, in a session of so many
messages, by the clock and of the processor; turns in a second of 32 sessions at once; bytes on disk for the same turns.
Every store syncs every commit, also one that leaves that to its users.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import threadkeep
from bench import adapter_rows
from bench.adapter_rows import Rivals, Row, Said, Save
from bench.report import Report
from bench.stopwatch import race, rate
from bench.texts import turns
from threadkeep.conversations import Conversations

ROOT = Path(__file__).parents[1]
SIZES = (10, 1000, 5000)
AT_ONCE, EACH = 32, 20
ROUNDS, COUNTED = 100, 20


@asynccontextmanager
async def openai_agents(folder: Path, conversations: Conversations) -> AsyncIterator[Rivals]:
    """A run adds the question, and then what came of it."""
    from agents import SQLiteSession

    from threadkeep_integrations.openai_agents import AgentsSession

    sessions: dict[tuple[str, str], Any] = {}

    def saving(kind: str, make: Callable[[str], Any]) -> Save:
        async def save(session: str, said: Sequence[Said]) -> None:
            if (kind, session) not in sessions:
                sessions[kind, session] = make(session)
            store = sessions[kind, session]
            if len(said) > 1:
                await store.add_items([item for turn in said for item in _items(*turn)])
                return
            question, answer = _items(*said[0])
            await store.add_items([question])
            await store.add_items([answer])

        return save

    theirs = saving("theirs", lambda session: SQLiteSession(session, folder / "agents.db"))
    yield Rivals("SQLiteSession", theirs, saving("ours", lambda session: AgentsSession(conversations, session)))
    for (kind, _), session in sessions.items():
        if kind == "theirs":
            session.close()


def _items(question: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    text = {"type": "output_text", "text": answer, "annotations": [], "logprobs": []}
    said = {"id": f"msg_{os.urandom(24).hex()}", "type": "message", "role": "assistant", "status": "completed"}
    return {"role": "user", "content": question}, {**said, "content": [text]}


ROWS: Mapping[str, Row] = {
    "openai-agents": openai_agents,
    "langchain": adapter_rows.langchain,
    "langgraph": adapter_rows.langgraph,
    "google-adk": adapter_rows.google_adk,
    "pydantic-ai": adapter_rows.pydantic_ai,
    "claude-agent-sdk": adapter_rows.claude_agent_sdk,
}
"""What is measured, by the name of the environment."""


def said(seed: int = 1) -> Iterator[Said]:
    """Return turns without end."""
    return ((question.content, answer.content) for question, answer in turns(seed))


async def measure(report: Report, row: Row, sizes: Sequence[int]) -> None:
    """Measure a framework's store and ours."""
    with TemporaryDirectory(dir=os.environ.get("THREADKEEP_BENCH_DIR")) as place:
        theirs, ours = Path(place, "theirs"), Path(place, "ours")
        theirs.mkdir()
        ours.mkdir()
        async with threadkeep.open(f"sqlite:///{ours}/threadkeep.db") as kept, row(theirs, kept) as rivals:
            await _measure_turns(report, rivals, sizes)
            await _measure_many(report, rivals)
        sizes_on_disk = {
            name: sum(file.stat().st_size for file in Path(place, name).rglob("*")) for name in ("theirs", "ours")
        }
    report.note(
        f"on disk: {rivals.name} {sizes_on_disk['theirs'] / 1e6:.2f} MB, ours {sizes_on_disk['ours'] / 1e6:.2f} MB"
    )
    _bar(report, rivals, "bytes on disk, of theirs", sizes_on_disk["ours"] / sizes_on_disk["theirs"], at_most=1)


def _bar(report: Report, rivals: Rivals, what: str, value: float, **limit: float) -> None:
    """Hold a number against its bar, or only tell it where the framework has no store on disk."""
    if rivals.has_store:
        report.bar(what, value, **limit)
    else:
        report.note(f"{what}: {value:.2f} (no bar: not a store)")


async def _measure_turns(report: Report, rivals: Rivals, sizes: Sequence[int]) -> None:
    """Measure what saving a turn takes in a session that grows."""
    rows, source, filled = [], said(), 0
    for size in sizes:
        more = [*islice(source, (size - filled) // 2)]
        for save in (rivals.theirs, rivals.ours):
            for turn in more[:2]:
                await save("long", [turn])
            await save("long", more[2:])
        acts = {
            "theirs": lambda: rivals.theirs("long", [next(source)]),
            "ours": lambda: rivals.ours("long", [next(source)]),
        }
        taken = await race(acts, rounds=ROUNDS, acts=1)
        used = {name: await _processor_time(act) for name, act in acts.items()}
        filled = size + 2 * (ROUNDS + 1 + COUNTED)
        waited = [f"{taken[name].median / 1e3:.2f}" for name in acts]
        rows.append([f"{size:,}", *waited, *(f"{each:.2f}" for each in used.values())])
        faster = taken["theirs"].median / taken["ours"].median
        least = rivals.times if size == SIZES[-1] else 1
        _bar(report, rivals, f"a turn at {size:,} messages, times as fast", faster, at_least=least)
    heads = ["messages", f"{rivals.name}, ms", "ours, ms", "its processor time, ms", "ours, ms"]
    report.table("Saving a turn (median)", heads, rows)


async def _processor_time(act: Callable[[], Awaitable[None]]) -> float:
    """Return what one act takes of the processor, in milliseconds: it varies less than the clock where others run."""
    begun = time.process_time()
    for _ in range(COUNTED):
        await act()
    return (time.process_time() - begun) / COUNTED * 1000


async def _measure_many(report: Report, rivals: Rivals) -> None:
    """Measure how many turns pass in a second where many sessions are saved at once."""
    per_second = {}
    for name, save in (("theirs", rivals.theirs), ("ours", rivals.ours)):
        source = said(2)

        async def one(session: str, mine: Sequence[Said], save: Save = save) -> None:
            for turn in mine:
                await save(session, [turn])

        work = [one(f"s{number}", [*islice(source, EACH)]) for number in range(AT_ONCE)]
        per_second[name] = await rate(asyncio.gather(*work), AT_ONCE * EACH)
    report.note(f"{AT_ONCE} sessions at once: {per_second['theirs']:.0f} turns a second, ours {per_second['ours']:.0f}")
    faster = per_second["ours"] / per_second["theirs"]
    _bar(report, rivals, f"{AT_ONCE} sessions at once, times as fast", faster, at_least=1)


def main() -> None:
    """Measure frameworks, each in its own environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=[*ROWS])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--here", action="store_true", help="in this environment")
    given = parser.parse_args()
    for name in given.names:
        python = ROOT / ".venv" / "frameworks" / name / "bin" / "python"
        if given.here:
            report = Report(sys.stdout)
            report.title(f"{name}: its own store and ours")
            asyncio.run(measure(report, ROWS[name], SIZES[:2] if given.quick else SIZES))
        elif python.exists():
            again = [python, "-m", "bench.adapters", name, "--here", *(["--quick"] if given.quick else [])]
            subprocess.run(again, cwd=ROOT, check=True)
        else:
            sys.stdout.write(f"{name}: not installed, `make setup` does it\n")


if __name__ == "__main__":
    main()
