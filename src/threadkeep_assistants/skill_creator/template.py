"""SKILL.md and its resources from what was gathered, without a model: the same facts always give the same bytes."""

from collections.abc import Mapping
from typing import Any

from threadkeep_assistants.skill_creator.front_matter import with_front_matter
from threadkeep_assistants.skill_creator.naming import slug, title
from threadkeep_assistants.skill_creator.phrasing import inner, sentence, third_person
from threadkeep_assistants.skill_creator.proposals import proposed

Files = dict[str, str]
MAIN = "SKILL.md"


def planned_files(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the resources that a skill will have: their paths, and what each is for."""
    topics = {f"references/{slug(topic, 60) or 'topic'}.md": topic for topic in values.get("reference_topics") or []}
    scripts = {f"scripts/{script['name']}": script["purpose"] for script in values.get("scripts_needed") or []}
    return topics | scripts


def written(values: Mapping[str, Any], body: str) -> str:
    """Return the whole SKILL.md around a body: names and descriptions are ours to write, whoever wrote the body."""
    fields = {"name": values["skill_name"], "description": values["description"]}
    if values.get("allowed_tools"):
        fields["allowed-tools"] = ", ".join(values["allowed_tools"])
    return with_front_matter(fields, body)


def templated_body(values: Mapping[str, Any]) -> str:
    """Return the body that the template makes."""
    parts = (
        f"# {title(values['skill_name'])}",
        sentence(f"This skill {third_person(inner(values['purpose']))}"),
        _section("When to use it", [sentence(sign) for sign in _known("triggers", values)]),
        _capabilities(_known("capabilities", values)),
        _section("How to work", [sentence(step) for step in _known("workflow_steps", values)], numbered=True),
        _section("Examples", [f'"{example}"' for example in _known("examples", values)]),
        _section("Scripts", [_script(script) for script in values.get("scripts_needed") or []]),
        _section("References", [_reference(topic) for topic in values.get("reference_topics") or []]),
        _section("Before you finish", _checks(values)),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def templated_resources(values: Mapping[str, Any]) -> Files:
    """Return the resources that the template makes."""
    return {path: _page(path, about, values) for path, about in planned_files(values).items()}


def _known(key: str, values: Mapping[str, Any]) -> list[Any]:
    """Return what was said about a part, or what we would put: a skill without steps is of no use."""
    return list(values.get(key) or proposed(key, values))


def _section(headline: str, lines: list[str], *, numbered: bool = False) -> str:
    marks = (f"{number}." if numbered else "-" for number in range(1, len(lines) + 1))
    listed = "\n".join(f"{mark} {line}" for mark, line in zip(marks, lines, strict=True))
    return f"## {headline}\n\n{listed}" if lines else ""


def _capabilities(capabilities: list[dict[str, Any]]) -> str:
    lines = []
    for capability in capabilities:
        lines.append(f"- {sentence(capability['name'])}")
        lines += [f"  - {sentence(detail)}" for detail in capability.get("details") or []]
    return "## What it can do\n\n" + "\n".join(lines) if lines else ""


def _script(script: Mapping[str, str]) -> str:
    return f"`scripts/{script['name']}`: {inner(script['purpose'])}. Run it rather than doing this by hand."


def _reference(topic: str) -> str:
    return f"[{sentence(topic)[:-1]}](references/{slug(topic, 60) or 'topic'}.md): read it when this comes up."


def _checks(values: Mapping[str, Any]) -> list[str]:
    checks = [f"The result does what was asked: {inner(values['purpose'])}."]
    checks += ["Every script that was run ended without an error."] if values.get("scripts_needed") else []
    return [*checks, "What was assumed is said, and nothing was made up."]


def _page(path: str, about: str, values: Mapping[str, Any]) -> str:
    if path.startswith("references/"):
        return _topic(about, values)
    return _shell(about) if path.endswith(".sh") else _python(about)


def _topic(topic: str, values: Mapping[str, Any]) -> str:
    purpose = inner(values["purpose"])
    return (
        f"# {sentence(topic)[:-1]}\n\n"
        f"What matters about {inner(topic)} when the skill is to {purpose}.\n\n"
        "## Rules\n\n"
        f"- Follow what the user says about {inner(topic)} before anything else.\n"
        "- Where the user says nothing, do as the material at hand does, and say so.\n"
        "- Where the material disagrees with itself, ask.\n\n"
        "## Back to the skill\n\n"
        "The steps are in [SKILL.md](../SKILL.md).\n"
    )


def _python(purpose: str) -> str:
    about = sentence(purpose.replace("\\", "/").replace('"', "'"))
    return (
        f'"""{about}\n\n'
        'A place to start from: it reads a file, or standard input without one, and prints its lines as JSON.\n"""\n\n'
        "import json\nimport sys\n\n\n"
        "def main(arguments: list[str]) -> int:\n"
        "    if arguments:\n"
        '        with open(arguments[0], encoding="utf-8") as file:\n'
        "            text = file.read()\n"
        "    else:\n"
        "        text = sys.stdin.read()\n"
        "    lines = [line.strip() for line in text.splitlines() if line.strip()]\n"
        '    print(json.dumps({"count": len(lines), "lines": lines}, ensure_ascii=False, indent=2))\n'
        "    return 0\n\n\n"
        'if __name__ == "__main__":\n'
        "    sys.exit(main(sys.argv[1:]))\n"
    )


def _shell(purpose: str) -> str:
    return (
        f"#!/bin/sh\n# {sentence(' '.join(purpose.split()))}\n"
        "# A place to start from: it reads a file, or standard input without one, and prints the lines that hold "
        "text.\n"
        "set -eu\n"
        "grep -v '^[[:space:]]*$' \"${1:-/dev/stdin}\" || true\n"
    )
