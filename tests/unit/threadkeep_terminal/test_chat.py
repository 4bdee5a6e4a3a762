"""`threadkeep chat` without a terminal: every line of the input is a message or a command."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep_terminal.slash_commands import COMMANDS

HELP = """
import sys
from threadkeep.cli.main import main
from threadkeep_terminal.slash_commands import COMMANDS
try:
    main(["chat", "--help"])
except SystemExit:
    print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""

ASSISTANT = '''
from threadkeep import Assistant, Registry, tool
from threadkeep_assistants.demo.script import Script, asked


@tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}"


@tool(needs_approval=True)
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def fail(match, scene):
    raise RuntimeError("no such luck")


script = Script(rules=(asked("fail$", fail), asked("^again", lambda match, scene: f"Answer to {scene.question}.")))
assistant = Assistant(name="forecaster", tools=Registry([weather, send_mail]), script=script)
'''


class Run:
    """What one run of the command said."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def id(self) -> str:
        return self.err.partition("This is conversation ")[2].partition(".")[0]


class Chatting:
    """Runs the command in an empty folder, with lines as its input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *lines: str, flags: tuple[str, ...] = ("--model", "demo")) -> Run:
        self._monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        status = main(["chat", *flags])
        said = self._capsys.readouterr()
        return Run(status, said.out, said.err)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Chatting:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("threadkeep_assistants.demo.model.PACE", 0)
    monkeypatch.delitem(sys.modules, "forecaster", raising=False)
    (tmp_path / "forecaster.py").write_text(ASSISTANT)
    return Chatting(monkeypatch, capsys)


FORECASTER = ("--assistant", "forecaster:assistant", "--model", "demo")


def test_help_loads_no_server_no_driver_and_no_vendor() -> None:
    output = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True).stdout
    loaded = set(output.rpartition("loaded:")[2].split())
    assert "usage: threadkeep chat" in output
    assert not loaded & {"uvicorn", "fastapi", "starlette", "apsw", "asyncpg", "langchain", "langchain_core", "mcp"}


def test_a_line_is_answered_and_the_answer_alone_is_the_output(chat: Chatting) -> None:
    run = chat("My name is Ada", "What is my name?")
    assert run.status == 0
    assert run.out.startswith("Nice to meet you, Ada!")
    assert run.out.endswith("\nYour name is Ada.\n")
    assert "demo answers. You chose it." in run.err
    assert "demo is scripted" in run.err
    assert f"threadkeep chat --resume {run.id}\n" in run.err


def test_nothing_said_leaves_no_conversation_behind(chat: Chatting) -> None:
    assert chat("", "   ").status == 0
    assert chat(flags=("--resume",)).err == "threadkeep: There is no conversation to resume in this store.\n"


def test_a_conversation_goes_on_where_it_was_left(chat: Chatting) -> None:
    first = chat("My name is Ada")
    second = chat("What is my name?", flags=("--resume", first.id))
    assert second.out.startswith("Nice to meet you, Ada!")
    assert second.out.endswith("Your name is Ada.\n")
    assert "you: My name is Ada\n" in second.err
    assert "demo answers. It was chosen for this conversation." in second.err


def test_resume_without_an_id_takes_the_newest(chat: Chatting) -> None:
    chat("My name is Ada")
    newest = chat("My name is Bob")
    assert chat(flags=("--resume",)).id == newest.id


def test_tool_calls_are_told_beside_the_answer(chat: Chatting) -> None:
    run = chat("What is the weather in Oslo?", flags=FORECASTER)
    assert '  → weather(city="Oslo")\n  ← weather: Rain in Oslo (' in run.err
    assert run.out.startswith("weather says: Rain in Oslo")


def test_an_approval_is_asked_for_and_given(chat: Chatting) -> None:
    run = chat('call send_mail with {"to": "bob"}', "perhaps", "y", flags=FORECASTER)
    assert 'send_mail(to="bob") needs your approval.' in run.err
    assert run.out.startswith("send_mail says: sent to bob")


def test_an_approval_can_be_refused(chat: Chatting) -> None:
    run = chat('call send_mail with {"to": "bob"}', "N", flags=FORECASTER)
    assert "← send_mail: failed: refused" in run.err
    assert "sent to bob" not in run.out


def test_a_turn_that_waits_is_asked_about_again_when_it_is_resumed(chat: Chatting) -> None:
    first = chat('call send_mail with {"to": "bob"}', flags=FORECASTER)
    assert "(the turn waits for your answer" in first.err
    assert (first.status, first.out) == (0, "")
    second = chat("yes", flags=("--resume", first.id, *FORECASTER))
    assert "(a turn is waiting; following it)" in second.err
    assert second.out.startswith("send_mail says: sent to bob")
    third = chat("still there?", flags=("--resume", first.id, *FORECASTER))
    assert third.out.startswith("send_mail says: sent to bob")


def test_a_turn_that_fails_is_told_in_one_line_and_the_chat_goes_on(chat: Chatting) -> None:
    run = chat("fail", "My name is Ada", flags=FORECASTER)
    assert run.err.count("threadkeep: The turn failed: model_error: ") == 1
    assert "RuntimeError: no such luck\n" in run.err
    assert run.out.startswith("Nice to meet you, Ada!")
    assert run.status == 1


def test_a_message_without_an_answer_is_pointed_out(chat: Chatting) -> None:
    first = chat("fail", flags=FORECASTER)
    second = chat("/regenerate", flags=("--resume", first.id, *FORECASTER))
    assert "(your last message has no answer; /regenerate asks again)" in second.err
    assert "RuntimeError: no such luck\n" in second.err


def test_an_edit_is_a_branch_and_a_branch_can_be_chosen(chat: Chatting) -> None:
    lines = ("again one", "/edit again two", "/branch", "/branch 1", "/history", "again three")
    run = chat(*lines, flags=FORECASTER)
    assert "  1  again one → Answer to again one." in run.err
    assert "* 2  again two → Answer to again two." in run.err
    assert "(now on branch 1: again one → Answer to again one." in run.err
    resumed = chat(flags=("--resume", run.id, *FORECASTER))
    assert "again two" not in resumed.err
    assert resumed.err.endswith("you: again one\nyou: again three\n")


def test_an_edit_without_a_text_asks_for_it(chat: Chatting) -> None:
    run = chat("again one", "/edit", "again two", "/edit again two", flags=FORECASTER)
    assert "Answer to again two." in run.out
    assert "(left as it was)" in run.err


def test_an_answer_can_be_regenerated_beside_the_old_one(chat: Chatting) -> None:
    run = chat("again", "/regenerate", "/branch", flags=FORECASTER)
    assert run.out.count("Answer to again.") == 2
    assert "  1  again → " in run.err
    assert "* 2  again → " in run.err


def test_history_shows_as_many_messages_as_asked_for(chat: Chatting) -> None:
    run = chat("again 1", "again 2", "/history 3", "/history 0", "/history all", flags=FORECASTER)
    assert "you: again 1" not in run.err
    assert run.err.count("you: again 2") == 1
    assert run.err.count("/history takes how many messages to show") == 2


def test_an_export_is_a_file_that_is_not_overwritten_unless_told(chat: Chatting, tmp_path: Path) -> None:
    run = chat("again one", "/export notes.md", "/export notes.md", flags=FORECASTER)
    assert "(this branch is in notes.md)" in run.err
    assert "threadkeep: notes.md is there already; /export notes.md --overwrite replaces it." in run.err
    before = (tmp_path / "notes.md").read_text()
    assert "Answer to again one." in before
    again = chat("again two", "/export notes.md --overwrite", "/export", flags=("--resume", run.id, *FORECASTER))
    assert "Answer to again two." in (tmp_path / "notes.md").read_text()
    assert (tmp_path / f"{again.id}.md").exists()
    assert again.status == 0


def test_an_export_that_cannot_be_written_is_told(chat: Chatting) -> None:
    assert (
        "threadkeep: no/such/folder.md cannot be written: No such file or directory"
        in chat("hi", "/export no/such/folder.md").err
    )


def test_unknown_commands_are_told_and_two_slashes_are_a_message(chat: Chatting) -> None:
    run = chat("/branhc", "/xyzzy", "//again", "/quit", "again one", flags=FORECASTER)
    assert "There is no command /branhc; did you mean /branch?" in run.err
    assert "There is no command /xyzzy; /help lists them." in run.err
    assert "Answer to" not in run.out
    assert "this question is not in my script" in run.out


def test_commands_need_something_that_was_said(chat: Chatting) -> None:
    lines = ("/branch", "/edit x", "/regenerate", "/history", "/export", "/branch 7")
    run = chat(*lines)
    assert run.err.count("threadkeep: Nothing has been said in this conversation yet.") == len(lines)
    assert "threadkeep: The branches are numbered from 1 to 1." in chat("hi", "/branch 7").err


def test_help_lists_every_command(chat: Chatting) -> None:
    run = chat("/help")
    assert all(f"  {command.usage}" in run.err for command in COMMANDS.values())


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--model", "foo"), "There is no model 'foo'"),
        (("--assistant", "nobody"), "There is no assistant named nobody; there are: chat"),
        (("--assistant", "nowhere:nobody"), "The assistant nowhere:nobody cannot be loaded: No module named 'nowhere'"),
        (("--assistant", "forecaster:nobody"), "The assistant forecaster:nobody cannot be loaded: "),
        (("--assistant", "forecaster:script"), "forecaster:script is no assistant, but a Script."),
        (("--resume", "nothing"), "There is no such conversation."),
        (("--resume", "../x"), ""),
        (("--store", "tape:///reel"), "A store is one of "),
    ],
)
def test_what_cannot_be_opened_is_told_in_one_line(chat: Chatting, flags: tuple[str, ...], complaint: str) -> None:
    run = chat("hi", flags=flags)
    assert run.status == 1
    assert run.out == ""
    assert run.err.startswith(f"threadkeep: {complaint}")
    assert run.err.count("\n") == 1


def test_a_conversation_keeps_its_assistant(chat: Chatting, tmp_path: Path) -> None:
    first = chat("hi", flags=FORECASTER)
    without = chat(flags=("--resume", first.id))
    assert without.err == "threadkeep: This conversation is with the assistant forecaster; name it with --assistant.\n"
    (tmp_path / "other.py").write_text("import threadkeep\nassistant = threadkeep.Assistant(name='other')\n")
    another = chat(flags=("--resume", first.id, "--assistant", "other:assistant"))
    assert another.status == 1


def test_the_model_of_a_conversation_can_be_switched(chat: Chatting) -> None:
    first = chat("hi", flags=FORECASTER)
    run = chat(flags=("--resume", first.id, "--assistant", "forecaster:assistant", "--model", "nonsense"))
    assert run.err.startswith("threadkeep: There is no model 'nonsense'")
    assert "demo answers." in chat(flags=("--resume", first.id, *FORECASTER)).err


def test_the_way_back_names_the_store_without_its_secrets(chat: Chatting) -> None:
    run = chat("hi", flags=("--store", "sqlite:///other.db", *FORECASTER))
    assert f"--resume {run.id} --assistant forecaster:assistant --store sqlite:///other.db\n" in run.err


def test_the_way_back_names_the_file_of_settings_that_was_named(
    chat: Chatting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THREADKEEP_CONFIG", "")  # the command sets it, and must not leave it to the next test
    (tmp_path / "threadkeep.toml").write_text('model = "demo"')
    run = chat("hi", flags=("--config", "threadkeep.toml"))
    assert f"--resume {run.id} --config threadkeep.toml\n" in run.err
    assert chat("hi", flags=("--resume", run.id, "--config", "threadkeep.toml")).status == 0


def test_a_command_that_is_not_ours_is_left_to_an_assistant_that_leads_the_conversation(chat: Chatting) -> None:
    run = chat("/status", flags=("--assistant", "skill_creator"))
    assert run.status == 0
    assert "Missing:" in run.out


def test_a_file_goes_with_the_next_message(chat: Chatting, tmp_path: Path) -> None:
    (tmp_path / "notes on tea.md").write_text("Steep it for three minutes.")
    flags = ("--model", "demo")
    said = chat("/attach missing.md", "/attach 'notes on tea.md'", "How long?", "And now?", "/history", flags=flags)
    label = "file notes on tea.md (text/markdown, 27 bytes)"
    assert "missing.md cannot be read: there is no such file" in said.err
    assert f"({label} goes with your next message)" in said.err
    assert said.err.count(f"you: How long?\n  + {label}") == said.err.count(f"+ {label}") == 1


def test_an_edit_keeps_the_files_of_the_message(chat: Chatting, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    flags = ("--model", "demo")
    said = chat("/attach a.csv", "Look", "/edit Look again", "/history", flags=flags)
    assert "you: Look again\n  + file a.csv" in said.out + said.err
    forgotten = chat("/attach a.csv", "/attach", "Look", "/history", flags=flags)
    assert "(nothing goes with your next message)" in forgotten.out + forgotten.err
    assert "+ file a.csv" not in forgotten.out + forgotten.err
