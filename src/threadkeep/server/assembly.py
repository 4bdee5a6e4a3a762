"""The modules of the page put together into one, so that a browser asks once and not ninety times.

Each module becomes a function that returns what it exports, called once, after those that it imports. It knows the few
forms of import and export that the page uses and refuses any other; a browser can load the modules one by one as well.
Names are bound when a module is imported, so an exported name must not be given another value later.
"""

import re
from collections.abc import Callable
from posixpath import dirname, join, normpath

PRELUDE = """const __load = (from, path) => import(new URL(path, new URL(`/static/${from}`, location.href)).href);
"""
_IMPORT = re.compile(
    r'(?<![\w.$`])import\s*(?:(?P<what>\*\s*as\s+[\w$]+|[\w$]+|\{[^}]*\})\s*from\s*)?"(?P<path>\.[^"]+)";?'
)
_PASSED_ON = re.compile(r'(?<![\w.$`])export\s*\{(?P<names>[^{}]*)\}\s*from\s*"(?P<path>\.[^"]+)";?')
_NAMED = re.compile(r"(?<![\w.$`])export\s*\{(?P<names>[^{}]*)\};?")
_DECLARED = re.compile(
    r"^export\s+(?P<kind>(?:async\s+)?function\*?|class|const)(?P<gap>\s+)(?P<name>[\w$]+)", re.MULTILINE
)
_DEFAULT = re.compile(r"(?<![\w.$`])export\s+default\s+")
_LATE = re.compile(r"(?<![\w.$`])import\(")
_LEFT = re.compile(r"^(?:import\b\s*[{*\"'].*|export\b.*)$", re.MULTILINE)


def imports(name: str, text: str) -> list[str]:
    """Return the names of the modules that a module imports, in order."""
    found = [match for pattern in (_IMPORT, _PASSED_ON) for match in pattern.finditer(text)]
    return [_path(name, match["path"]) for match in sorted(found, key=lambda match: match.start())]


def order(first: str, read: Callable[[str], str]) -> list[str]:
    """Return a module and all that it imports, directly or not, each after what it imports itself."""
    ordered: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"Modules import each other in a circle: {' -> '.join([*above, name])}")
        if name in ordered:
            return
        for imported in imports(name, read(name)):
            visit(imported, (*above, name))
        ordered[name] = None

    visit(first, ())
    return list(ordered)


def assemble(first: str, read: Callable[[str], str]) -> str:
    """Return one module that does what `first` does."""
    numbers = {name: number for number, name in enumerate(order(first, read))}
    return PRELUDE + "".join(_wrapped(name, read(name), numbers) for name in numbers)


def _wrapped(name: str, text: str, numbers: dict[str, int]) -> str:
    given: dict[str, str] = {}

    def module(path: str) -> str:
        return f"__module_{numbers[_path(name, path)]}"

    def bind(match: re.Match[str]) -> str:
        what, source = match["what"] or "", module(match["path"])
        if not what:
            return ""  # imported for what it does, which it has done by now
        if what.startswith("{"):
            return f"const {what.replace(' as ', ': ')} = {source};"
        return (
            f"const {what.removeprefix('*').strip().removeprefix('as ')} = {source}{'' if '*' in what else '.default'};"
        )

    def pass_on(match: re.Match[str]) -> str:
        given.update({new: f"{module(match['path'])}.{old}" for old, new in _pairs(match["names"])})
        return ""

    def give(match: re.Match[str]) -> str:
        given.update({new: old for old, new in _pairs(match["names"])})
        return ""

    def declare(match: re.Match[str]) -> str:
        given[match["name"]] = match["name"]
        return f"{match['kind']}{match['gap']}{match['name']}"

    def name_default(match: re.Match[str]) -> str:
        given["default"] = "__default"
        return "const __default = "

    body = _IMPORT.sub(bind, text)
    body = _PASSED_ON.sub(pass_on, body)
    body = _NAMED.sub(give, body)
    body = _DECLARED.sub(declare, body)
    body = _DEFAULT.sub(name_default, body)
    body = _LATE.sub(f'__load("{name}", ', body)
    if left := _LEFT.search(body):
        raise ValueError(f"{name} imports or exports in a form that is not known: {left[0].strip()}")
    exports = ", ".join(f"{new}: {old}" for new, old in given.items())
    return f"const __module_{numbers[name]} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"


def _pairs(names: str) -> list[tuple[str, str]]:
    """Return old and new name of each that a pair of braces lists."""
    return [(part.split()[0], part.split()[-1]) for part in names.split(",") if part.strip()]


def _path(name: str, path: str) -> str:
    return normpath(join(dirname(name), path))
