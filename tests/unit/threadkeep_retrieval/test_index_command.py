"""`threadkeep index`: files go in, passages come out, and what is wrong is one line.

Filters as people type them.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest

from threadkeep import rings
from threadkeep.cli.main import main
from threadkeep.errors import InvalidValue
from threadkeep_retrieval.base import Filter
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.index_command import parse_filter

PRODUCTS = [
    {"id": "a55", "title": "Galaxy A55", "text": "A phone by Samsung.", "metadata": {"price": 449, "brand": "Samsung"}},
    {"id": "pixel", "title": "Pixel 9", "text": "A phone by Google.", "metadata": {"price": 799, "brand": "Google"}},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "sea.md").write_text("# The sea\n\nIt is deep and salty.")
    (tmp_path / "shop.jsonl").write_text("\n".join(map(json.dumps, PRODUCTS)))
    return tmp_path


class Ran:
    """A command that has been run: its exit status and what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.status = main(["index", *arguments])
        self.out, self.err = capsys.readouterr()


@pytest.fixture
def filled(capsys: pytest.CaptureFixture[str]) -> str:
    assert Ran(capsys, "add", "x.index", "docs", "shop.jsonl").status == 0
    return "x.index"


def test_files_and_folders_are_added_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "add", "x.index", "docs", "shop.jsonl")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "3 documents added or changed, 0 unchanged in x.index\n"


def test_what_has_not_changed_is_left_alone(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs/sea.md").write_text("# The sea\n\nIt is wide.")
    assert Ran(capsys, "add", filled, "docs", "shop.jsonl").out.startswith("1 document added or changed, 2 unchanged")


def test_the_list_shows_what_is_there(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert Ran(capsys, "list", filled).out.splitlines() == [
        "a55  1  19  Galaxy A55",
        "docs/sea.md  1  32  The sea",
        "pixel  1  18  Pixel 9",
    ]


def test_what_is_removed_is_gone_and_what_was_never_there_is_named(
    filled: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Ran(capsys, "remove", filled, "a55").status == 0
    ran = Ran(capsys, "remove", filled, "a55", "pixel")
    assert (ran.status, ran.out, ran.err) == (1, "1 document removed\n", "threadkeep: There is no document 'a55'.\n")
    assert Ran(capsys, "list", filled).out.startswith("docs/sea.md")


def test_a_search_shows_the_best_first(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "search", filled, "how salty is the ocean?")
    assert re.match(r"1\.00  docs/sea\.md  The sea\n {6}# The sea It is deep and salty\.\n", ran.out)


def test_a_search_can_be_narrowed(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "search", filled, "phones", "--where", "price<500", "--where", "brand=Samsung", "--limit", "3")
    assert [line.split()[1] for line in ran.out.splitlines()[::2]] == ["a55"]
    assert Ran(capsys, "search", filled, "phones", "--where", "price<1").out == ""


def test_a_bad_file_is_one_line_and_the_others_are_added(capsys: pytest.CaptureFixture[str]) -> None:
    Path("docs/latin.txt").write_bytes(b"caf\xe9")
    Path("docs/nul.md").write_bytes(b"\0")
    ran = Ran(capsys, "add", "x.index", "docs", "gone.txt", "shop.jsonl")
    assert ran.status == 1
    assert ran.err.splitlines() == [
        "threadkeep: docs/latin.txt is not UTF-8 text.",
        "threadkeep: docs/nul.md: it holds NUL bytes, so it is no text.",
        "threadkeep: gone.txt cannot be read: No such file or directory.",
    ]
    assert ran.out.startswith("3 documents added")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["list", "gone.index"], "There is no index gone.index."),
        (["search", "gone.index", "x"], "There is no index gone.index."),
        (["remove", "gone.index", "x"], "There is no index gone.index."),
        (["list", "shop.jsonl"], "The file is no index of documents; it was left as it is."),
        (["add", "shop.jsonl", "docs"], "The file is no index of documents; it was left as it is."),
        (["add", "no/x.index", "docs"], "There is no folder no to keep x.index in."),
        (["add", "docs", "docs"], "docs is a folder, not a file."),
        (["add", "x.index", "docs", "--embeddings", "nonsense"], "There are no embeddings 'nonsense'"),
        (["add", "x.index", "docs", "--embeddings", "openai:x"], "openai may not be called"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    ran = Ran(capsys, *arguments)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("threadkeep: ")
    assert reason in ran.err
    assert ran.err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_wrong_filter_or_limit_is_one_line(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "'price' is no filter" in Ran(capsys, "search", filled, "x", "--where", "price").err
    assert "limit of a search" in Ran(capsys, "search", filled, "x", "--limit", "0").err


def test_documents_are_written_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"id": f"{number:03}", "text": f"sea {number}"}) for number in range(150)]
    Path("many.jsonl").write_text("\n".join([*lines, "{broken"]))
    ran = Ran(capsys, "add", "x.index", "many.jsonl")
    assert (ran.status, ran.out) == (1, "150 documents added or changed, 0 unchanged in x.index\n")
    assert "many.jsonl: line 151: it is not JSON" in ran.err
    assert len(Ran(capsys, "list", "x.index").out.splitlines()) == 150


def test_an_index_remembers_its_embeddings(filled: str) -> None:
    assert HybridIndex.made_with(filled) == "wordllama:l2_supercat_256"
    asyncio.run(HybridIndex.open(filled).close())


def test_without_the_package_the_command_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rings, "offered", lambda group: ())
    ran = Ran(capsys, "list", "x.index")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == (
        "threadkeep: No installed package offers the command index (entry point index in threadkeep.commands).\n"
    )


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("price<500", Filter("price", "<", 500)),
        ("price <= 499.5", Filter("price", "<=", 499.5)),
        ("price>=-3", Filter("price", ">=", -3)),
        ("brand=Samsung", Filter("brand", "=", "Samsung")),
        ("brand != Fairphone 5", Filter("brand", "!=", "Fairphone 5")),
        ("in stock=true", Filter("in stock", "=", True)),
        ('model="500"', Filter("model", "=", "500")),
        ("formula=a=b", Filter("formula", "=", "a=b")),
        ("note=", Filter("note", "=", "")),
        ("tags=[1]", Filter("tags", "=", "[1]")),
    ],
)
def test_a_filter_means_what_it_looks_like(text: str, meant: Filter) -> None:
    assert parse_filter(text) == meant


@pytest.mark.parametrize("text", ["", "price", "<500", "=", "! = 5"])
def test_what_is_no_filter_is_explained(text: str) -> None:
    with pytest.raises(InvalidValue, match="is no filter: write a field"):
        parse_filter(text)
