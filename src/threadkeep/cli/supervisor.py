"""Server processes beside each other (`--workers`), and one that may be killed (`--killable`): what dies comes back.

The supervisor serves nothing. It forks its workers, one after the other has told that it is ready, passes signals on
(SIGTERM or Ctrl-C: end; SIGHUP: replace each worker by a new one), and gives up on workers that die at once again and
again. When it is gone itself, its workers end.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

PAUSE = 4.0
"""How long the server of a trial is away: long enough for a person to see that the page waits."""
AT_ONCE = 1.0
"""A worker that dies before it is ready, or within so many seconds, dies at once."""
MOST_DEATHS = 5
FIRST_PAUSE = 0.1
"""The pause after a worker that died at once; it doubles each time."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True)
class Post:
    """What a worker is to be: its number, whether it does the work that is done once, whether it is the very first;
    `ready` is to be called when it serves. `is_alone` if nobody supervises it."""

    number: int = 0
    leads: bool = True
    is_first: bool = True
    is_alone: bool = True
    ready: Callable[[], None] = lambda: None


@dataclass
class _Worker:
    post: Post
    pipe: int
    """Tells when it serves, or that it never will; -1 from then on."""
    since: float | None = None
    """When it began to serve."""
    is_told: bool = False


class Supervisor:
    """Keeps `count` workers, numbered below `count + 1`, whose `serve` returns the status that they end with.

    `ended` is told the number of each worker that has ended; `reload` makes what a new one is started with anew, and
    returns whether it could.
    """

    def __init__(
        self,
        serve: Callable[[Post], int],
        count: int = 1,
        *,
        pause: float = 0.0,
        ended: Callable[[int], None] = lambda number: None,
        reload: Callable[[], bool] = lambda: True,
    ) -> None:
        self._serve, self._count, self._pause = serve, count, pause
        self._ended, self._reload = ended, reload
        self._workers: dict[int, _Worker] = {}
        self._to_replace: list[int] = []
        self._deaths = 0
        self._not_before = 0.0
        self._was_ready = self._stops = False
        self._status = 0

    def run(self) -> int:
        """Supervise until told to stop; return the status for the whole. In each worker, return what `serve` does."""
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for each in SIGNALS:
            signal.signal(each, lambda number, frame: None)
        self._is_left, self._hold = os.pipe()  # workers read the end of it when this process is gone
        while self._workers or not self._stops:
            if (post := self._due()) is not None:
                pipe, ready = os.pipe()
                sys.stdout.flush()
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
                if (child := os.fork()) == 0:
                    return self._serve(self._become(post, ready))
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
                os.close(ready)
                self._workers[child] = _Worker(post, pipe)
            self._wait()
            self._reap()
            self._replace()
        return self._status

    def _become(self, post: Post, ready: int) -> Post:
        """Be a worker: nothing is left of the supervisor but to end with it."""
        signal.set_wakeup_fd(-1)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        # A terminal interrupts all; the supervisor passes it on. Programs that are started here do not inherit this.
        signal.signal(signal.SIGINT, lambda number, frame: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(self._hold)
        threading.Thread(target=_end_with, args=(self._is_left,), daemon=True).start()
        return Post(post.number, post.leads, post.is_first, is_alone=False, ready=lambda: _tell(ready))

    def _due(self) -> Post | None:
        """Return what is to be started now: one at a time, so that only one of them opens a new store."""
        is_one_starting = any(worker.since is None for worker in self._workers.values())
        if self._stops or is_one_starting or time.monotonic() < self._not_before:
            return None
        serving = [worker.post for worker in self._workers.values() if not worker.is_told]
        old = self._workers[self._to_replace[0]].post if self._to_replace else None
        if len(self._workers) > self._count or (len(serving) == self._count and old is None):
            return None
        taken = {worker.post.number for worker in self._workers.values()}
        number = next(number for number in range(self._count + 1) if number not in taken)
        leads = old.leads if old and len(serving) == self._count else not any(post.leads for post in serving)
        return Post(number, leads, is_first=not self._was_ready and self._deaths == 0)

    def _wait(self) -> None:
        """Wait for a signal, a worker that is ready, or the moment at which the next may be started."""
        told = {worker.pipe: worker for worker in self._workers.values() if worker.pipe != -1}
        left = self._not_before - time.monotonic()
        heard, _, _ = select.select([self._woken, *told], [], [], left if left > 0 and not self._stops else None)
        for pipe in told.keys() & heard:
            self._note_ready(told[pipe])
        if self._woken in heard:
            for number in os.read(self._woken, 1024):
                self._hear(number)

    def _note_ready(self, worker: _Worker) -> None:
        """Take what a worker told; nothing if it ended before."""
        if os.read(worker.pipe, 1):
            worker.since, self._was_ready = time.monotonic(), True
        os.close(worker.pipe)
        worker.pipe = -1

    def _hear(self, number: int) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stop()
        elif number == signal.SIGHUP and not self._stops and self._reload():
            self._to_replace = [child for child, worker in self._workers.items() if not worker.is_told]

    def _stop(self) -> None:
        """Tell all workers to end; one that is told a second time ends at once."""
        self._stops, self._to_replace = True, []
        for child, worker in self._workers.items():
            worker.is_told = True
            os.kill(child, signal.SIGTERM)

    def _replace(self) -> None:
        """Let a worker go for which there is a new one."""
        serving = sum(not worker.is_told and worker.since is not None for worker in self._workers.values())
        if self._to_replace and serving > self._count:
            old = self._to_replace.pop(0)
            self._workers[old].is_told = True
            os.kill(old, signal.SIGHUP)

    def _reap(self) -> None:
        for child, worker in list(self._workers.items()):
            gone, how = os.waitpid(child, os.WNOHANG)
            if not gone:
                continue
            del self._workers[child]
            if worker.pipe != -1:
                self._note_ready(worker)
            self._ended(worker.post.number)
            self._note_end(child, worker, os.waitstatus_to_exitcode(how))

    def _note_end(self, child: int, worker: _Worker, status: int) -> None:
        """Decide what follows from the end of a worker."""
        if child in self._to_replace:
            self._to_replace.remove(child)
        if worker.is_told:
            self._status = self._status or (1 if self._stops and status else 0)
            return
        if not self._was_ready:
            # It has told why: a store that cannot be opened, a model that does not exist.
            self._give_up(status)
            return
        lived = 0.0 if worker.since is None else time.monotonic() - worker.since
        self._deaths = self._deaths + 1 if lived < AT_ONCE else 0
        if self._deaths >= MOST_DEATHS:
            self._say(
                f"worker {worker.post.number} {_how(status)}, the last of {self._deaths} that died at once: given up"
            )
            self._give_up(status)
            return
        if self._to_replace and worker.since is None:
            self._say("the new worker did not start: the others stay as they are")
            self._to_replace = []
            return
        pause = self._pause + (FIRST_PAUSE * 2**self._deaths if self._deaths else 0)
        self._not_before = time.monotonic() + pause
        again = f"in {pause:g} s" if pause else "now"
        self._say(f"worker {worker.post.number} (process {child}) {_how(status)} and is started again {again}")

    def _give_up(self, status: int) -> None:
        self._status = status if status > 0 else 1
        self._stop()

    def _say(self, what: str) -> None:
        print(f"threadkeep: {what}", file=sys.stderr, flush=True)


def _how(status: int) -> str:
    return f"ended with status {status}" if status >= 0 else f"was killed by {signal.Signals(-status).name}"


def _tell(ready: int) -> None:
    os.write(ready, b".")
    os.close(ready)


def _end_with(is_left: int) -> None:
    """End this process when the one that started it is gone."""
    os.read(is_left, 1)
    os._exit(1)
