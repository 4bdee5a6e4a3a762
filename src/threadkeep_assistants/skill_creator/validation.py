"""Whether a skill is one: front matter, name, description, length, links, and files that are where they should be.

Everything that is wrong is told at once, in words that a person and a model can act on.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping

from threadkeep.errors import InvalidValue
from threadkeep_assistants.skill_creator.front_matter import FrontMatter, parted
from threadkeep_assistants.skill_creator.naming import name_error

MAIN = "SKILL.md"
LONGEST_DESCRIPTION = 1_024
MOST_LINES = 500
MOST_CHARACTERS = 40_000
MOST_FILES = 60
MOST_BYTES = 1_000_000
FOLDERS = ("references", "scripts", "assets")
KEYS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})

_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){1,2}")
_FENCED = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(?<!\\)\[(?P<text>[^\]\n]*)\]\(\s*<?(?P<target>[^()\s<>]*)>?(?:\s+\"[^\"\n]*\")?\s*\)")
MENTION = re.compile(rf"`(?:\S+ )?(?P<path>(?:\.{{1,2}}/)*(?:{'|'.join(FOLDERS)})/[^`\s]+)(?: [^`\n]*)?`")
_OUTSIDE = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_HEADLINE = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def errors_in(files: Mapping[str, str]) -> list[str]:
    """Return everything that is wrong with the files of a skill, by their paths; nothing if it is valid."""
    found = list(_paths(files))
    if MAIN not in files:
        return [*found, f"There is no {MAIN}."]
    try:
        fields, body = parted(files[MAIN])
    except InvalidValue as error:
        return [*found, f"{MAIN}: {error}"]
    found += [f"{MAIN}: {error}" for error in (*_front(fields), *_body(body))]
    pages = {path: body if path == MAIN else text for path, text in files.items() if path.endswith(".md")}
    return found + [error for path, text in pages.items() for error in _links(path, text, files)]


def path_error(path: str) -> str | None:
    """Return what is wrong with the path of a resource, which must stay inside the skill's folder."""
    if not _PATH.fullmatch(path) or any(part.endswith(".") for part in path.split("/")):
        return f"{path!r} is no path of a resource: a folder and a name of letters, digits, '.', '_' and '-'."
    if path.split("/")[0] not in FOLDERS:
        return f"{path!r} is not in one of the folders {', '.join(FOLDERS)}."
    return None


def _paths(files: Mapping[str, str]) -> Iterator[str]:
    if len(files) > MOST_FILES:
        yield f"A skill has at most {MOST_FILES} files; these are {len(files)}."
    if sum(len(text.encode("utf-8", "replace")) for text in files.values()) > MOST_BYTES:
        yield f"All files together have at most {MOST_BYTES:,} bytes."
    yield from (error for path in files if path != MAIN and (error := path_error(path)))
    if len({path.lower() for path in files}) < len(files):
        yield "Two files differ only in upper and lower case."
    yield from (f"{path} is empty." for path, text in files.items() if not text.strip())


def _front(fields: FrontMatter) -> Iterator[str]:
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str):
        yield "the front matter has no name."
    elif error := name_error(name):
        yield f"the name {name!r} is not legal. {error}"
    if not isinstance(description, str) or not description.strip():
        yield "the front matter has no description."
    elif len(description) > LONGEST_DESCRIPTION:
        yield f"the description has {len(description)} characters; {LONGEST_DESCRIPTION} is the most."
    elif re.search(r"<[^<>]+>", description):
        yield "the description must not hold tags such as <this>."
    yield from (f"the front matter has an unknown key {key}." for key in fields if key not in KEYS)


def _body(body: str) -> Iterator[str]:
    lines = body.count("\n") + 1
    if not body.strip():
        yield "there is nothing below the front matter."
    if lines > MOST_LINES:
        yield f"the body has {lines} lines; {MOST_LINES} is the most. Put details into references."
    if len(body) > MOST_CHARACTERS:
        yield f"the body has {len(body):,} characters; {MOST_CHARACTERS:,} is the most. Put details into references."
    if has_open_fence(body):
        yield "a fenced block of code has no end."


def _links(path: str, text: str, files: Mapping[str, str]) -> Iterator[str]:
    """Tell which links and which names of files in a page lead nowhere."""
    prose = _FENCED.sub("", text)
    for target in dict.fromkeys(found["path"] for found in MENTION.finditer(prose)):
        # A file that is named in code is named from the skill's folder, whichever page names it.
        if posixpath.normpath(target) not in files:
            yield f"{path}: `{target}` is mentioned, but there is no such file."
    for target in dict.fromkeys(found["target"] for found in LINK.finditer(_CODE.sub("", prose))):
        if error := link_error(path, target, prose, files):
            yield f"{path}: {error}"


def has_open_fence(text: str) -> bool:
    """Whether a fenced block of code has no end."""
    return len(re.findall(r"^(?:```|~~~)", text, re.MULTILINE)) % 2 == 1


def link_error(path: str, target: str, prose: str, files: Mapping[str, str]) -> str | None:
    """Return what is wrong with a link in a page."""
    if _OUTSIDE.match(target):
        return None
    place, _, anchor = target.partition("#")
    if not target or (not place and not anchor):
        return "a link has no target."
    if not place:
        return None if anchor in _anchors(prose) else f"the link to #{anchor} leads to no headline."
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
    if place.startswith("/") or whole.startswith("..") or "\\" in place or ":" in place:
        return f"the link to {target} leads out of the skill's folder."
    return None if whole in files else f"the link to {target} leads to no file of the skill."


def _anchors(prose: str) -> set[str]:
    """Return the anchors that headlines get."""
    return {
        re.sub(r"[^\w\- ]", "", headline.lower()).strip().replace(" ", "-") for headline in _HEADLINE.findall(prose)
    }
