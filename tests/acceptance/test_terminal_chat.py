"""`threadkeep chat` as a real process in a real terminal, where keys are pressed and processes killed."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.acceptance.pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal, running

COMMAND = str(Path(sys.executable).with_name("threadkeep"))
PROMPT = "\n> "
FOLLOWING = "(a turn is running; following it)"
WORDS = 200

ASSISTANT = f'''
import math

from threadkeep import Assistant, Registry, tool
from threadkeep_assistants.demo.script import Script, asked


@tool(needs_approval=True)
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {{to}}"


@tool(timeout=math.inf)
async def sleep() -> str:
    """Never return."""
    import asyncio

    await asyncio.Event().wait()


script = Script(rules=(
    asked("^count", " ".join(map(str, range({WORDS})))),
    asked("^format", "# Title\\n\\nso **very** good"),
))
assistant = Assistant(name="counter", tools=Registry([send_mail, sleep]), script=script)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "counter.py").write_text(ASSISTANT)
    return tmp_path


def chatting(folder: Path, *flags: str, **environment: str) -> AbstractContextManager[PseudoTerminal]:
    command = (COMMAND, "chat", "--model", "demo", "--assistant", "counter:assistant", *flags)
    return running(folder, *command, environment=environment)


@pytest.fixture
def screen(folder: Path) -> Iterator[PseudoTerminal]:
    """A chat that has just begun."""
    with chatting(folder) as terminal:
        terminal.wait_for(PROMPT)
        yield terminal


def say(screen: PseudoTerminal, line: str) -> str:
    """Type a line and return what is shown until the next prompt."""
    screen.type(f"{line}\r")
    return screen.wait_for(PROMPT)


def test_an_answer_streams_and_the_chat_says_how_to_come_back(screen: PseudoTerminal) -> None:
    assert "demo is scripted" in screen.shown
    id = screen.shown.partition("This is conversation ")[2].partition(".")[0]
    screen.type("count\r")
    screen.wait_for("1 2 3")
    assert f" {WORDS - 1}" not in screen.shown
    screen.wait_for(PROMPT)
    screen.type("/quit\r")
    assert screen.wait_for_end() == 0
    assert f"To go on: threadkeep chat --resume {id} --assistant counter:assistant\n" in screen.shown


def test_ctrl_c_cancels_the_turn_and_not_the_program(screen: PseudoTerminal) -> None:
    screen.type("count\r")
    screen.wait_for("3 4 5")
    screen.type(CTRL_C)
    shown = screen.wait_for(PROMPT)
    assert "(cut off here)\n(cancelled; what was said is kept)" in shown
    assert f" {WORDS - 1}" not in shown
    assert "Nice to meet you, Ada!" in say(screen, "My name is Ada")
    screen.type("/history\r")
    screen.wait_for("you: count\n0 1 2 3 4 5")


def test_ctrl_c_stops_a_tool(screen: PseudoTerminal) -> None:
    screen.type("call sleep\r")
    screen.wait_for("→ sleep()")
    screen.type(CTRL_C)
    assert "(cancelled; what was said is kept)" in screen.wait_for(PROMPT)
    assert "Nice to meet you, Ada!" in say(screen, "My name is Ada")


def test_at_the_prompt_ctrl_c_drops_the_line_and_a_second_one_leaves(screen: PseudoTerminal) -> None:
    screen.type("half a line")
    screen.wait_for("half a line")
    screen.press_until(CTRL_C, "(Ctrl-C once more, Ctrl-D or /quit leaves)")
    assert "half a line" not in screen.wait_for("> ")
    screen.press_until(CTRL_C, "\n")
    assert screen.wait_for_end() == 0


def test_ctrl_d_leaves(screen: PseudoTerminal) -> None:
    screen.type(CTRL_D)
    assert screen.wait_for_end() == 0
    assert "Traceback" not in screen.shown


def test_a_person_is_asked_before_a_tool_runs(screen: PseudoTerminal) -> None:
    screen.type('call send_mail with {"to": "bob"}\r')
    screen.wait_for("Allow it? [y/n] ")
    screen.type("y\r")
    assert "← send_mail: sent to bob" in screen.wait_for(PROMPT)


def test_ctrl_c_at_that_question_cancels_the_turn(screen: PseudoTerminal) -> None:
    screen.type('call send_mail with {"to": "bob"}\r')
    screen.wait_for("Allow it? [y/n] ")
    screen.press_until(CTRL_C, "(cancelled; what was said is kept)")
    assert "sent to bob" not in screen.shown


def test_the_last_message_can_be_edited_in_place(screen: PseudoTerminal) -> None:
    say(screen, "My name is Ada")
    screen.type("/edit\r")
    screen.wait_for("edit> My name is Ada")
    screen.type("\x7f\x7f\x7fBob\r")
    assert "Nice to meet you, Bob!" in screen.wait_for(PROMPT)
    assert "My name is Bob → Nice to meet you, Bob!" in say(screen, "/branch")


def test_a_killed_chat_is_resumed_and_its_turn_finished(folder: Path) -> None:
    with chatting(folder) as first:
        first.wait_for(PROMPT)
        first.type("count\r")
        first.wait_for("8 9 10")
        first.process.kill()
    with chatting(folder, "--resume") as second:
        # The turn may have been taken up before the messages of the past are shown, or after.
        shown = second.wait_for(FOLLOWING) + second.wait_for(PROMPT)
    partial, _, rest = shown.partition("(cut off here)")
    assert "0 1 2 3 4 5 6 7 8 9 10" in partial
    assert rest.replace(FOLLOWING, "").strip().startswith(" ".join(map(str, range(WORDS))))


def test_a_turn_that_runs_elsewhere_is_followed_from_where_it_is(folder: Path) -> None:
    with chatting(folder) as first:
        first.wait_for(PROMPT)
        first.type("count\r")
        first.wait_for("8 9 10")
        with chatting(folder, "--resume") as second:
            second.wait_for(FOLLOWING)
            shown = second.wait_for(PROMPT)
    assert " ".join(map(str, range(WORDS))) in shown.replace("\n", "")
    assert "cut off" not in shown


def test_markdown_is_marked_up_in_a_terminal_with_colours(folder: Path) -> None:
    with chatting(folder, TERM="xterm") as screen:
        screen.wait_for("> ")
        screen.type("format\r")
        screen.wait_for("\x1b[1;4mTitle\x1b[0m\n\nso \x1b[1mvery\x1b[0m good")


def test_no_color_leaves_markdown_as_it_is(folder: Path) -> None:
    with chatting(folder, TERM="xterm", NO_COLOR="1") as screen:
        screen.wait_for("> ")
        screen.type("format\r")
        screen.wait_for("# Title\n\nso **very** good")
