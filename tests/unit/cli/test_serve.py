"""`threadkeep serve`, as a real process on a real socket."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from threadkeep.cli.main import main

COMMAND = str(Path(sys.executable).with_name("threadkeep"))


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and the line that it printed; it listens by then."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
    command = [COMMAND, "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


def url_in(line: str) -> str:
    return line.split()[-1]


def test_it_says_in_one_line_what_it_serves_and_answers_there(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as (_, line):
        assert line.startswith("Threadkeep serves memory:, answered by demo, on http://127.0.0.1:")
        assert httpx.get(f"{url_in(line)}/health/ready").json() == {"status": "ok"}
        assert "<title>Threadkeep</title>" in httpx.get(url_in(line)).text


def test_without_a_store_it_keeps_one_file_in_the_current_folder(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, line):
        assert "sqlite:///threadkeep.db" in line
        assert (tmp_path / "threadkeep.db").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_and_in_silence(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (process, line):
        httpx.get(f"{url_in(line)}/health/live")
        process.send_signal(number)
        rest, complaints = process.communicate(timeout=30)
    assert (process.returncode, rest, complaints) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith("-wal")] == []


def test_a_request_for_another_host_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as (_, line):
        answer = httpx.get(url_in(line), headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.com", "127.0.0.1.example.com"])  # noqa: S104
def test_an_address_that_others_can_reach_is_refused(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", host, "--store", "memory:"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"threadkeep: {host} is not a loopback address")
    assert complaint.count("\n") == 1


def test_a_taken_port_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port), "--store", "memory:"]) == 1
    advice = "Address already in use; choose another with --port"
    assert capsys.readouterr().err == f"threadkeep: cannot listen on 127.0.0.1:{port}: {advice}\n"


def test_a_store_that_cannot_be_opened_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "0", "--store", "tape:///reel"]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("threadkeep: ")
    assert complaint.count("\n") == 1


def test_a_host_that_nobody_knows_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "nowhere.invalid", "--auth", "keys"]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("threadkeep: cannot listen on nowhere.invalid:8000: ")
    assert "Unknown error" not in complaint


@pytest.mark.parametrize("model", ["nonsense", "nobody:small"])
def test_a_model_that_does_not_exist_is_told_before_anything_is_served(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THREADKEEP_NO_REAL_MODELS", raising=False)
    assert main(["serve", "--store", "memory:", "--port", "0", "--model", model]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.startswith("threadkeep: ")
