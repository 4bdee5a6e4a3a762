"""Several processes on one folder of files: nothing is lost, doubled or torn, also when they are killed."""

import asyncio
import json
import random
import signal
import sys
from pathlib import Path

from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new, say, texts_of
from threadkeep.testing.stores import whole_log

_WRITER = """
import asyncio, sys
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import say

async def main(url, name, count):
    store = await open_store(url)
    for number in range(count):
        (entry,) = await say(store, "shared", f"{name} {number}", scope=LOCAL)
        print(entry.seq, name, number, flush=True)
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


async def _writer(url: str, name: str, count: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WRITER, url, name, str(count), stdout=asyncio.subprocess.PIPE
    )


async def _acknowledged(process: asyncio.subprocess.Process) -> dict[int, str]:
    """Return what a writer was told is stored: the text of each seq."""
    output, _ = await process.communicate()
    lines = [line.split(" ", 1) for line in output.decode().splitlines(keepends=True) if line.endswith("\n")]
    return {int(seq): text.strip() for seq, text in lines}


async def test_two_processes_append_200_messages_each_to_one_conversation(tmp_path: Path) -> None:
    url = f"files:///{tmp_path}"
    store = await open_store(url)
    await new(store, LOCAL, name="shared")
    writers = [await _writer(url, name, 200) for name in ("left", "right")]
    told = [await _acknowledged(writer) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    entries, _ = await whole_log(store, LOCAL, "shared")
    assert [entry.seq for entry in entries] == list(range(1, 401))
    assert [entry.parent for entry in entries] == [None, *range(1, 400)]
    texts = texts_of(entries)
    assert {seq: texts[seq - 1] for seq in range(1, 401)} == {**told[0], **told[1]}
    for name in ("left", "right"):
        assert [text for text in texts if text.startswith(name)] == [f"{name} {number}" for number in range(200)]
    await store.close()
    document = json.loads((tmp_path / "shared.json").read_text())
    assert [message["content"] for message in document["messages"]] == texts


async def test_what_a_killed_process_was_told_is_there_once_and_the_others_go_on(tmp_path: Path) -> None:
    url = f"files:///{tmp_path}"
    store = await open_store(url)
    await new(store, LOCAL, name="shared")
    dice = random.Random(3)
    told: dict[int, str] = {}
    for round_ in range(4):
        writer = await _writer(url, f"round{round_}", 1000)
        assert writer.stdout is not None
        for _ in range(dice.randint(1, 30)):
            seq, text = (await writer.stdout.readline()).decode().split(" ", 1)
            told[int(seq)] = text.strip()
        writer.send_signal(signal.SIGKILL)
        told |= await _acknowledged(writer)
        await say(store, "shared", f"between {round_}", scope=LOCAL)
    entries, _ = await whole_log(store, LOCAL, "shared")
    texts = texts_of(entries)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert {seq: texts[seq - 1] for seq in told} == told
    assert len(set(texts)) == len(texts)
    await store.close()
    document = json.loads((tmp_path / "shared.json").read_text())
    assert [message["content"] for message in document["messages"]] == texts
