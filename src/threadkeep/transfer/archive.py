"""Exports in a ZIP archive: numbered parts, each an export of its own, so that none of them is held in memory.

What is read is never unpacked to disk. Names that lead elsewhere, links, encryption and bombs are refused before the
first member is opened.
"""

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from os import SEEK_END
from typing import IO, cast

from threadkeep.errors import ImportDamaged, ImportTooLarge, UnsafeArchive
from threadkeep.transfer.files import Opened

PART_BYTES = 16 * 1024 * 1024
FILES = "files/"
"""The folder of attached files in an archive: each under its digest, as it is."""
PIECE = 1024 * 1024
MAX_MEMBERS = 1_000_000
MAX_UNPACKED = 64 * 1024**3
MAX_RATIO = 200
"""How much larger than the archive its contents may be; text is rarely 20 times smaller, a bomb 1000 times."""
SMALL = 16 * 1024 * 1024
"""What contents may have at any ratio."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Sink:
    """Where an archive is written to that is handed on while it is written."""

    def __init__(self) -> None:
        self._data = bytearray()

    def __len__(self) -> int:
        return len(self._data)

    def write(self, data: bytes) -> int:
        """Take bytes."""
        self._data += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: all is here."""

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def take(self) -> bytes:
        """Return what was written since the last time."""
        data, self._data = bytes(self._data), bytearray()
        return data


class ArchiveWriter:
    """Writes text into numbered members of an archive, the same bytes for the same text."""

    def __init__(self, file: IO[bytes] | Sink, name: str = "conversations-{:05}.jsonl") -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._name = name
        self._member: IO[bytes] | None = None
        self._written = 0
        self.members = 0

    @property
    def is_full(self) -> bool:
        """Whether the next conversation begins a new part."""
        return self._written >= PART_BYTES

    def begin(self, name: str | None = None, *, packed: bool = True) -> None:
        """Begin a member."""
        self.end()
        self.members += 1
        info = zipfile.ZipInfo(name or self._name.format(self.members), _EPOCH)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        self._member = self._zip.open(info, "w", force_zip64=True)
        self._written = 0

    def write(self, text: str | bytes) -> None:
        """Write to the member that was begun."""
        data = text.encode() if isinstance(text, str) else text
        self._written += len(data)
        if self._member is not None:
            self._member.write(data)

    def end(self) -> None:
        """End the member, if one was begun."""
        if self._member is not None:
            self._member.close()
            self._member = None

    def close(self) -> None:
        """End the archive."""
        self.end()
        self._zip.close()


def members(file: IO[bytes], directory: int) -> Iterator[tuple[str, "Member", Opened]]:
    """Yield the JSON members of an archive by name, opened, each with what opens files by their digests; the rest
    (pictures, pages) is passed over. The list of members may have as many bytes as `directory` says."""
    size = file.seek(0, SEEK_END)
    with _reading():
        # Not closed at the end: files of the last conversation are read after it.
        archive = zipfile.ZipFile(cast(IO[bytes], _Reads(file, directory)))
    infos = sorted(archive.infolist(), key=lambda info: info.filename)
    _check(infos, min(size, sum(info.compress_size for info in infos)))
    for info in infos:
        if info.filename.lower().endswith((".json", ".jsonl")):
            with _reading(), archive.open(info) as member:
                yield info.filename, Member(cast(zipfile.ZipExtFile, member)), partial(_attached, archive)


def _attached(archive: zipfile.ZipFile, sha256: str) -> Iterator[bytes] | None:
    """Return the bytes of an attached file, None if they are not in the archive."""
    return _pieces(archive, FILES + sha256) if FILES + sha256 in archive.NameToInfo else None


def _pieces(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    with _reading(), archive.open(name) as member:
        while piece := member.read(PIECE):
            yield piece


class _Reads:
    """A file of which so much can be read at once, because `zipfile` reads the list of members as a whole."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable
        self._read = file.read
        self._most = most

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        if size > self._most:
            raise ImportTooLarge("The archive has too many members.")
        return self._read(size)


class Member:
    """A member of an archive; what is wrong with its bytes is an error of ours."""

    def __init__(self, file: zipfile.ZipExtFile) -> None:
        self._file = file

    def peek(self, size: int) -> bytes:
        """Return the next bytes, or more of them, and leave them to be read."""
        with _reading():
            return self._file.peek(size)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        with _reading():
            return self._file.read(size)

    def readline(self, size: int = -1) -> bytes:
        """Return the next line, or as much of it."""
        with _reading():
            return self._file.readline(size)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ImportDamaged(f"The archive is damaged: {error}.") from None


def _check(infos: list[zipfile.ZipInfo], packed: int) -> None:
    if len(infos) > MAX_MEMBERS:
        raise ImportTooLarge(f"An archive may have at most {MAX_MEMBERS} members.")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MAX_UNPACKED or unpacked > max(SMALL, MAX_RATIO * packed):
        raise ImportTooLarge("The archive would unpack to far more than an export does.")
    seen: set[str] = set()
    for info in infos:
        parts = info.filename.replace("\\", "/").split("/")
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        is_odd = ".." in parts or parts[0] in ("", "~") or ":" in parts[0] or "\0" in info.orig_filename
        is_known = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if is_link or is_odd or info.flag_bits & 1 or info.filename in seen or not is_known:
            raise UnsafeArchive
        seen.add(info.filename)
