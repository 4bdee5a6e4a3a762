"""Writing the body and the resources by a model. Names, front matter and paths stay ours: what it makes up is left out.

What is wrong with its answer goes back to it; after the last attempt what can be mended is mended.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from threadkeep.errors import InvalidValue, ModelNonsense
from threadkeep_assistants.skill_creator.fields import BY_KEY
from threadkeep_assistants.skill_creator.front_matter import parted
from threadkeep_assistants.skill_creator.template import MAIN, Files, planned_files, templated_resources, written
from threadkeep_assistants.skill_creator.validation import LINK, MENTION, has_open_fence, link_error

SYSTEM = (
    "You write skills: instructions in Markdown that an assistant follows. Answer with one JSON object and nothing "
    "else: "
    '{{"body": "...", "files": {{"path": "..."}}}}.\n'
    "- body is the Markdown of SKILL.md without front matter: a headline, when to use it, what it can do, the steps, "
    "examples, and what to check before finishing. At most 300 lines, to the point.\n"
    "- files holds the text of exactly these files and no others: {files}.\n"
    "- Link to a file only if it is one of these, by its path, as in [Dates](references/dates.md).\n"
    "- Use the facts that you are given; invent no tools, files or links."
)


def system_prompt(values: Mapping[str, Any]) -> str:
    """Return what the model is told to do."""
    planned = [f"{path} ({about})" for path, about in planned_files(values).items()]
    return SYSTEM.format(files="; ".join(planned) or "none, so files is {}")


def question_prompt(values: Mapping[str, Any], errors: list[str]) -> str:
    """Return what the model is asked: the facts, and what was wrong with its last answer."""
    facts = {key: values[key] for key in BY_KEY if values.get(key)}
    asked = f"The facts:\n{json.dumps(facts, ensure_ascii=False, indent=1, sort_keys=True)}"
    wrong = "\n".join(f"- {error}" for error in errors)
    return f"{asked}\n\nYour last answer had these errors; write it again without them:\n{wrong}" if errors else asked


def files_of(found: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, Files]:
    """Return SKILL.md and the resources from a model's answer. Raises ModelNonsense if there is no body in it."""
    body = found.get("body")
    if not isinstance(body, str) or not body.strip():
        raise ModelNonsense('The answer has no "body", or it is no text.')
    given = found.get("files")
    told = given if isinstance(given, dict) else {}
    made = templated_resources(values)
    texts = {path: told.get(path) for path in made}
    resources = {path: text if isinstance(text, str) and text.strip() else made[path] for path, text in texts.items()}
    return written(values, _without_front_matter(body)), {path: _ended(text) for path, text in resources.items()}


def mended(content: str, resources: Files) -> tuple[str, Files]:
    """Return the files without links to files that do not exist, and with every block of code ended."""
    files = {MAIN: content, **resources}
    clean = {path: _mended_page(path, text, files) if path.endswith(".md") else text for path, text in files.items()}
    return clean.pop(MAIN), clean


def _mended_page(path: str, text: str, files: Mapping[str, str]) -> str:
    def link(found: re.Match[str]) -> str:
        return found["text"] if link_error(path, found["target"], text, files) else found[0]

    def mention(found: re.Match[str]) -> str:
        return found[0] if found["path"] in files else found["path"].rsplit("/", 1)[-1]

    mended = MENTION.sub(mention, LINK.sub(link, text))
    return f"{mended.rstrip()}\n```\n" if has_open_fence(mended) else mended


def _without_front_matter(body: str) -> str:
    """Return the body alone: a model that writes front matter although it was told not to is not listened to."""
    text = body.strip("\n")
    if not text.startswith("---"):
        return text
    try:
        return parted(text)[1]
    except InvalidValue:
        return text.lstrip("-\n")


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
