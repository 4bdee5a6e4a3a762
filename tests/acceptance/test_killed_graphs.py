"""A graph that waits for a person is killed while it waits, and again while it does what was allowed."""

import signal
import subprocess
import sys
from pathlib import Path

import threadkeep
from threadkeep.conversation.turn import TurnState
from threadkeep.testing.scripted_model import ScriptedModel

PROGRAM = """
import asyncio, operator, os, signal, sys
from typing import Annotated, TypedDict

import threadkeep
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from threadkeep.testing.scripted_model import ScriptedModel

URL, DIES_IN = sys.argv[1:]

class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[list[str], operator.add]

def propose(state):
    return {"messages": [AIMessage("I would delete old.txt.")], "steps": ["proposed"]}

def delete(state):
    allowed = interrupt("May I?")
    if DIES_IN == "delete":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"messages": [AIMessage(f"{allowed} {state['steps']}")]}

def assistant():
    built = StateGraph(State)
    built.add_node("propose", propose)
    built.add_node("delete", delete)
    built.add_edge(START, "propose")
    built.add_edge("propose", "delete")
    graph = built.compile(checkpointer=InMemorySaver())
    return threadkeep.Assistant(name="files", agent=threadkeep.GraphAgent(graph))

async def main():
    async with threadkeep.open(URL, [assistant()], model=ScriptedModel()) as conversations:
        chat = await conversations.get_or_create("files", title="Files")
        turns = await chat.turns()
        if not turns:
            turn = await chat.send("Tidy up")
            async for _ in turn.events():
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        for call in await chat.waiting_calls():
            await chat.approve(call.id)
        print((await chat.turn(turns[0].number).answer()).content)

asyncio.run(main())
"""


async def test_what_was_allowed_is_done_by_the_process_that_is_left(tmp_path: Path) -> None:
    url, program = f"sqlite:///{tmp_path}/a.db", tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(dies_in: str) -> tuple[int, str]:
        ran = subprocess.run([sys.executable, program, url, dies_in], capture_output=True, text=True, check=False)
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran.returncode, ran.stdout

    assert run("waiting") == (-signal.SIGKILL, "")
    async with threadkeep.open(url, [threadkeep.Assistant(name="other")], model=ScriptedModel()) as conversations:
        (turn,) = await (await conversations.get("files")).turns()
        assert (turn.state, turn.owner, turn.until) == (TurnState.WAITING, None, None)
    assert run("delete") == (-signal.SIGKILL, "")
    assert run("nowhere") == (0, "True ['proposed']\n")
