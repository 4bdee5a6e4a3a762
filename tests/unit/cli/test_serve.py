"""`threadkeep serve`, as a real process on a real socket."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from threadkeep.cli.main import main

COMMAND = str(Path(sys.executable).with_name("threadkeep"))


@contextmanager
def serving(
    folder: Path, *arguments: str, files: tuple[int, int] | None = None, **variables: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and the line that it printed; it listens by then. `files` are its limits."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")} | variables
    shell = [] if files is None else ["prlimit", f"--nofile={files[0]}:{files[1]}"]
    command = [*shell, COMMAND, "serve", "--port", "0", *arguments]
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


def test_a_key_whose_package_is_missing_is_told_on_the_terminal_and_to_the_page(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:", MISTRAL_API_KEY="secret") as (process, line):
        assert process.stdout is not None
        missing = "MISTRAL_API_KEY is set, but its package is missing (pip install"
        assert process.stdout.readline().startswith(f"The answers are scripted: {missing}")
        assert httpx.get(f"{url_in(line)}/v1/models").json()["default"]["missing"].startswith(missing)


def test_without_a_store_it_keeps_one_file_in_the_current_folder(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, line):
        assert "sqlite:///threadkeep.db" in line
        assert (tmp_path / "threadkeep.db").exists()


def test_until_it_has_answered_it_imports_no_package_that_this_needs_not(tmp_path: Path) -> None:
    with (
        serving(tmp_path, PYTHONPROFILEIMPORTTIME="1") as (process, line),
        httpx.Client(base_url=url_in(line)) as asker,
    ):
        path = asker.post("/v1/conversations", json={}).headers["location"]
        answer = asker.post(f"{path}/messages", json={"content": "What is 12 * 12?"}).json()
        process.terminate()
        _, told = process.communicate(timeout=30)
    assert answer["turn"]["state"] == "completed"
    imported = {row.rpartition("|")[2].strip().partition(".")[0] for row in told.splitlines() if "import time:" in row}
    heavy = {"aiohttp", "asyncpg", "boto3", "langchain", "langchain_core", "langgraph", "mcp", "numpy", "openai", "PIL"}
    assert "fastapi" in imported
    assert not imported & {*heavy, "jwt", "pypdf", "sqlite_vec", "tokenizers", "wordllama", "xllamacpp"}


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


def test_silent_connections_of_one_address_leave_room_for_others_and_fill_no_log(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:", files=(64, 256)) as (process, line):
        host, port = urlsplit(url_in(line)).hostname, urlsplit(url_in(line)).port
        assert re.search(r"Max open files +256 ", Path(f"/proc/{process.pid}/limits").read_text())
        with ExitStack() as stack:
            for _ in range(200):
                stack.enter_context(socket.create_connection((str(host), int(port or 0))))
            with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2"), base_url=url_in(line)) as other:
                assert other.get("/health/live").status_code == 200
        process.terminate()
        _, complaints = process.communicate(timeout=30)
    assert complaints.count("At most 96 of them may come from one address") == 1
    assert complaints.count("\n") <= 3


@pytest.mark.parametrize(("trusted", "client"), [("", "127.0.0.1"), ("127.0.0.1,10.0.0.0/8", "192.0.2.7")])
def test_the_log_names_the_client_as_a_trusted_proxy_tells_it(tmp_path: Path, trusted: str, client: str) -> None:
    with serving(tmp_path, "--store", "memory:", THREADKEEP_TRUSTED_PROXIES=trusted) as (process, line):
        forwarded = {"X-Forwarded-For": "198.51.100.1, 192.0.2.7, 10.1.1.1", "X-Forwarded-Proto": "HTTPS"}
        answer = httpx.get(f"{url_in(line)}/v1/me", headers=forwarded)
        assert answer.status_code == 200
        assert ("strict-transport-security" in answer.headers) is bool(trusted)
        process.terminate()
        _, lines = process.communicate(timeout=30)
    assert [json.loads(line)["client"] for line in lines.splitlines() if "/v1/me" in line] == [client]


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
