"""Documents out of files, and what is wrong with a file in one sentence that names it."""

import json
import os
from pathlib import Path

import pytest

from threadkeep.errors import InvalidInput
from threadkeep_retrieval import files
from threadkeep_retrieval.base import Document
from threadkeep_retrieval.files import find_files, read_documents

PRODUCT = {"id": "a55", "title": "Galaxy", "text": "A phone", "metadata": {"price": 449, "colour": None, "new": True}}
EXPECTED = Document(id="a55", title="Galaxy", text="A phone", metadata={"price": 449, "new": True})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def documents(path: Path) -> list[Document]:
    return [read.document for read in read_documents(path)]


def complaint(path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        documents(path)
    return str(caught.value)


def test_a_text_is_one_document_with_its_path_as_id() -> None:
    path = written("notes/./today.txt", "# not a heading\nIt rains.")
    assert documents(path) == [Document(id="notes/today.txt", title="today", text="# not a heading\nIt rains.")]


def test_the_title_of_markdown_is_its_first_heading() -> None:
    assert documents(written("a.md", "intro\n\n# The sea #\n\n# Later"))[0].title == "The sea"
    assert documents(written("b.MD", "no heading"))[0].title == "b"


def test_a_mark_at_the_beginning_of_the_file_is_no_text() -> None:
    assert documents(written("a.txt", b"\xef\xbb\xbfhello"))[0].text == "hello"


def test_json_holds_one_document_or_a_list() -> None:
    assert documents(written("one.json", json.dumps(PRODUCT))) == [EXPECTED]
    assert documents(written("two.json", json.dumps([PRODUCT, PRODUCT | {"id": 7}])))[1].id == "7"
    assert documents(written("none.json", "[]")) == []


def test_json_lines_hold_a_document_each() -> None:
    line = json.dumps(PRODUCT)
    found = list(read_documents(written("a.jsonl", f"{line}\n\n  \n{line}\r\n{line}")))
    assert [read.document for read in found] == [EXPECTED] * 3
    assert [read.reached for read in found] == [len(line) + 1, len(line) * 2 + 7, len(line) * 3 + 7]


def test_a_folder_gives_its_files_of_our_kinds_in_order(folder: Path) -> None:
    for name in ("b.md", "a.txt", "sub/c.jsonl", "sub/d.pdf", ".hidden.md", ".git/e.md", "sub/.f/g.md", "Z.JSON"):
        written(name, "")
    assert [path.as_posix() for path in find_files([Path("."), Path("sub/d.pdf")])] == [
        "Z.JSON",
        "a.txt",
        "b.md",
        "sub/c.jsonl",
        "sub/d.pdf",
    ]


def test_a_folder_that_holds_itself_is_walked_once() -> None:
    written("sub/a.md", "x")
    os.symlink("..", "sub/up")
    assert [path.as_posix() for path in find_files([Path(".")])] == ["sub/a.md"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"caf\xe9", "a.txt is not UTF-8 text."),
        ("a.jsonl", b'{"id": "\xe9"}', "a.jsonl is not UTF-8 text."),
        ("a.md", b"PK\0\1", "a.md: it holds NUL bytes, so it is no text."),
        ("a.json", "{", "a.json: it is not JSON: Expecting property name"),
        ("a.json", "7", "a.json: a document is an object with id, text"),
        ("a.json", "[" * 100_000, "a.json is nested too deep."),
        ("a.json", '{"id": "1"}', "a.json: the text of a document is text."),
        ("a.json", '{"text": "x"}', "a.json: the id of a document is text."),
        ("a.json", '{"id": "", "text": "x"}', "a.json: The id of a document has 1 to 512 characters."),
        ("a.json", '{"id": "1", "text": "x", "title": 5}', "a.json: the title of a document is text."),
        ("a.json", '{"id": "1", "text": "x", "price": 5}', "has no field 'price'; what is to be filtered by goes into"),
        ("a.json", '{"id": "1", "text": "x", "metadata": []}', "the metadata of a document is an object."),
        ("a.json", '{"id": "1", "text": "x", "metadata": {"a": [1]}}', "The field 'a' is neither text, a number"),
        ("a.json", '{"id": "1", "text": "x", "metadata": {"a": NaN}}', "The field 'a' is neither text, a number"),
        ("a.json", '{"id": "1", "text": "\\ud800"}', "a.json is not UTF-8 text."),
        ("a.jsonl", '{"id": "1", "text": "x"}\n{"id": "2"}', "a.jsonl: line 2: the text of a document is text."),
        ("a.pdf", "%PDF", "a.pdf: only files of these kinds can be indexed: .txt .md"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(name: str, content: str | bytes, reason: str) -> None:
    told = complaint(written(name, content))
    assert reason in told
    assert "\n" not in told


def test_a_file_that_is_not_there_is_named() -> None:
    for name in ("gone.txt", "gone.jsonl", "gone.pdf"):
        assert complaint(Path(name)) == f"{name} cannot be read: No such file or directory."


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 30)
    assert documents(written("a.txt", "x" * 30))
    assert complaint(written("a.txt", "x" * 31)) == "a.txt: it has more than 30 bytes; split it."
    assert complaint(written("a.jsonl", "x" * 40)) == "a.jsonl: line 1: it has more than 30 bytes."


def test_documents_before_a_bad_line_are_there_already() -> None:
    reading = read_documents(written("a.jsonl", json.dumps(PRODUCT) + "\n{"))
    assert next(reading).document == EXPECTED
    with pytest.raises(InvalidInput, match="line 2"):
        next(reading)
