"""Servers for the page: `threadkeep serve` as a process of its own, which can be killed and come back on the same port.

It keeps a file in a folder of the test, is answered by the demo, and asks for nobody's key unless it is told to.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
QUIET = {"THREADKEEP_LOG_LEVEL": "warning", "THREADKEEP_USER_REQUESTS_PER_SECOND": "0", "PYTHONPATH": str(ROOT)}


class Server:
    """A server and its folder. `pace` is how many seconds the demo takes for a word.

    `variables` are added to its environment; `arguments` to its command line, after those that it always has.
    """

    def __init__(self, folder: Path, *arguments: str, pace: float = 0, variables: Mapping[str, str] = {}) -> None:
        self.folder = folder
        self.pace = pace
        self.url = ""
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
        """Start it and wait until it can be reached; once it had a port it gets that one again."""
        self.pace = self.pace if pace is None else pace
        command = [sys.executable, "-m", "tests.acceptance.slow_server", str(self.pace), "--store", self.store]
        command += ["--model", "demo", "--port", str(urlsplit(self.url).port or 0), *self._arguments]
        with (self.folder / "server.log").open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("Threadkeep serves"), self.log
        self.url = line.split()[-1]

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end("kill")

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        self._end("terminate")

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
