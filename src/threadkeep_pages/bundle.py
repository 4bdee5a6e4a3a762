"""The modules and style sheets of the page, put together: as the one file of each that a browser loads, and as what
stands in a file that shows a conversation without a server.

A form of import or export that is not known is refused.
"""

import json
import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath

WEB = Path(__file__).parent / "web"
STYLES = ("scale.css", "controls.css", "style.css", "render.css")
"""The style sheets of the page, in their order."""

# The forms of import and export that the page and what it has vendored use.
PRELUDE = """const __load = (from, path) => import(new URL(path, new URL(from, import.meta.url)).href);
"""
_IMPORT = re.compile(
    r'(?<![\w.$`])import\s*(?:(?P<what>\*\s*as\s+[\w$]+|[\w$]+|\{[^}]*\})\s*from\s*)?"(?P<path>\.[^"]+)";?'
)
_PASSED_ON = re.compile(r'(?<![\w.$`])export\s*\{(?P<names>[^{}]*)\}\s*from\s*"(?P<path>\.[^"]+)";?')
_NAMED = re.compile(r"(?<![\w.$`])export\s*\{(?P<names>[^{}]*)\};?")
_DECLARED = re.compile(
    r"^export\s+(?P<kind>(?:async\s+)?function\*?|class|const)(?P<gap>\s+)(?P<name>[\w$]+)", re.MULTILINE
)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
_CAST = re.compile(r"/\*\* @type (?:[^*]|\*(?!/))*\*/ ?")
_BEHIND = re.compile(r"(?<=[;,{(\[]) // [^\n\"'`]*$", re.MULTILINE)
"""A comment behind what ends there: no string goes on after it, so it does not stand inside of one."""
_STYLE_COMMENT = re.compile(r"/\*.*?\*/\s*", re.DOTALL)
_STYLE_BREAK = re.compile(r"(?<=[{};,])\s+")
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
"""What stands before a line of a module of ours: it means something in none of their texts."""
_LANGUAGE = re.compile(r'^  languageName: "([^"]+)",$', re.MULTILINE)
_DEFAULT = re.compile(r"(?<![\w.$`])export\s+default\s+")
_LATE = re.compile(r"(?<![\w.$`])import\(")
_LEFT = re.compile(r"^(?:import\b\s*[{*\"'].*|export\b.*)$", re.MULTILINE)

Read = Callable[[str], str]
"""Returns the text of a file of the page."""


def text_of(name: str) -> str:
    """Return a file of the page as it is now."""
    return (WEB / name).read_text(encoding="utf-8")


def bare(name: str, read: Read) -> str:
    """Return a module without its comments; vendored code keeps its licences."""
    if name.startswith("vendor/"):
        return read(name)
    return _BEHIND.sub("", _CAST.sub("", _COMMENT.sub("", read(name))))


def styles(names: Iterable[str], read: Read) -> str:
    """Return style sheets as one, without their comments and breaks."""
    return "".join(_STYLE_BREAK.sub("", _STYLE_COMMENT.sub("", read(name))) for name in names)


def languages(read: Read = text_of, folder: Path = WEB) -> str:
    """Return what each catalogue in `texts/` calls its language, English first, as the value of an attribute: a file
    more is a language more."""
    names = sorted(path.stem for path in (folder / "texts").glob("*.js"))
    found = {name: _LANGUAGE.search(read(f"texts/{name}.js")) for name in names}
    named = {name: match[1] for name, match in found.items() if match}
    listed = {name: named[name] for name in sorted(named, key=lambda name: (name != "en", named[name]))}
    return escape(json.dumps(listed, ensure_ascii=False))


def imports(name: str, text: str) -> list[str]:
    """Return the names of the modules that a module imports, in order."""
    found = [match for pattern in (_IMPORT, _PASSED_ON) for match in pattern.finditer(text)]
    return [_path(name, match["path"]) for match in sorted(found, key=lambda match: match.start())]


def order(first: str, read: Read) -> list[str]:
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


def assemble(first: str, read: Read, prelude: str = PRELUDE) -> str:
    """Return one module that does what `first` does; `prelude` says how what is loaded later is loaded.

    Each module becomes a function that returns what it exports, called once, after those that it imports. A form of
    import or export that is not known is refused; an exported name must not be given another value later.
    """
    numbers = {name: number for number, name in enumerate(order(first, read))}
    wrapped = (
        f"const __module_{number} = {_wrapped(name, read(name), numbers)}();\n" for name, number in numbers.items()
    )
    return prelude + "".join(wrapped)


def apart(name: str, read: Read) -> str:
    """Return a module that imports no other as a function that returns what it exports."""
    return _wrapped(name, read(name), {})


def _wrapped(name: str, text: str, numbers: dict[str, int]) -> str:
    given: dict[str, str] = {}

    def module(path: str) -> str:
        return f"__module_{numbers[_path(name, path)]}"

    def bind(match: re.Match[str]) -> str:
        what, source = match["what"] or "", module(match["path"])
        if not what:
            return ""  # imported for its side effects, which have happened by now
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
    if not name.startswith("vendor/"):
        body = _INDENT.sub("", body)
    exports = ", ".join(f"{new}: {old}" for new, old in given.items())
    return f"(() => {{\n{body}\nreturn {{ {exports} }};\n}})"


def _pairs(names: str) -> list[tuple[str, str]]:
    """Return the old and new name of each item in braces, such as `a as b, c`."""
    return [(part.split()[0], part.split()[-1]) for part in names.split(",") if part.strip()]


def _path(name: str, path: str) -> str:
    return normpath(join(dirname(name), path))
