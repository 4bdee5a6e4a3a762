"""Making the skill: it is written, checked, written again with what is wrong, at most so often; each step is stored as
it is done. A failure returns to gathering details with nothing lost."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from threadkeep.conversation.message import Usage
from threadkeep.errors import ModelError, ModelNonsense
from threadkeep.llm.base import Model, Text
from threadkeep.turn.mind import Noted, Thought
from threadkeep_assistants.skill_creator import generation
from threadkeep_assistants.skill_creator.asking import READY_QUESTION, STORAGE
from threadkeep_assistants.skill_creator.listening import Limits, Listening
from threadkeep_assistants.skill_creator.machine import (
    GATHERING_DETAILS,
    GENERATING,
    MACHINE,
    MOST_ATTEMPTS,
    PROGRESS,
    SELECTING_STORAGE,
    VALIDATING,
)
from threadkeep_assistants.skill_creator.notebook import Notebook
from threadkeep_assistants.skill_creator.telling import WHERE, document
from threadkeep_assistants.skill_creator.template import MAIN, templated_body, templated_resources, written
from threadkeep_assistants.skill_creator.validation import errors_in

STEP = 2_000
"""Characters of a model's answer after which the progress is told."""
LOST = "Nothing is lost: everything you told me is still here."
OFFER = "Say *try again*, *use the template* to have it written without the model, or change something."


class Maker:
    """Takes a skill from what was gathered to a valid document. It goes on where it was if it is asked again."""

    def __init__(self, book: Notebook, model: Model, limits: Limits) -> None:
        self._book = book
        self._model = model
        self._limits = limits
        self.text = ""
        """What to say at the end."""
        self.usages: list[Usage] = []

    @property
    def _by_template(self) -> bool:
        return self._model.is_scripted or bool(self._book.get("by_template"))

    async def steps(self) -> AsyncGenerator[Thought, None]:
        """Write and check until it is valid or has to be given up; `text` then tells which."""
        book = self._book
        while (state := MACHINE.current(book.values)) in (GENERATING, VALIDATING):
            if state == VALIDATING:
                yield self._check()
                continue
            async with aclosing(self._write()) as thoughts:
                async for thought in thoughts:
                    yield thought
        book.drop("by_template", "working_for")

    async def _write(self) -> AsyncGenerator[Thought, None]:
        book = self._book
        attempt = book.get("validation_attempts", 0) + 1
        if self._by_template:
            book.note(generated_content=written(book.values, templated_body(book.values)))
            book.note(resources=templated_resources(book.values))
        else:
            try:
                async with aclosing(self._by_model()) as thoughts:
                    async for thought in thoughts:
                        yield thought
            except ModelError as error:
                yield Noted({"kind": "generation", "attempt": attempt, "error": f"{error.code}: {error}"})
                if not await self._may_go_on(error, attempt):
                    self._give_up([str(error)])
                    return
                yield book.changed(now=True)
                return
        book.note(validation_attempts=attempt)
        book.move(VALIDATING)
        yield book.changed(now=True)

    async def _by_model(self) -> AsyncGenerator[Thought, None]:
        book, told = self._book, 0
        listening = Listening(self._model, self._limits)
        prompt = generation.question_prompt(book.values, book.get("validation_errors") or [])
        asked = listening.sizes(generation.system_prompt(book.values), prompt)
        async with aclosing(asked) as sizes:
            async for size in sizes:
                if size // STEP > told and PROGRESS[GENERATING] + size // STEP < PROGRESS[VALIDATING]:
                    told = size // STEP
                    book.note(progress=PROGRESS[GENERATING] + told)
                    yield book.changed(now=True)
                else:
                    # A sign of life: a model that writes for long is not silent.
                    yield Text("")
        if listening.usage:
            self.usages.append(listening.usage)
        content, resources = generation.files_of(listening.found(), book.values)
        book.note(generated_content=content, resources=resources)

    async def _may_go_on(self, error: ModelError, attempt: int) -> bool:
        """Whether it is worth asking the model again; what it did wrong is told to it then."""
        if attempt >= MOST_ATTEMPTS or not (error.can_retry or isinstance(error, ModelNonsense)):
            return False
        if isinstance(error, ModelNonsense):
            self._book.note(validation_errors=[str(error)])
        else:
            pauses = self._limits.pauses
            await asyncio.sleep(pauses[min(attempt, len(pauses)) - 1] if pauses else 0)
        self._book.note(validation_attempts=attempt)
        return True

    def _check(self) -> Thought:
        """Check what was written; it is accepted, written again, mended or given up."""
        book = self._book
        errors = self._errors()
        if errors and (self._by_template or book.get("validation_attempts", 0) >= MOST_ATTEMPTS):
            content, resources = generation.mended(book.get("generated_content"), book.get("resources") or {})
            book.note(generated_content=content, resources=resources)
            found, errors = errors, self._errors()
        else:
            found = []
        book.note(validation_errors=errors)
        if not errors:
            self._accept(found)
        elif book.get("validation_attempts", 0) < MOST_ATTEMPTS and not self._by_template:
            book.move(GENERATING)
            return book.changed(now=True)
        else:
            self._give_up(errors)
        return Noted({"kind": "validation", "attempt": book.get("validation_attempts", 0), "errors": errors or found})

    def _errors(self) -> list[str]:
        book = self._book
        return errors_in({MAIN: book.get("generated_content") or "", **(book.get("resources") or {})})

    def _accept(self, mended: list[str]) -> None:
        book = self._book
        book.note(open_question=STORAGE)
        book.move(SELECTING_STORAGE)
        attempts = book.get("validation_attempts", 1)
        checked = "I checked it: front matter, name, lengths, links and files are in order"
        told = f"{checked}, at attempt {attempts}." if attempts > 1 else f"{checked}."
        if mended:
            told += "\n\nThis was wrong, and I mended it:\n\n" + "\n".join(f"- {error}" for error in mended)
        self.text = f"The skill is written. {told}\n\n{document(book.values)}\n\n{WHERE}"

    def _give_up(self, errors: list[str]) -> None:
        """Return to gathering details: what was gathered stays, what was written wrongly goes."""
        book = self._book
        book.note(validation_errors=errors, open_question=READY_QUESTION)
        book.drop("generated_content", "resources")
        book.move(GATHERING_DETAILS)
        listed = "\n".join(f"- {error}" for error in errors)
        self.text = f"I could not write the skill:\n\n{listed}\n\n{LOST} {OFFER}"
