"""Servers for the page: `threadkeep serve` as a process of its own, which can be killed and come back on the same port.

It keeps a file in a folder of the test, is answered by the demo, and asks for nobody's key unless it is told to.
"""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
"""How long anything may take. A page that lost its server asks again after up to 19 s, and two cores may be shared by
many; only what fails waits so long."""
PORTS = range(20_000, 30_000)
"""Below those that systems give to outgoing connections: nobody takes the port of a server while it is away."""
# Processes that ask at the same moment begin at different places.
_ports = islice(cycle(PORTS), os.getpid() * 101 % len(PORTS), None)
QUIET = {"THREADKEEP_LOG_LEVEL": "warning", "THREADKEEP_USER_REQUESTS_PER_SECOND": "0", "PYTHONPATH": str(ROOT)}


class Server:
    """A server and its folder. `pace` is how many seconds the demo takes for a word.

    `variables` are added to its environment; `arguments` to its command line, after those that it always has.
    """

    def __init__(self, folder: Path, *arguments: str, pace: float = 0, variables: Mapping[str, str] = {}) -> None:
        self.folder = folder
        self.pace = pace
        self.url = ""
        self._port = free_port()
        self._arguments = arguments
        self._environment = os.environ | QUIET | dict(variables)
        self._process: subprocess.Popen[str] | None = None

    @property
    def store(self) -> str:
        """Where it keeps its conversations."""
        return f"sqlite:///{self.folder / 'threadkeep.db'}"

    @property
    def log(self) -> str:
        """What it has logged and complained about so far."""
        return (self.folder / "server.log").read_text(encoding="utf-8")

    def start(self, pace: float | None = None) -> None:
        """Start it and wait until it can be reached, always on the same port."""
        self.pace = self.pace if pace is None else pace
        command = [sys.executable, "-m", "tests.acceptance.slow_server", str(self.pace), "--store", self.store]
        command += ["--model", "demo", "--port", str(self._port), *self._arguments]
        if (self.folder / "threadkeep.toml").exists():
            self._environment["THREADKEEP_CONFIG"] = "threadkeep.toml"
        with (self.folder / "server.log").open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.url = self._told(self._process).split()[-1]

    def _told(self, process: subprocess.Popen[str]) -> str:
        """Return the line that says where it is; one that neither says it nor ends is not waited for without end."""
        assert process.stdout is not None
        ready = select.poll()
        ready.register(process.stdout, select.POLLIN)
        line = process.stdout.readline() if ready.poll(PATIENCE * 1000) else ""
        if not line.startswith("Threadkeep serves"):
            self.kill()
            raise AssertionError(f"the server did not start: {self.log}")
        return line

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end("kill")

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        self._end("terminate")

    def workers(self) -> list[int]:
        """Return the processes that it has started, the oldest first."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [int(child) for child in children.split()]

    def reload(self) -> None:
        """Ask it to replace its workers."""
        self._signal(signal.SIGHUP)

    def freeze(self) -> None:
        """Stop it in the midst of whatever it does: it answers nobody, but nobody is told that it is gone."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def restart(self, pace: float | None = None) -> None:
        """Kill it and start it again on the same port, with the same file."""
        self.kill()
        self.start(pace)

    def key(self, tenant: str = "acme", user: str = "ada", role: str = "user") -> str:
        """Make an API key for somebody, as an administrator does on the command line, and return its secret."""
        return self.command("keys", "create", "--tenant", tenant, "--user", user, "--role", role).split()[0]

    def command(self, *arguments: str) -> str:
        """Run `threadkeep` on the store of this server and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "threadkeep.cli.main", *arguments, "--store", self.store],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _end(self, how: str) -> None:
        if self._process is None:
            return
        getattr(self._process, how)()
        self._process.communicate(timeout=PATIENCE)
        self._process = None


def free_port() -> int:
    """Return a port that nobody listens on, and that no other server of this process was given."""
    for port in islice(_ports, len(PORTS)):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue  # somebody else has it
        return port
    raise AssertionError("there is no free port")
