"""How much a reader must hold in mind: lines, modules, members, calls of one turn, beside the bars that we keep.

python -m bench.house           the table of docs/explanation/small.md
python -m bench.house --check   only the bars; exit code 1 when one is missed (part of `make check`)
"""

import argparse
import ast
import asyncio
import re
import statistics
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
ENGINE = SOURCES / "threadkeep"
BARS = {
    "lines of the engine": 30_000,
    "modules of the engine": 220,
    "lines of the largest module": 400,
    "lines of the largest function": 50,
    "verbs of Store": 28,
    "members of Store": 32,
    "class names that exist twice": 0,
    "SQL functions": 56,
    "modules without a unit test at the mirrored path, in per cent": 11,
}
"""What may not grow. A change that makes a number smaller lowers its bar."""


def engine() -> list[Path]:
    """Return the modules of the engine: without what ships for tests, and without the rings."""
    return sorted(path for path in ENGINE.rglob("*.py") if "testing" not in path.relative_to(ENGINE).parts)


def lines(path: Path) -> int:
    """Return how many lines a file has."""
    return path.read_text(encoding="utf-8").count("\n")


def nodes(paths: list[Path]) -> Iterator[ast.AST]:
    """Yield every node of some modules."""
    for path in paths:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def functions(paths: list[Path]) -> list[int]:
    """Return how many lines each function has, in order."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sorted((node.end_lineno or 0) - node.lineno + 1 for node in nodes(paths) if isinstance(node, kinds))


def class_of(module: str, name: str) -> ast.ClassDef:
    """Return the definition of a class of the engine."""
    tree = ast.parse((ENGINE / module).read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def members(module: str, name: str) -> list[ast.stmt]:
    """Return what a class offers: methods and attributes without an underscore."""
    public = []
    for node in class_of(module, name).body:
        called: str = getattr(node, "name", "") or getattr(getattr(node, "target", None), "id", "_")
        public += [] if called.startswith("_") else [node]
    return public


def verbs(nodes: list[ast.stmt]) -> int:
    """Return how many of the members of a class are methods."""
    return sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)


def forwards(nodes: list[ast.stmt]) -> int:
    """Return how many methods have one statement beside their docstring."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(isinstance(node, kinds) and len(node.body) - bool(ast.get_docstring(node)) == 1 for node in nodes)


def repeated_classes(paths: list[Path]) -> list[str]:
    """Return the names that more than one class has."""
    names = Counter(node.name for node in nodes(paths) if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1)


def mirrored(paths: list[Path]) -> float:
    """Return the share of modules that have a unit test at the mirrored path."""
    modules = [path.relative_to(ENGINE) for path in paths if path.name != "__init__.py"]
    return sum((ROOT / "tests/unit" / path.parent / f"test_{path.name}").is_file() for path in modules) / len(modules)


def sql_functions() -> int:
    """Return how many functions PostgreSQL holds of ours."""
    text = "".join(path.read_text(encoding="utf-8") for path in (SOURCES / "threadkeep_postgres").rglob("*.sql"))
    return len(set(re.findall(r"create(?:\s+or\s+replace)?\s+function\s+([\w.]+)", text, re.IGNORECASE)))


class Calls:
    """Counts the calls of our functions while it is switched on, in every thread."""

    def __init__(self) -> None:
        self.functions: Counter[tuple[str, str, int]] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCES)):
            code = frame.f_code
            self.functions[code.co_filename, code.co_qualname, code.co_firstlineno] += 1

    def __enter__(self) -> "Calls":
        sys.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def __str__(self) -> str:
        files = {name for name, *_ in self.functions}
        context = sum("/context/" in name for name, *_ in self.functions)
        ours = f"{len(files)} files, {len(self.functions)} functions, {self.functions.total():,} calls"
        return f"{ours}; {context} functions of `context/`"


async def streamed_turn() -> Calls:
    """Return what one streamed POST calls: SQLite, the scripted model, a conversation of four messages."""
    import httpx  # noqa: PLC0415 - the check of the bars runs without what the suites need

    from threadkeep.runtime import open_conversations  # noqa: PLC0415
    from threadkeep.server.app import create_app  # noqa: PLC0415
    from threadkeep.settings import Settings  # noqa: PLC0415

    calls = Calls()
    with TemporaryDirectory() as folder:
        threading.setprofile(calls)  # the store's threads begin when it is opened
        url = f"sqlite:///{Path(folder, 'house.db')}"
        async with await open_conversations(url, model="demo") as conversations:
            transport = httpx.ASGITransport(app=create_app(conversations, Settings()))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                made = (await client.post("/v1/conversations", json={"assistant": "chat"})).json()
                path = f"/v1/conversations/{made['id']}/messages"
                accept = {"accept": "text/event-stream"}
                for text in ("Hello", "My name is Ada."):
                    await client.post(path, json={"content": text}, headers=accept)
                calls.functions.clear()
                with calls:
                    answer = await client.post(path, json={"content": "What is my name?"}, headers=accept)
                    assert "turn.completed" in answer.text
    return calls


def measured(paths: list[Path]) -> list[tuple[str, str]]:
    """Return the rows of the table."""
    sizes = [lines(path) for path in paths]
    lengths = functions(paths)
    store = members("store/base.py", "Store")
    door = members("conversations.py", "Conversations") + members("conversation_handle.py", "ConversationHandle")
    return [
        ("engine (`src/threadkeep` without `testing/`)", f"{sum(sizes):,} lines in {len(sizes)} modules"),
        ("rings", f"{sum(lines(path) for path in SOURCES.glob('threadkeep_*/**/*.py')):,} lines"),
        ("module lines: median, largest", f"{statistics.median(sizes):.0f}, {max(sizes)}"),
        (
            "function lines: median, 99 %, largest",
            f"{statistics.median(lengths):.0f}, {lengths[len(lengths) * 99 // 100]}, {lengths[-1]}",
        ),
        ("members of `Store`", f"{verbs(store)} verbs ({len(store)} with its objects)"),
        ("members of `Conversations` and its handle", f"{len(door)}, of which {forwards(door)} have one statement"),
        ("unit test at the mirrored path", f"{mirrored(paths):.0%}"),
        ("SQL functions", f"{sql_functions()}"),
        ("class names that exist twice", f"{len(repeated_classes(paths))}"),
        ("one streamed POST, SQLite, scripted model", str(asyncio.run(streamed_turn()))),
    ]


def check(paths: list[Path]) -> int:
    """Say which bars are missed; return the exit code."""
    store = members("store/base.py", "Store")
    values = {
        "lines of the engine": sum(map(lines, paths)),
        "modules of the engine": len(paths),
        "lines of the largest module": max(map(lines, paths)),
        "lines of the largest function": functions(paths)[-1],
        "verbs of Store": verbs(store),
        "members of Store": len(store),
        "class names that exist twice": len(repeated_classes(paths)),
        "SQL functions": sql_functions(),
        "modules without a unit test at the mirrored path, in per cent": round(100 * (1 - mirrored(paths))),
    }
    missed = [f"{name}: {values[name]:,}, the bar is {bar:,}" for name, bar in BARS.items() if values[name] > bar]
    for line in missed:
        print(line, file=sys.stderr)
    return bool(missed)


def main() -> int:
    """Measure, or check the bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only hold the numbers against their bars")
    if parser.parse_args().check:
        return check(engine())
    for name, value in measured(engine()):
        print(f"| {name} | {value} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
