"""The answer to a message: what can be wanted at any time, then what the open question makes of it.

One question is open at a time; whatever comes in between, it is asked again, and only an answer or *skip* closes it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from threadkeep.conversation.blocks import Block, Table
from threadkeep_assistants.skill_creator import machine
from threadkeep_assistants.skill_creator.document import MAIN, derived, document, parted
from threadkeep_assistants.skill_creator.fields import BY_KEY, FIELDS, NEEDED, Field, is_known, missing, phrases
from threadkeep_assistants.skill_creator.understanding import Intent, Unusable, read, understood, value_of

PURPOSE, READY, STORAGE, TAKEN, OWNED = "purpose", "ready", "storage", "taken", "owned"
WHERE = "Where shall I save it: personal (for you alone) or shared (for everybody in your organisation)?"
NOT_UNDERSTOOD = "My side of this conversation is scripted, and I did not understand that; nothing has changed."
_WELCOME = "I help you to make a skill: a folder with instructions that an assistant follows."
_FOR_THE_MODEL = "That fits no part of the skill; the model will see it when it writes."
_QUESTIONS = {
    READY: "Shall I write the skill? Say *yes*, or tell me what to change.",
    STORAGE: WHERE,
    TAKEN: "There is another skill named **{name}** already. Say *replace*, or tell me another name.",
    OWNED: "There is a shared skill named **{name}** already, and it belongs to somebody else. Tell me another name.",
}
_HELP = (
    "I ask one question at a time and write a skill from the answers. Everything is kept: go on whenever you like.\n\n"
    "- Answer in your own words, or say *skip*, *you decide* or *you decide everything*.\n"
    '- Change anything at any time: "change the name to ...", "add an example: ...", "no scripts"; or *go back*.\n'
    "- *status* tells what is known, *write it* writes the skill with that, *start over* begins anew."
)
_LAYERS = {
    "personal": phrases("personal|private|me|mine|myself|first"),
    "shared": phrases("shared|share|public|everybody|everyone|all|team|organisation|company|us|second"),
}
_WORD = re.compile(r"[a-z0-9']+")
_NOT, _REPLACE = frozenset(phrases("no|not|don't|never")), frozenset(phrases("replace|overwrite"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and what follows; then the answer is made by that."""

    text: str = ""
    blocks: tuple[Block, ...] = ()
    then: Literal["", "write", "save"] = ""
    args: Mapping[str, Any] = field(default_factory=dict)


class Dialogue:
    """Answers messages; everything that follows from one is set in the state."""

    def __init__(self, state: machine.SkillState, *, has_model: bool = False) -> None:
        self._state = state
        self._has_model = has_model

    @property
    def _question(self) -> str:
        return str(self._state.get("open_question", PURPOSE))

    @property
    def open_question(self) -> str:
        """The question that is open, in words."""
        key = self._question
        value = self._state.get(key)
        if key not in BY_KEY:
            return _QUESTIONS[key].format(name=self._state.get("skill_name"))
        hint = f"Now it is: {shown(value)}. Say *skip* to leave it" if value else f"For example: {BY_KEY[key].sample}"
        return f"{BY_KEY[key].question} ({hint}.{'' if key in NEEDED else ' Or say *you decide* or *skip*.'})"

    def answer(self, text: str, intent: Intent, parts: dict[str, Any]) -> Reply:
        """Return what is said to a message; `parts` is what a model understood from it."""
        state, question = self._state, self._question
        if state.name == machine.COMPLETED:
            return Reply(f"This skill is saved to `{state.get('saved_to')}`. For another, begin a new conversation.")
        if intent.name == "status":
            rows = [[part.label, shown(state.get(part.key))] for part in FIELDS]
            absent = ", ".join(BY_KEY[key].label.lower() for key in missing(state.values)) or "nothing"
            told = f"The skill is {machine.progress(state.values)} % done; state: {state.name.replace('_', ' ')}."
            told += f" Missing: {absent}.\n\n{listed(state.get('validation_errors') or [])}"
            return replace(self._ask_again(told), blocks=(Table(columns=["Part", "Known so far"], rows=rows),))
        if intent.name in ("help", "asks") and state.get("questions_asked") and question != "examples":
            return self._ask_again(_HELP if intent.name == "help" else f"{_WELCOME} {_HELP}")
        if question in (TAKEN, OWNED) and (reply := self._take_name(text, intent)):
            return reply
        further = read(intent.text) if intent.name in ("yes", "no") and intent.text else intent
        if reply := self._changed(further):
            return reply
        if question in (STORAGE, TAKEN, OWNED):
            return self._take_layer(text, intent) if question == STORAGE else self._ask_again("Nothing was replaced.")
        is_doubt = state.values.pop("unconfirmed", False) and intent.name == "no"
        if is_doubt or not is_known(state.values, PURPOSE):
            return self._infer(intent.text, parts)
        return self._take_go(intent, parts) if question == READY else self._take_part(intent, parts, BY_KEY[question])

    def after_saving(self, content: str) -> Reply:
        """Take up what became of saving."""
        try:
            told = json.loads(content.partition("\n")[0])
        except ValueError:
            told = {"detail": "It is not known whether the skill was saved."}
        state, problem = self._state, told.get("problem")
        if "saved_to" in told:
            state.set(saved_to=told["saved_to"], state=machine.COMPLETED)
            state.unset("open_question", "working_for")
            return Reply(f"Saved to `{told['saved_to']}`.\n\n{_files(state.values)}\n\nThe skill is finished.")
        if problem in (TAKEN, OWNED):
            state.set(state=machine.SELECTING_STORAGE)
            return self._ask(problem)
        state.set(state=machine.ERROR)
        return self._ask(STORAGE, f"{told.get('detail')} Say *try again*, or choose another place.")

    def _ask_again(self, lead: str) -> Reply:
        return Reply(f"{lead}\n\n{self.open_question}".strip())

    def _ask(self, question: str, lead: str = "") -> Reply:
        asked = [*self._state.get("questions_asked", []), question]
        self._state.set(open_question=question, questions_asked=asked[-200:])
        return self._ask_again(lead)

    def _ask_next(self, lead: str = "") -> Reply:
        """Ask about the next part that is missing; with nothing missing, whether to write."""
        state = self._state
        # Whoever had it written without an optional part does not want to be asked for it.
        for key in missing(state.values):
            if key in NEEDED or not state.get("generated_content"):
                return self._ask(key, lead)
        return self._ask(READY, f"{lead}\n\nThis is what I have:\n\n{_parts(state.values, BY_KEY)}".strip())

    def _set_part(self, key: str, value: Any) -> str:
        """Set a part; what was made of an old purpose follows a new one. Return what to say."""
        values, new = self._state.values, {key: value}
        if key == PURPOSE:
            made = derived(values.get(PURPOSE, ""))
            new |= {part: told for part, told in derived(value).items() if values.get(part) in (None, made.get(part))}
        self._state.set(new)
        if is_known(values, PURPOSE):
            # What changes has to be written again.
            self._state.set(state=machine.GATHERING_DETAILS)
        return f"**{BY_KEY[key].label}**: {shown(value)}."

    def _changed(self, intent: Intent) -> Reply | None:
        """Do what can be wanted at any time, also after the skill is written; None if it is not that."""
        match intent.name:
            case "change" | "add" | "clear":
                is_whole = intent.text or (intent.name == "clear" and intent.key not in NEEDED)
                return self._resume(intent) if is_whole else self._ask(intent.key, "Let us change it.")
            case "write" | "template" | "again" if intent.name != "again" or self._question != STORAGE:
                return self._write()
            case "back":
                keys, at = list(BY_KEY), self._question
                return self._ask(keys[max(keys.index(at), 1) - 1] if at in keys else keys[-1], "One step back.")
            case "restart":
                kept = ("questions_asked", "inference_attempts")
                self._state.unset(*(key for key in list(self._state.values) if key not in kept))
                self._state.set(state=machine.GATHERING_PURPOSE)
                return self._ask(PURPOSE, "We begin anew; edit an earlier message to return to what we had.")
            case _:
                return None

    def _resume(self, intent: Intent) -> Reply:
        """Change a part, and go on with the question that was open, unless that was about this part."""
        key, current = intent.key, self._state.get(intent.key)
        try:
            value = value_of(BY_KEY[key], intent.text) if intent.text else []
        except Unusable as error:
            return self._ask_again(str(error))
        if intent.name == "add" and isinstance(current, list):
            value = [*current, *(item for item in value if item not in current)]
        told = self._set_part(key, value)
        return self._ask_again(told) if self._question in BY_KEY and self._question != key else self._ask_next(told)

    def _write(self) -> Reply:
        """Have the skill written with what is known; what is needed and missing is made of the rest."""
        values = self._state.values
        if not is_known(values, PURPOSE):
            return self._ask(PURPOSE, "I can write it as soon as I know what it is for.")
        self._state.set(derived(values[PURPOSE]) | values, open_question=READY, state=machine.GATHERING_DETAILS)
        return Reply(then="write")

    def _infer(self, text: str, parts: dict[str, Any]) -> Reply:
        """Take up free words while there is no purpose, or in place of the one that was inferred."""
        lead = "" if self._state.get("questions_asked") else f"{_WELCOME}\n\n"
        told = {**understood(text), **parts}
        for key, value in told.items():
            self._set_part(key, value)
        if not told:
            return self._ask(PURPOSE, lead or ("Please tell me again." if self._state.get(PURPOSE) else NOT_UNDERSTOOD))
        keys = [*told, *NEEDED] if PURPOSE in told else list(told)
        self._state.set(unconfirmed=True)
        return self._ask_next(f"{lead}I understood:\n\n{_parts(self._state.values, keys)}\n\nSay it if that is wrong.")

    def _take_go(self, intent: Intent, parts: dict[str, Any]) -> Reply:
        """Take up what is said to the question whether to write."""
        if parts:
            return self._ask_next(" ".join(self._set_part(key, value) for key, value in parts.items()))
        if intent.name in ("yes", "skip", "decide all") and not intent.text:
            return self._write()
        if intent.name == "no" and not intent.text:
            return self._ask_again('What should I change? For example: "change the steps", "add an example: ...".')
        return self._ask_again(_FOR_THE_MODEL if intent.text and self._has_model else NOT_UNDERSTOOD)

    def _take_part(self, intent: Intent, parts: dict[str, Any], part: Field) -> Reply:
        """Take up the answer to the question about a part."""
        state, is_new = self._state, not is_known(self._state.values, part.key)
        match intent.name:
            case "yes" | "no" | "said" | "asks" if intent.text:
                try:
                    inferred = understood(intent.text) if part.key == PURPOSE else parts
                    value = inferred.get(part.key) or value_of(part, intent.text)
                except Unusable as error:
                    return self._ask_again(str(error))
                new = {key: told for key, told in parts.items() if not is_known(state.values, key)} | {part.key: value}
                return self._ask_next(" ".join(self._set_part(key, told) for key, told in new.items()))
            case "decide all":
                state.set({key: [] for key in missing(state.values)})
                return self._ask_next("I leave the rest to the writing.")
            case "skip" | "no" | "yes" if intent.name != "yes" or not is_new:
                return self._ask_next(self._set_part(part.key, [] if is_new else state.get(part.key)))
            case _:
                return self._ask_again("Good." if intent.name == "yes" else NOT_UNDERSTOOD)

    def _take_layer(self, text: str, intent: Intent) -> Reply:
        words = set(_WORD.findall(text.lower()))
        fitting = [layer for layer, signs in _LAYERS.items() if words.intersection(signs) and not words & _NOT]
        if len(fitting) == 1:
            return self._save(fitting[0])
        if intent.name in ("skip", "again", "yes") and not intent.text:
            return self._save()
        return self._ask_again("Nothing is saved: I did not get where to save it.")

    def _take_name(self, text: str, intent: Intent) -> Reply | None:
        """Take up what to do with a name that is taken."""
        state, words = self._state, set(_WORD.findall(text.lower()))
        if self._question == TAKEN and (intent == Intent("yes") or (words & _REPLACE and not words & _NOT)):
            return self._save(replace=True)
        is_name = (intent.name == "said" and len(words) <= 4 and not words & _REPLACE) or intent.key == "skill_name"
        if not is_name or not intent.text:
            return None
        try:
            state.set(skill_name=value_of(BY_KEY["skill_name"], intent.text))
        except Unusable as error:
            return self._ask_again(str(error))
        state.set(generated_content=document(state.values, parted(state.values["generated_content"])[1]))
        return self._save()

    def _save(self, layer: str | None = None, *, replace: bool = False) -> Reply:
        layer = layer or self._state.get("storage_layer") or "personal"
        self._state.set(storage_layer=layer, state=machine.SAVING)
        return Reply(then="save", args={"name": self._state.get("skill_name"), "layer": layer, "replace": replace})


def listed(errors: list[str]) -> str:
    """Return errors as a list."""
    return "\n".join(f"- {error}" for error in errors)


def shown(value: Any) -> str:
    """Return the value of a part in one line."""
    if value in (None, ""):
        return "not known yet"
    text = value.rstrip(".") if isinstance(value, str) else "; ".join(map(_item, value)) or "none"
    return text if len(text) <= 300 else f"{text[:300]}…"


def _item(item: Any) -> str:
    if isinstance(item, str):
        return item
    more = item.get("purpose") or ", ".join(item.get("details") or [])
    return f"{item['name']} ({more})" if more else str(item["name"])


def _parts(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    return "\n".join(f"- **{BY_KEY[key].label}**: {shown(values.get(key))}" for key in BY_KEY if key in keys)


def shown_document(values: Mapping[str, Any]) -> str:
    """Return the finished SKILL.md, fenced, and the list of files."""
    text = str(values.get("generated_content") or "").rstrip()
    fence = "`" * (max(map(len, re.findall(r"`{3,}", text)), default=2) + 1)
    return f"{fence}markdown\n{text}\n{fence}\n\n{_files(values)}"


def _files(values: Mapping[str, Any]) -> str:
    files = {MAIN: str(values.get("generated_content") or ""), **(values.get("resources") or {})}
    lines = [f"- `{path}` ({len(text.splitlines())} lines)" for path, text in sorted(files.items())]
    return "\n".join(["Files:", "", *lines])
