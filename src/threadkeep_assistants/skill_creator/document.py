"""SKILL.md and its resources: the front matter, a template for those without a model, and validation: everything
that is wrong is told at once, in words that a person and a model can act on. Every text is read once, line by line."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from threadkeep.errors import InvalidValue
from threadkeep_assistants.skill_creator.fields import MAX_DESCRIPTION, name_error, slug, suggested_name
from threadkeep_assistants.skill_creator.understanding import base_form, inner, sentence_of

Files = dict[str, str]
Values = Mapping[str, Any]
MAIN, FENCE = "SKILL.md", "---"
MAX_FRONT_MATTER, MAX_BRACKETS = 8_000, 100
"""What is read of front matter: its reader is not made for what strangers write at any length."""
MAX_LINES, MAX_CHARACTERS, MAX_FILES, MAX_BYTES = 500, 40_000, 60, 1_000_000
FOLDERS = ("references", "scripts", "assets")
KEYS = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})

_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99}){1,2}")
# Bounded, and stopped by the sign that begins the next: each place is looked at a limited number of times.
_LINK = re.compile(r"\[([^\[\]\n]{0,300})\]\([ \t]{0,3}<?([^()\s<>]{0,300})>?(?:[ \t]\"[^\"\n]{0,200}\")?[ \t]{0,3}\)")
_CODE = re.compile(r"`([^`\n]{1,300})`")


def parted(document: str) -> tuple[dict[str, Any], str]:
    """Return the fields (texts, or lists of texts) and the body. Raises InvalidValue that says what is wrong."""
    lines = document.split("\n")
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == FENCE), None)
    if lines[0].rstrip() != FENCE or end is None:
        raise InvalidValue("The front matter must stand between a first line --- and a second one.")
    return _fields("\n".join(lines[1:end])), "\n".join(lines[end + 1 :]).strip("\n")


def _fields(text: str) -> dict[str, Any]:
    try:
        # Lists in lists take the reader a time that grows with the square of their depth.
        if len(text) > MAX_FRONT_MATTER or text.count("[") + text.count("{") > MAX_BRACKETS:
            raise InvalidValue(f"The front matter has over {MAX_FRONT_MATTER:,} characters or {MAX_BRACKETS} brackets.")
        if any(isinstance(token, yaml.AnchorToken | yaml.AliasToken) for token in yaml.scan(text)):
            raise InvalidValue("The front matter must not use anchors or aliases (& and *); quote what is text.")
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        why = getattr(error, "problem", None) or "it cannot be read"
        raise InvalidValue(f"The front matter is not YAML: {why}.") from None
    found: dict[str, Any] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if (name := str(key.value)) in found:
            raise InvalidValue(f"The front matter has {name} twice.")
        is_list = isinstance(value, yaml.SequenceNode)
        found[name] = [str(item.value) for item in value.value] if is_list else value.value
    return found


def planned_files(values: Values) -> dict[str, str]:
    """Return the resources that a skill will have: their paths, and what each is for."""
    topics = {_page(topic): topic for topic in values.get("reference_topics") or []}
    return topics | {f"scripts/{script['name']}": script["purpose"] for script in values.get("scripts_needed") or []}


def document(values: Values, body: str) -> str:
    """Return the whole SKILL.md around a body: names and descriptions are ours to write, whoever wrote the body."""
    fields = {"name": values["skill_name"], "description": values["description"]}
    if values.get("allowed_tools"):
        fields["allowed-tools"] = ", ".join(values["allowed_tools"])
    front = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=1_000_000)
    return f"{FENCE}\n{front}{FENCE}\n\n{body.strip(chr(10))}\n"


def derived(purpose: str) -> dict[str, str]:
    """Return the name and the description that a purpose gives."""
    wanted = base_form(inner(purpose))
    use = f"Use it when the user wants {'' if wanted.startswith('help with ') else 'to '}{wanted}."
    description = f"{sentence_of(wanted)} {use}".replace("<", "").replace(">", "")[:MAX_DESCRIPTION]
    return {"skill_name": suggested_name(wanted), "description": description} if wanted else {}


def templated_body(values: Values) -> str:
    """Return the body that the template makes; what was left open is made of the purpose."""
    purpose = inner(values["purpose"])
    abilities = values.get("capabilities") or [{"name": purpose, "details": []}]
    steps = ["Read what the user gave", *(part["name"] for part in abilities), "Check the result and hand it over"]
    sections: dict[str, list[str]] = {
        "When to use it": values.get("triggers") or [f"Somebody wants this: {purpose}"],
        "What it can do": [
            "\n".join((part["name"], *(f"  - {told}" for told in part["details"]))) for part in abilities
        ],
        "How to work": values.get("workflow_steps") or steps,
        "Examples": [f'"{example}"' for example in values.get("examples") or []],
        "Scripts": [f"`scripts/{made['name']}`: {made['purpose']}" for made in values.get("scripts_needed") or []],
        "References": [f"[{topic}]({_page(topic)})" for topic in values.get("reference_topics") or []],
        "Before you finish": [f"Check that the result does this: {purpose}", "Say what was assumed"],
    }
    parts = [f"# {' '.join(map(str.capitalize, values['skill_name'].split('-')))}", f"Use this skill to {purpose}."]
    for headline, lines in sections.items():
        marks = [f"{number}." if headline == "How to work" else "-" for number in range(1, len(lines) + 1)]
        listed = [f"{mark} {sentence_of(line)}" for mark, line in zip(marks, lines, strict=True)]
        parts += ["\n".join([f"## {headline}", "", *listed])] if lines else []
    return "\n\n".join(parts) + "\n"


_RESOURCES = {
    ".md": "# {about}\n\nFollow what the user says about it. The steps are in [SKILL.md](../SKILL.md).\n",
    ".sh": '#!/bin/sh\n# A place to start from: {about}\nset -eu\ncat "${{1:-/dev/stdin}}"\n',
    ".py": "# A place to start from: {about}\nimport sys\n\nfor line in sys.stdin:\n    print(line.strip())\n",
}


def templated_resources(values: Values) -> Files:
    """Return the resources that the template makes: pages and scripts to start from."""
    planned = planned_files(values)
    return {path: _RESOURCES[path[-3:]].format(about=" ".join(planned[path].split())) for path in planned}


def _page(topic: str) -> str:
    return f"references/{slug(topic, 60) or 'topic'}.md"


def errors_in(files: Mapping[str, str]) -> list[str]:
    """Return everything that is wrong with the files of a skill, by their paths; nothing if it is valid."""
    found = list(_paths(files))
    try:
        fields, body = parted(files.get(MAIN, ""))
    except InvalidValue as error:
        return [*found, f"{MAIN}: {error}" if MAIN in files else f"There is no {MAIN}."]
    found += [f"{MAIN}: {error}" for error in _main(fields, body)]
    pages = {path: body if path == MAIN else text for path, text in files.items() if path.endswith(".md")}
    return found + [f"{path}: {error}" for path, text in pages.items() for error in _links(path, text, files)]


def path_error(path: str) -> str | None:
    """Return what is wrong with the path of a resource, which must stay inside the skill's folder."""
    is_legal = _PATH.fullmatch(path) and not any(part.endswith(".") for part in path.split("/"))
    if is_legal and path.split("/")[0] in FOLDERS:
        return None
    return f"{path!r} is no path of a resource: a folder ({', '.join(FOLDERS)}) and a name of letters, digits and ._-"


def _paths(files: Mapping[str, str]) -> Iterator[str]:
    if len(files) > MAX_FILES or sum(len(text.encode("utf-8", "replace")) for text in files.values()) > MAX_BYTES:
        yield f"A skill has at most {MAX_FILES} files and {MAX_BYTES:,} bytes in all."
    if len({path.lower() for path in files}) < len(files):
        yield "Two files differ only in upper and lower case."
    yield from (error for path in files if path != MAIN and (error := path_error(path)))
    yield from (f"{path} is empty." for path, text in files.items() if not text.strip())


def _main(fields: Mapping[str, Any], body: str) -> Iterator[str]:
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str):
        yield "the front matter has no name."
    elif error := name_error(name):
        yield f"the name {name!r} is not legal. {error}"
    if not isinstance(description, str) or not description.strip():
        yield "the front matter has no description."
    elif len(description) > MAX_DESCRIPTION:
        yield f"the description has {len(description)} characters; {MAX_DESCRIPTION} is the most."
    elif "<" in description and ">" in description:
        yield "the description must not hold tags such as <this>."
    yield from (f"the front matter has an unknown key {key}." for key in fields if key not in KEYS)
    if not body.strip():
        yield "there is nothing below the front matter."
    if body.count("\n") >= MAX_LINES or len(body) > MAX_CHARACTERS:
        yield f"the body is too long: {MAX_LINES} lines and {MAX_CHARACTERS:,} characters are the most."
    if _prose(body)[1]:
        yield "a fenced block of code has no end."


def _prose(text: str) -> tuple[str, str]:
    """Return a page without its blocks of code, and the mark of a block that has no end."""
    fence, lines = "", list[str]()
    for line in text.split("\n"):
        mark = line[:3] if line.startswith(("```", "~~~")) else ""
        if not fence and not mark:
            lines.append(line)
        elif mark and fence in ("", mark):
            fence = "" if fence else mark
    return "\n".join(lines), fence


def _links(path: str, text: str, files: Mapping[str, str]) -> Iterator[str]:
    """Tell which links and which names of files in a page lead nowhere."""
    prose = _prose(text)[0]
    named = dict.fromkeys(name for code in _CODE.findall(prose) for name in _lost_names(code, files))
    yield from (f"`{name}` is mentioned, but there is no such file." for name in named)
    targets = dict.fromkeys(target for _, target in _LINK.findall(_CODE.sub("", prose)))
    yield from (error for target in targets if (error := _link_error(path, target, files)))


def _lost_names(code: str, files: Mapping[str, str]) -> list[str]:
    """Return the files that some code names, from the skill's folder whichever page it is in, and that do not exist."""
    paths = [word for word in code.split() if "/" in word and word.lstrip("./").split("/")[0] in FOLDERS]
    return [word for word in paths if posixpath.normpath(word) not in files]


def _link_error(path: str, target: str, files: Mapping[str, str]) -> str | None:
    if target.lower().startswith(("http:", "https:", "mailto:", "#")):
        return None
    place = target.partition("#")[0]
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
    if place.startswith("/") or whole.startswith("..") or "\\" in place or ":" in place:
        return f"the link to {target} leads out of the skill's folder."
    return None if whole in files else f"the link to {target or 'nothing'} leads to no file of the skill."


def mended(files: Files) -> Files:
    """Return the files without links to files that do not exist, and with every block of code ended."""
    return {path: _mended(path, text, files) if path.endswith(".md") else text for path, text in files.items()}


def _mended(path: str, text: str, files: Files) -> str:
    def link(found: re.Match[str]) -> str:
        return found[1] if _link_error(path, found[2], files) else found[0]

    def code(found: re.Match[str]) -> str:
        return " ".join(map(posixpath.basename, found[1].split())) if _lost_names(found[1], files) else found[0]

    clean = _CODE.sub(code, _LINK.sub(link, text))
    fence = _prose(clean)[1]
    return f"{clean.rstrip()}\n{fence}\n" if fence else clean
