"""One exchange of the skill creator: it leads the conversation by a machine, has the skill written and checks it.

Asked again after a crash, with the same log, it goes on with what it stored in between (that it is writing, what was
written). A failure returns to gathering details with nothing lost.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ModelError, ModelNonsense
from threadkeep.llm.base import CallPart, Stopped, Text, Used
from threadkeep.machine import KEY
from threadkeep.tools.outcome import canonical
from threadkeep.turn.agent import Agent, Asked, Noted, ShownBlock, Thought
from threadkeep_assistants.demo.general_script import NOTICE
from threadkeep_assistants.skill_creator import document, generation, machine
from threadkeep_assistants.skill_creator.dialogue import READY, STORAGE, WHERE, Dialogue, Reply, listed, shown_document
from threadkeep_assistants.skill_creator.generation import Limits, ask_model
from threadkeep_assistants.skill_creator.understanding import MAX_READ, read

FEW_WORDS = 5
"""An answer of so few words is read by rules: a model would add nothing but itself."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_OFFER = "Nothing is lost. Say *try again*, *use the template* to do without the model, or tell me what to change."


class SkillCreator(Agent):
    """Leads from an idea to a skill's folder."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    def think(self, asked: Asked) -> AsyncIterator[Thought]:
        """Answer one message, or go on after a tool."""
        return Exchange(asked, self._limits).thoughts()


class Exchange:
    """One message and what is done about it."""

    def __init__(self, asked: Asked, limits: Limits) -> None:
        self._asked, self._limits = asked, limits
        self._state = machine.SkillState(asked.state)
        self._has_model = not asked.model.is_scripted
        self._dialogue = Dialogue(self._state, has_model=self._has_model)
        said = [message for message in asked.messages if message.role is Role.USER]
        self._said = said[-1] if said else Message(role=Role.USER)
        self._usages: list[Usage] = []

    async def thoughts(self) -> AsyncGenerator[Thought, None]:
        """Think it through to the end."""
        state, last, lead = self._state, self._asked.messages[-1:], ""
        if last and last[0].role is Role.TOOL:
            reply = self._dialogue.after_saving(last[0].content)
        elif self._is_at_work() and state.get("working_for") == self._said.id:
            # Asked again for the same message, after a crash: it is written on.
            reply = Reply(then="write")
        else:
            if self._is_at_work():
                lead = self._leave_off()
                yield state.changed(now=True)
            text = _CONTROL.sub(" ", self._said.content[:MAX_READ])
            intent, parts = read(text), dict[str, Any]()
            gathers = state.name in (machine.GATHERING_PURPOSE, machine.GATHERING_DETAILS)
            if gathers and self._has_model and not intent.key and len(intent.text.split()) > FEW_WORDS:
                parts, note = await self._facts(text)
                yield Noted(note)
            reply = self._dialogue.answer(text, intent, parts)
            if reply.then == "write":
                state.set(by_template=intent.name == "template")
        if reply.then == "save":
            yield state.changed()
            yield CallPart(index=0, name="save_skill", args=canonical(reply.args))
            yield Stopped("tool_calls")
            return
        if reply.then == "write":
            async with aclosing(self._written()) as thoughts:
                async for thought in thoughts:
                    yield thought
            reply = Reply(self._outcome)
        for thought in self._answered(replace(reply, text=f"{lead}\n\n{reply.text}".strip())):
            yield thought

    def _is_at_work(self) -> bool:
        """Whether the state says that something is being done; if nobody does it, it was stopped."""
        return self._state.name in (machine.GENERATING, machine.VALIDATING, machine.SAVING)

    def _leave_off(self) -> str:
        """Go back to where a person decides, after somebody stopped us and says something else; tell about it."""
        was_saving = self._state.name == machine.SAVING
        back = (machine.SELECTING_STORAGE, STORAGE) if was_saving else (machine.GATHERING_DETAILS, READY)
        self._state.set(state=back[0], open_question=back[1])
        self._state.unset("working_for", "by_template")
        return f"The {'saving' if was_saving else 'writing'} was stopped; nothing that you told me is lost."

    async def _facts(self, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a model understood, and a note about it; what a model cannot do is left to the rules."""
        attempt, parts = self._state.get("inference_attempts", 0) + 1, dict[str, Any]()
        self._state.set(inference_attempts=attempt)
        note: dict[str, Any] = {"kind": "inference", "attempt": attempt}
        task = f"{generation.known_facts(self._state.values)}\nThe person was asked: {self._dialogue.open_question}\n"
        task += "Take down the facts of the person's last message."
        limits = replace(self._limits, seconds=60.0, characters=20_000)
        try:
            async with aclosing(ask_model(self._asked, limits, generation.FACTS, task)) as answers:
                async for answer in answers:
                    if isinstance(answer, Usage):
                        self._usages.append(answer)
                    elif answer is not None:
                        parts = generation.checked_facts(answer, text)
        except ModelError as error:
            return {}, {**note, "by": "rules", "error": f"{error.code}: {error}"}
        return parts, {**note, "by": "model", "found": sorted(parts)}

    async def _written(self) -> AsyncGenerator[Thought, None]:
        """Write and check until the skill is valid or has to be given up; `_outcome` then tells which. That it is being
        written is stored first, for readers to see and to go on after."""
        state = self._state
        self._by_template = not self._has_model or bool(state.get("by_template"))
        if not self._is_at_work():
            yield state.changed(now=True)
            told = {"working_for": self._said.id, "validation_attempts": 0, "validation_errors": []}
            state.set(told, state=machine.GENERATING)
            yield state.changed(now=True)
        while state.name in (machine.GENERATING, machine.VALIDATING):
            if state.name == machine.VALIDATING:
                yield self._check()
                continue
            attempt = state.get("validation_attempts", 0) + 1
            try:
                async with aclosing(self._write()) as thoughts:
                    async for thought in thoughts:
                        yield thought
                state.set(state=machine.VALIDATING)
            except ModelError as error:
                yield Noted({"kind": "generation", "attempt": attempt, "error": f"{error.code}: {error}"})
                if attempt >= machine.MAX_ATTEMPTS or not (error.can_retry or isinstance(error, ModelNonsense)):
                    self._give_up([str(error)])
                    break
                await asyncio.sleep(self._limits.pauses[min(attempt, len(self._limits.pauses)) - 1])
                state.set(validation_errors=[str(error)])
            state.set(validation_attempts=attempt)
            yield state.changed(now=True)
        state.unset("by_template", "working_for")

    async def _write(self) -> AsyncGenerator[Thought, None]:
        """Write the skill from the template, or have a model write it. Raises ModelError."""
        state, values = self._state, self._state.values
        if self._by_template:
            state.set(generated_content=document.document(values, document.templated_body(values)))
            state.set(resources=document.templated_resources(values))
            return
        async with aclosing(ask_model(self._asked, self._limits, *generation.writing_task(values))) as answers:
            async for answer in answers:
                if answer is None:
                    # A sign of life: a model that writes for long is not silent.
                    yield Text("")
                elif isinstance(answer, Usage):
                    self._usages.append(answer)
                else:
                    content, resources = generation.files_of(answer, values)
                    state.set(generated_content=content, resources=resources)

    def _check(self) -> Thought:
        """Check what was written; it is accepted, written again, mended or given up."""
        state, found = self._state, list[str]()
        attempt = state.get("validation_attempts", 0)
        files = {document.MAIN: state.get("generated_content") or "", **(state.get("resources") or {})}
        errors = document.errors_in(files)
        if errors and not self._by_template and attempt < machine.MAX_ATTEMPTS:
            state.set(validation_errors=errors, state=machine.GENERATING)
            return state.changed(now=True)
        if errors:
            files = document.mended(files)
            found, errors = errors, document.errors_in(files)
        if errors:
            self._give_up(errors)
        else:
            state.set(generated_content=files.pop(document.MAIN), resources=files, validation_errors=[])
            state.set(open_question=STORAGE, state=machine.SELECTING_STORAGE)
            told = f"The skill is written. It is checked{f', at attempt {attempt}' if attempt > 1 else ''}."
            told += f" This was wrong, and I mended it:\n\n{listed(found)}" if found else ""
            self._outcome = f"{told}\n\n{shown_document(state.values)}\n\n{WHERE}"
        return Noted({"kind": "validation", "attempt": attempt, "errors": errors or found})

    def _give_up(self, errors: list[str]) -> None:
        """Return to gathering details: what was gathered stays, what was written wrongly goes."""
        self._state.set(validation_errors=errors, open_question=READY, state=machine.GATHERING_DETAILS)
        self._state.unset("generated_content", "resources")
        self._outcome = f"I could not write the skill:\n\n{listed(errors)}\n\n{_OFFER}"

    def _answered(self, reply: Reply) -> Iterator[Thought]:
        """Say it, with all that changed."""
        is_first = KEY not in self._asked.state
        text = reply.text if self._has_model or not is_first else f"{NOTICE}\n\n{reply.text}"
        yield from (Text(piece) for piece in re.findall(r"\S+\s*|\s+", text))
        yield from (ShownBlock(block) for block in reply.blocks)
        changed = self._state.changed()
        if changed.set or changed.unset or is_first:
            yield changed
        if self._usages:
            kinds = ("input_tokens", "output_tokens", "cached_tokens")
            yield Used(Usage(**{kind: sum(getattr(usage, kind) for usage in self._usages) for kind in kinds}))
        yield Stopped("stop")
