"""What we would put where a person leaves it to us: made of what is known, never of thin air."""

import re
from collections.abc import Mapping
from typing import Any

from threadkeep_assistants.skill_creator.naming import suggested_name
from threadkeep_assistants.skill_creator.phrasing import base_form, inner, sentence, third_person
from threadkeep_assistants.skill_creator.reading import LONGEST_DESCRIPTION


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


def derived(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return name and description made of what is known, where they are missing."""
    purpose = str(values.get("purpose") or "")
    found: dict[str, Any] = {}
    if purpose and not values.get("skill_name"):
        found["skill_name"] = suggested_name(purpose)
    if purpose and not values.get("description"):
        found["description"] = described(purpose, values.get("triggers") or [])
    return found


def described(purpose: str, triggers: list[str]) -> str:
    """Return a description that tells what a skill does and when to use it."""
    what = sentence(third_person(purpose))
    signs = " or ".join(inner(sign) for sign in triggers[:3]) or wish(purpose)
    # "Release day" is no sentence that could follow a "when".
    use = "for" if triggers and all(len(sign.split()) < 3 for sign in triggers[:3]) else "when"
    whole = re.sub(r"[<>]", "", f"{what} Use it {use} {signs}.")
    return whole if len(whole) <= LONGEST_DESCRIPTION else whole[:LONGEST_DESCRIPTION]


def wish(purpose: str) -> str:
    """Return the sign by which a skill is used where nobody named another: that it is wanted."""
    wanted = base_form(inner(purpose))
    return f"the user wants {wanted}" if wanted.startswith("help with ") else f"the user wants to {wanted}"
