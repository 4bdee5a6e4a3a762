"""What a release publishes: built twice it is the same, and in an environment without anything else it serves, or says
what is missing."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.browser.server import PATIENCE, free_port
from tests.documents import ROOT

PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj\n%%EOF"


def built(folder: Path, **variables: str) -> tuple[Path, Path]:
    """Return the wheel and the source distribution."""
    command: list[str | Path] = [sys.executable, ROOT / "requirements" / "wheel", folder]
    environment = os.environ | {"THREADKEEP_DIST": "threadkeep", "THREADKEEP_URL": ""} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def program(release: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment in which nothing but the wheel was installed."""
    folder = tmp_path_factory.mktemp("empty")
    pinned = (ROOT / "requirements" / "run.txt").read_text(encoding="utf-8")
    versions = folder / "versions.txt"
    versions.write_text("\n".join(re.findall(r"^[\w.-]+==[^\s;]+", pinned, re.MULTILINE)), encoding="utf-8")
    venv.create(folder / "venv")
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        folder / "venv",
        "install",
        "--quiet",
    ]
    subprocess.run([*pip, "--constraint", versions, release[0]], check=True, capture_output=True, timeout=600)
    return folder / "venv" / "bin" / "threadkeep"


def said(program: Path, folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command that ends by itself, in an empty folder and without the variables of this process."""
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def serving(program: Path, folder: Path) -> Iterator[httpx.Client]:
    command: list[str | Path] = [program, "serve", "--model", "demo", "--port", str(free_port())]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={"HOME": str(folder)}, stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert process.stdout is not None
        with httpx.Client(base_url=process.stdout.readline().split()[-1], timeout=PATIENCE) as client:
            yield client
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_the_same_tree_gives_the_same_bytes(release: tuple[Path, Path], tmp_path: Path) -> None:
    again = built(tmp_path)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in release]


def test_the_name_on_the_index_and_the_addresses_are_settings(tmp_path: Path) -> None:
    wheel, _ = built(tmp_path, THREADKEEP_DIST="threadkeep-server", THREADKEEP_URL="https://git.example/team/tk")
    assert wheel.name.startswith("threadkeep_server-")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(about).decode()
        drivers = archive.read("threadkeep_postgres/opening.py").decode()
    assert "threadkeep/__init__.py" in names
    assert "pip install 'threadkeep-server[postgres]'" in drivers
    assert "Project-URL: Source, https://git.example/team/tk\n" in metadata
    assert [
        link for link in re.findall(r"\]\(([^)]+)\)", metadata) if not link.startswith(("https:", "http:", "#"))
    ] == []
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", metadata)
    assert pictures
    assert all(picture.startswith("https://git.example/team/tk/raw/v") for picture in pictures)


def test_everything_that_is_needed_to_check_and_to_licence_it_comes_along(release: tuple[Path, Path]) -> None:
    wheel, source = release
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"SECURITY.md", "tests/conftest.py", "requirements/run.txt", "Makefile", "LICENSE"} <= names
    with zipfile.ZipFile(wheel) as archive:
        licences = "".join(name for name in archive.namelist() if "/licenses/" in name)
    folders = [path.name for path in (ROOT / "src/threadkeep_pages/web/vendor").iterdir() if path.is_dir()]
    assert [folder for folder in folders if folder not in licences] == []
    assert "LICENSE-FONTS" in licences
    assert "LICENSE-EMBEDDED" in licences
    assert wheel.stat().st_size < 4_000_000


def test_alone_it_serves_the_page_and_answers(program: Path, tmp_path: Path) -> None:
    with serving(program, tmp_path) as client:
        page = client.get("/")
        assert "Threadkeep" in page.text
        for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
            assert client.get(path).status_code == 200, path
        conversation = client.post("/v1/conversations").json()["id"]
        file = client.post("/v1/files?name=a.pdf", content=PDF, headers={"Content-Type": "application/pdf"}).json()
        part = {"type": "file", "file": file["id"]}
        asked = {"content": [{"type": "text", "text": "My name is Ada."}, part]}
        answer = client.post(f"/v1/conversations/{conversation}/messages", json=asked)
        assert answer.status_code == 200, answer.text
        assert "Ada" in answer.text
    log = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert any("pip install 'threadkeep[files]'" in line["message"] for line in log if line["level"] == "warning")
    assert [line for line in log if line["level"] == "error"] == []


def test_alone_it_says_what_is_missing(program: Path, tmp_path: Path) -> None:
    status, out, error = said(program, tmp_path, "serve", "--model", "local", "--port", str(free_port()))
    assert (status, out) == (1, "")
    assert "pip install 'threadkeep[local]'" in error.splitlines()[-1]
    status, _, error = said(program, tmp_path, "serve", "--store", "postgresql://nobody@127.0.0.1/none")
    assert status == 1
    assert "pip install 'threadkeep[postgres]'" in error.splitlines()[-1]
    assert "Traceback" not in error


def test_alone_the_doctor_names_only_what_is_there(program: Path, tmp_path: Path) -> None:
    status, out, _ = said(program, tmp_path, "doctor", "--port", "0")
    assert status == 0, out
    assert "pip install 'threadkeep[files]'" in out
    named = re.findall(r"(?<!a )\b[\w./-]+\.(?:toml|db|py|md)\b", out.replace("sqlite:///threadkeep.db", ""))
    assert [name for name in named if not (tmp_path / name).exists()] == []
