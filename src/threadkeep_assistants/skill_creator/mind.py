"""The mind of the skill creator: it leads the conversation by a machine, and asks a model to understand and to write.

It knows nothing but what it is asked with. Asked again after a crash, with the same log, it comes to the same answer;
what it stored in between (that it is writing, what was written) is where it goes on.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ModelError
from threadkeep.llm.base import CallPart, Stopped, Text, Used
from threadkeep.llm.general_script import NOTICE
from threadkeep.machine.machine import KEY
from threadkeep.tools.outcome import canonical
from threadkeep.turn.mind import Asked, Mind, Noted, Shown, Thought
from threadkeep_assistants.skill_creator import inference
from threadkeep_assistants.skill_creator.asking import READY_QUESTION, STORAGE, open_question
from threadkeep_assistants.skill_creator.dialogue import answer
from threadkeep_assistants.skill_creator.intents import Heard, No, Said, Wish, Yes
from threadkeep_assistants.skill_creator.listening import Limits, Listening
from threadkeep_assistants.skill_creator.machine import (
    GATHERING_DETAILS,
    GATHERING_PURPOSE,
    GENERATING,
    MACHINE,
    SAVING,
    SELECTING_STORAGE,
    VALIDATING,
)
from threadkeep_assistants.skill_creator.making import Maker
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.storing import after_saving
from threadkeep_assistants.skill_creator.telling import Reply, Then
from threadkeep_assistants.skill_creator.wording import read

MOST_SAID = 20_000
"""Characters of a message that are looked at; nobody describes a skill with more."""
FEW_WORDS = 5
"""An answer of so few words is read by rules: a model would add nothing but itself."""
# Nothing that a person means to have in a document.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PIECE = re.compile(r"\S+\s*|\s+")


class SkillCreator(Mind):
    """Leads from an idea to a skill's folder."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    async def think(self, asked: Asked) -> AsyncIterator[Thought]:
        """Answer one message, or go on after a tool."""
        async with aclosing(Exchange(asked, self._limits).thoughts()) as thoughts:
            async for thought in thoughts:
                yield thought


class Exchange:
    """One message and what is done about it."""

    def __init__(self, asked: Asked, limits: Limits) -> None:
        self._model = asked.model
        self._limits = limits
        self._book = Notebook(asked.state)
        self._said = _question(asked)
        self._result = asked.messages[-1] if asked.messages and asked.messages[-1].role is Role.TOOL else None
        self._is_first = KEY not in asked.state
        self._usages: list[Usage] = []

    async def thoughts(self) -> AsyncGenerator[Thought, None]:
        """Think it through to the end."""
        book, lead = self._book, ""
        if self._result is not None:
            reply = after_saving(book, self._result)
        elif self._is_at_work() and book.get("working_for") == self._said.id:
            # Asked again for the same message, after a crash: it is written on.
            reply = Reply(then=Then.WRITE)
        else:
            if self._is_at_work():
                lead = self._leave_off()
                yield book.changed(now=True)
            heard = Heard(text=self._text, intent=read(self._text))
            if self._is_for_a_model(heard):
                heard, note = await self._understood(heard)
                yield Noted(note)
            reply = answer(book, heard)
            if reply.then is Then.WRITE and heard.intent == Wish("template"):
                book.note(by_template=True)
        match reply.then:
            case Then.WRITE:
                async with aclosing(self._written()) as thoughts:
                    async for thought in thoughts:
                        yield thought
            case Then.SAVE:
                yield book.changed()
                yield CallPart(index=0, name="save_skill", args=self._arguments())
                yield Stopped("tool_calls")
            case Then.ANSWER:
                for thought in self._answered(f"{lead}\n\n{reply.text}".strip(), reply):
                    yield thought

    @property
    def _text(self) -> str:
        return _CONTROL.sub(" ", self._said.content[:MOST_SAID])

    def _is_at_work(self) -> bool:
        """Whether the state says that something is being done; if nobody does it, it was stopped."""
        return MACHINE.current(self._book.values) in (GENERATING, VALIDATING, SAVING)

    def _leave_off(self) -> str:
        """Go back to where a person decides, after somebody stopped us and says something else; tell about it."""
        book = self._book
        was_saving = MACHINE.current(book.values) == SAVING
        book.move(SELECTING_STORAGE if was_saving else GATHERING_DETAILS)
        book.note(open_question=STORAGE if was_saving else READY_QUESTION)
        book.drop("working_for", "by_template")
        return f"The {'saving' if was_saving else 'writing'} was stopped; nothing that you told me is lost."

    def _is_for_a_model(self, heard: Heard) -> bool:
        """Whether a model could understand more of it than the rules."""
        free = isinstance(heard.intent, Said) or (isinstance(heard.intent, Yes | No) and heard.intent.rest)
        gathers = MACHINE.current(self._book.values) in (GATHERING_PURPOSE, GATHERING_DETAILS)
        return bool(free) and gathers and not self._model.is_scripted and len(heard.text.split()) > FEW_WORDS

    async def _understood(self, heard: Heard) -> tuple[Heard, dict[str, Any]]:
        """Return what was heard with what a model understood of it; what a model cannot do is left to the rules."""
        book = self._book
        book.note(inference_attempts=book.get("inference_attempts", 0) + 1)
        listening = Listening(self._model, replace(self._limits, seconds=60.0, characters=20_000))
        prompt = inference.question_prompt(heard.text, open_question(book), book.values)
        note: dict[str, Any] = {"kind": "inference", "attempt": book.get("inference_attempts")}
        try:
            async with aclosing(listening.sizes(inference.system_prompt(), prompt)) as sizes:
                async for _ in sizes:
                    pass
            parts = inference.checked(listening.found(), heard.text)
        except ModelError as error:
            return heard, {**note, "by": "rules", "error": f"{error.code}: {error}"}
        self._usages += [listening.usage] if listening.usage else []
        return replace(heard, parts=parts), {**note, "by": "model", "found": sorted(parts)}

    async def _written(self) -> AsyncGenerator[Thought, None]:
        """Have the skill written; that it is being written is stored first, for readers to see and to go on after."""
        book = self._book
        if not self._is_at_work():
            yield book.changed(now=True)
            book.note(working_for=self._said.id, validation_attempts=0, validation_errors=[])
            book.move(GENERATING)
            yield book.changed(now=True)
        maker = Maker(book, self._model, self._limits)
        async with aclosing(maker.steps()) as thoughts:
            async for thought in thoughts:
                yield thought
        self._usages += maker.usages
        for thought in self._answered(maker.text, Reply()):
            yield thought

    def _answered(self, text: str, reply: Reply) -> Iterator[Thought]:
        """Say it, with all that changed."""
        if self._is_first and self._model.is_scripted:
            text = f"{NOTICE}\n\n{text}"
        yield from (Text(piece) for piece in _PIECE.findall(text))
        yield from (Shown(block) for block in reply.blocks)
        changed = self._book.changed()
        if changed.set or changed.unset or self._is_first:
            yield changed
        if self._usages:
            yield Used(_total(self._usages))
        yield Stopped("stop")

    def _arguments(self) -> str:
        book = self._book
        return canonical(
            {"name": book.get("skill_name"), "layer": book.get("storage_layer"), "replace": bool(book.get("replace"))}
        )


def _question(asked: Asked) -> Message:
    """Return what the person said last."""
    said = (message for message in reversed(asked.messages) if message.role is Role.USER)
    return next(said, Message(role=Role.USER))


def _total(usages: list[Usage]) -> Usage:
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
    )
