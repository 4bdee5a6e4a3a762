"""Saving a skill's folder: whole or not at all, under one configured folder and never outside it.

On the way down no link is followed. The folder is written beside its place and renamed to it. Who saved a shared skill
is recorded beside it (`.name.owner`): nobody replaces the skill of somebody else.
"""

import errno
import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pydantic import Field

from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, InvalidValue, NotAllowed
from threadkeep.tools.base import ToolContext, ToolFile, ToolOutcome
from threadkeep.tools.decorator import FunctionTool, tool
from threadkeep.tools.outcome import canonical
from threadkeep_assistants.skill_creator.document import MAIN, errors_in, path_error
from threadkeep_assistants.skill_creator.fields import name_error

Layer = Annotated[Literal["personal", "shared"], Field(description="personal: for me alone; shared: for my tenant")]
Place = tuple[Path, Scope, str]


def saving_tool(root: Path) -> FunctionTool:
    """Return the tool that saves into a folder what the conversation's state holds."""

    @tool(repeatable=True)
    def save_skill(name: str, layer: Layer, context: ToolContext, replace: bool = False) -> ToolOutcome:
        """Save the skill that was written in this conversation."""
        values = context.state.values
        files = {MAIN: str(values.get("generated_content") or ""), **(values.get("resources") or {})}
        if wrong := errors_in(files):
            return _failed("failed", " ".join(wrong))
        mark = hashlib.sha256(context.call_id.encode()).hexdigest()[:12]
        try:
            saved = save((root, context.scope, layer), name, files, mark=mark, replace=replace)
        except NotAllowed as error:
            return _failed("owned", str(error))
        except AlreadyExists as error:
            return _failed("taken", str(error))
        except (InvalidValue, OSError) as error:
            return _failed("failed", f"The skill could not be saved: {getattr(error, 'strerror', None) or error}")
        # An absolute path would tell other people how this machine is laid out.
        shown = saved if root.is_absolute() else f"{root.as_posix()}/{saved}"
        archive = ToolFile(media_type="application/zip", data=zipped(name, files), name=f"{name}.zip")
        return ToolOutcome(content=canonical({"saved_to": shown, "files": sorted(files)}), files=(archive,))

    return save_skill


def zipped(name: str, files: Mapping[str, str]) -> bytes:
    """Return a skill's folder as a ZIP, the same bytes for the same files."""
    made = io.BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for path, text in sorted(files.items()):
            about = ZipInfo(f"{name}/{path}")
            about.external_attr = (0o755 if path.endswith(".sh") else 0o644) << 16
            archive.writestr(about, text.encode(), ZIP_DEFLATED)
    return made.getvalue()


def _failed(problem: str, detail: str) -> ToolOutcome:
    return ToolOutcome(content=canonical({"problem": problem, "detail": detail}), error=detail)


def save(place: Place, name: str, files: Mapping[str, str], *, mark: str, replace: bool = False) -> str:
    """Save the files of a skill and return where, relative to the root. The same files once more change nothing.

    `place` is the root, whose skill it is, and who sees it. `mark` tells attempts apart; one that is made again after
    a crash with the same mark clears away what it left. Raises AlreadyExists if another skill has the name and shall
    not be replaced, NotAllowed if it is somebody else's, InvalidValue for a path that leads elsewhere, and OSError.
    """
    root, scope, layer = place
    wrong = [name_error(name), *(path_error(path) for path in files if path != MAIN)]
    wrong += [] if layer in ("personal", "shared") else ["A skill is saved as one of personal, shared."]
    if MAIN not in files or any(wrong):
        raise InvalidValue(next(filter(None, wrong), f"There is no {MAIN}."))
    contents = {path: text.encode() for path, text in files.items()}
    # Tenants and users are ids, which are harmless in paths.
    parts = (scope.tenant, layer, *([scope.user] if layer == "personal" else []))
    with _locked(root, parts) as folder:
        stored = _stored(folder / name)
        if stored != contents:
            if layer == "shared":
                _claim(folder / f".{name}.owner", scope.user, is_taken=stored is not None)
            _put(folder, name, contents, mark, replace=replace)
        shutil.rmtree(folder / f".{name}.{mark}.old", ignore_errors=True)
    return "/".join((*parts, name))


def erase_saved(root: Path, scope: Scope) -> int:
    """Remove the personal skills of a user, and the record of which shared ones are theirs; return how many of both."""
    tenant = root / scope.tenant
    own, shared = tenant / "personal" / scope.user, tenant / "shared"
    # A link leads elsewhere, where nothing of ours is.
    if any(folder.is_symlink() for folder in (tenant, own.parent, own, shared)):
        raise InvalidValue(f"A folder of saved skills below {root} is a link; nothing was erased there.")
    removed = sum(not path.name.startswith(".") for path in own.iterdir()) if own.is_dir() else 0
    if own.is_dir():
        shutil.rmtree(own)
        _sync(own.parent)
    records = [record for record in shared.glob(".*.owner") if record.read_bytes() == scope.user.encode()]
    for record in records:
        record.unlink()
    if records:
        _sync(shared)
    return removed + len(records)


@contextmanager
def _locked(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Make the folder of a place, without following a link; one saves there at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        folder /= part
        if not _is_there(folder):
            folder.mkdir(exist_ok=True)
            _sync(folder.parent)
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(lock)


def _is_there(folder: Path) -> bool:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InvalidValue(f"{folder.name} is a link or a file where a folder should be; nothing was saved.")
    return folder.exists()


def _stored(skill: Path) -> dict[str, bytes] | None:
    """Return the files of a skill that is there, with whatever else lies in its folder; None if there is none."""
    if not _is_there(skill):
        return None
    found = [path for path in skill.rglob("*") if path.is_symlink() or not path.is_dir()]
    return {path.relative_to(skill).as_posix(): path.read_bytes() if path.is_file() else b"" for path in found}


def _claim(record: Path, user: str, *, is_taken: bool) -> None:
    """Record who saves a shared skill. Raises NotAllowed if it is there and somebody else's, or nobody's we know."""
    if not is_taken:
        _write(record, user.encode())
    elif not record.is_file() or record.read_text() != user:
        raise NotAllowed("There is a shared skill of that name already, and it belongs to somebody else.")


def _put(folder: Path, name: str, contents: Mapping[str, bytes], mark: str, *, replace: bool) -> None:
    target, new, old = folder / name, folder / f".{name}.{mark}.new", folder / f".{name}.{mark}.old"
    shutil.rmtree(new, ignore_errors=True)
    try:
        for path, data in contents.items():
            _write(new / path, data)
        for written in (new, *(path for path in new.rglob("*") if path.is_dir())):
            _sync(written)
        if replace and target.exists():
            os.rename(target, old)
        os.rename(new, target)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        if old.exists() and not target.exists():
            os.rename(old, target)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise AlreadyExists(f"There is another skill named {name} here already.") from None
        raise
    _sync(folder)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if path.suffix == ".sh":
        path.chmod(path.stat().st_mode | 0o111)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
