"""Where the programs of a PostgreSQL with Citus are: installed, or put together from a tarball of Citus and a copy of
Debian's PostgreSQL in a folder of ours. The system's own PostgreSQL is never changed.

`CITUS_TARBALL` names the tarball; without it, it is looked for beside this repository. Its build with the repair of
citusdata/citus#8783 (LEAKFIX) is taken: the stock one keeps 72 KB for each append and connection.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tests.documents import ROOT

PACKAGES = ("postgresql-15", "postgresql-client-15", "libpq5")
INSTALLED = Path("/usr/lib/postgresql")
CACHE = ROOT / ".venv" / "citus"
NOWHERE = (
    "there is no Citus: install it (docs/howto/scale.md), name a coordinator in THREADKEEP_TEST_CITUS, "
    "or a tarball for Debian 12's PostgreSQL 15 in CITUS_TARBALL"
)


class NoCitusError(Exception):
    """There is none to be had, and why."""


def programs() -> Path:
    """Return the folder of programs, which is made first if need be."""
    for installed in sorted(INSTALLED.glob("*/lib/citus.so"), reverse=True):
        return installed.parents[1] / "bin"
    tarball = _tarball()
    if tarball is None:
        raise NoCitusError(NOWHERE)
    made = CACHE / sha256(tarball.read_bytes()).hexdigest()[:16]
    CACHE.mkdir(parents=True, exist_ok=True)
    with _alone(CACHE / "lock"):
        if not made.exists():
            shutil.rmtree(CACHE / "new", ignore_errors=True)
            _put_together(tarball, CACHE / "new")
            (CACHE / "new").rename(made)
    return made / "usr/lib/postgresql/15/bin"


def environment(folder: Path) -> dict[str, str]:
    """Return the variables with which programs find the libraries that lie beside them."""
    beside = [str(path.parent) for path in folder.parents[3].glob("lib/*/libpq.so.5")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(beside)} if folder.is_relative_to(CACHE) else dict(os.environ)


def _tarball() -> Path | None:
    if named := os.environ.get("CITUS_TARBALL"):
        if not Path(named).is_file():
            raise NoCitusError(f"CITUS_TARBALL names {named}, which is not there")
        return Path(named)
    return max((ROOT.parent / "shared/citus").glob("citus-*pg15*.tar.xz"), default=None)


def _put_together(tarball: Path, root: Path) -> None:
    """Unpack PostgreSQL as Debian gives it away, and put Citus into it."""
    archives = root / "archives"
    (archives / "partial").mkdir(parents=True)
    download = ["apt-get", "install", "--download-only", "--reinstall", "--no-install-recommends", "-y", "-qq"]
    download += ["-o", f"Dir::Cache::archives={archives}", "-o", "Debug::NoLocking=true", *PACKAGES]
    try:
        if subprocess.run(download, check=False, capture_output=True).returncode != 0:
            subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
            subprocess.run(download, check=True, capture_output=True)
        for archive in archives.glob("*.deb"):
            subprocess.run(["dpkg", "-x", archive, root], check=True, capture_output=True)
        shutil.rmtree(archives)
        subprocess.run(["tar", "-xf", tarball, "-C", root], check=True, capture_output=True)
        (citus,) = root.glob("citus-*")
        shutil.copytree(citus / "lib", root / "usr/lib/postgresql/15/lib", dirs_exist_ok=True)
        shutil.copytree(citus / "extension", root / "usr/share/postgresql/15/extension", dirs_exist_ok=True)
        shutil.copy(citus / "leakfix/citus.so", root / "usr/lib/postgresql/15/lib/citus.so")
    except (OSError, subprocess.CalledProcessError) as error:
        said = error.stderr.decode() if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise NoCitusError(f"Debian's {PACKAGES[0]} could not be put together with {tarball.name}: {said}") from error


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep other processes out meanwhile."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def is_to_be_had() -> bool:
    """Whether there seems to be one, without making it."""
    if "THREADKEEP_TEST_CITUS" in os.environ or any(INSTALLED.glob("*/lib/citus.so")):
        return True
    return shutil.which("apt-get") is not None and _tarball() is not None


if __name__ == "__main__":
    try:
        print(f"Citus: {os.environ.get('THREADKEEP_TEST_CITUS') or programs()}")
    except NoCitusError as error:
        sys.exit(f"threadkeep: {error}")
