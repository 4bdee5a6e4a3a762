"""The one tool: saving the skill that the conversation's state holds. It may run again: the same files are no error."""

import hashlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from threadkeep.errors import AlreadyExists, InvalidValue
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.decorator import FunctionTool, tool
from threadkeep.tools.outcome import canonical
from threadkeep_assistants.skill_creator.saving import Place, save
from threadkeep_assistants.skill_creator.validation import MAIN, errors_in

Layer = Annotated[Literal["personal", "shared"], Field(description="personal: for me alone; shared: for my tenant")]
Name = Annotated[str, Field(description="The name of the skill, which is the name of its folder")]
Replace = Annotated[bool, Field(description="Whether a skill that has this name is replaced")]


def saving_tool(root: Path) -> FunctionTool:
    """Return the tool that saves into a folder."""

    @tool(repeatable=True)
    def save_skill(name: Name, layer: Layer, context: ToolContext, replace: Replace = False) -> ToolOutcome:
        """Save the skill that was written in this conversation."""
        values = context.state.values
        files = {MAIN: str(values.get("generated_content") or ""), **(values.get("resources") or {})}
        if wrong := errors_in(files):
            return _failed("invalid", " ".join(wrong))
        place = Place(root=root, scope=context.scope, layer=layer)
        try:
            saved = save(place, name, files, mark=_mark(context.call_id), replace=replace)
        except AlreadyExists as error:
            return _failed("exists", str(error))
        except InvalidValue as error:
            return _failed("invalid", str(error))
        except OSError as error:
            return _failed("disk", f"The skill could not be saved: {error.strerror or type(error).__name__}.")
        # An absolute path would tell other people how this machine is laid out.
        shown = saved if root.is_absolute() else f"{root.as_posix()}/{saved}"
        return ToolOutcome(content=canonical({"saved_to": shown, "files": sorted(files)}))

    return save_skill


def _failed(problem: str, detail: str) -> ToolOutcome:
    return ToolOutcome(content=canonical({"problem": problem, "detail": detail}), error=detail)


def _mark(call: str) -> str:
    return hashlib.sha256(call.encode()).hexdigest()[:12]
