"""What we would put where a person leaves it to us: made of what is known, never of thin air."""

import re
from collections.abc import Mapping
from typing import Any

from threadkeep.assistants.skill_creator.naming import suggested_name
from threadkeep.assistants.skill_creator.phrasing import base_form, inner, sentence
from threadkeep.assistants.skill_creator.rules import described, wish


def proposed(key: str, values: Mapping[str, Any]) -> Any:
    """Return what we would put for a part; an empty list where nothing is better than something invented."""
    purpose = base_form(inner(str(values.get("purpose") or "help")))
    match key:
        case "purpose":
            return purpose
        case "skill_name":
            return suggested_name(purpose)
        case "description":
            return described(purpose, values.get("triggers") or [])
        case "capabilities":
            return [{"name": part, "details": []} for part in _parts(purpose)]
        case "workflow_steps":
            return _steps(purpose, values)
        case "examples":
            return [f"Can you {purpose}?", f"Please {purpose}."]
        case "triggers":
            return [wish(purpose)]
        case _:
            return []


def _parts(purpose: str) -> list[str]:
    """Return the things that a purpose names: "find tasks and write a summary" are two."""
    parts = [part.strip() for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and (?=[a-z]+ )", purpose) if part.strip()]
    return parts if all(" " in part for part in parts) else [purpose]


def _steps(purpose: str, values: Mapping[str, Any]) -> list[str]:
    done = [sentence(capability["name"])[:-1] for capability in values.get("capabilities") or []]
    scripts = [
        f"Run `scripts/{script['name']}`: {inner(script['purpose'])}" for script in values.get("scripts_needed") or []
    ]
    return [
        "Read what the user gave, and ask if something that matters is missing",
        *(done or [sentence(purpose)[:-1]]),
        *scripts,
        "Check the result against the request and hand it over",
    ]
