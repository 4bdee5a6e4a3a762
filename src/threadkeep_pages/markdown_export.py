"""A branch as a Markdown document, for people to read and keep. Nothing is looked up: entries in, text out."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.parts import Attachment, CitationPart, Part, Raw, Reasoning
from threadkeep_pages.grids import Grid, charted, compared, field_text, ranked, tabled

UNTITLED = "Conversation"
NO_IMAGES: Mapping[str, str] = MappingProxyType({})

_SPEAKERS = {Role.SYSTEM: "System", Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool"}


def to_markdown(conversation: Conversation, entries: Iterable[Entry]) -> str:
    """Return the messages of a branch, oldest first, under the title of their conversation."""
    writer = MarkdownWriter(conversation)
    return "".join([writer.begin(), *map(writer.write, entries), writer.end()])


class BlocksOnce:
    """Shows blocks where they stood: an answer repeats those of its tools' results, which were shown there."""

    def __init__(self) -> None:
        self._shown: list[Block] = []

    def of(self, message: Message) -> tuple[Block, ...]:
        """Return the blocks of the next message of a branch that are to be shown with it."""
        if message.role is Role.USER:
            self._shown.clear()
        if message.role is not Role.TOOL:
            return tuple(block for block in message.blocks if block not in self._shown)
        self._shown += message.blocks
        return message.blocks


class MarkdownWriter:
    """Writes a branch entry by entry, so that its length does not matter."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._names: dict[str, str] = {}
        self._blocks = BlocksOnce()

    def begin(self) -> str:
        """Return what stands before the messages."""
        return f"# {_one_line(self._conversation.title or UNTITLED)}\n\n{_about(self._conversation)}"

    def write(self, entry: Entry, _images: Mapping[str, str] = NO_IMAGES) -> str:
        """Return a message, or nothing for an entry that is none. Images are named and not shown: the text of one would
        be longer than all that was said."""
        if not isinstance(entry.body, Message):
            return ""
        self._names.update((call.id, call.name) for call in entry.body.tool_calls)
        message = entry.body.model_copy(update={"blocks": self._blocks.of(entry.body)})
        return "".join(f"\n\n{part}" for part in _message(message, entry.created_at, self._names))

    def end(self) -> str:
        """Return what stands behind the messages."""
        return "\n"


def _about(conversation: Conversation) -> str:
    by = f" with the assistant {conversation.assistant}" if conversation.assistant else ""
    return f"*Conversation `{conversation.id}`{by}, begun {_moment(conversation.created_at)}.*"


def _message(message: Message, at: datetime, names: dict[str, str]) -> Iterator[str]:
    yield f"## {_speaker(message, names)}, {_moment(at)}"
    yield from (part_markdown(part) for part in message.parts if isinstance(part, Reasoning) and part.text)
    if message.tool_result is not None:
        if message.tool_result.error:
            yield f"*Failed: {_one_line(message.tool_result.error)}*"
        yield _fenced(message.content)
    elif message.content:
        yield message.content
    others = (part for part in message.parts if not isinstance(part, Reasoning | Raw))
    yield from (part_markdown(part) for part in others)
    yield from map(block_markdown, message.blocks)
    for call in message.tool_calls:
        yield f"Calls `{call.name}`:"
        yield _fenced(json.dumps(call.args, ensure_ascii=False, indent=2), "json")
    if message.status is MessageStatus.INTERRUPTED:
        yield "*(cut off here)*"


def part_markdown(part: Part) -> str:
    """Return a part; a type that is not known is shown as its JSON."""
    match part:
        case Attachment():
            return f"*Attached {_one_line(part.label)}*"
        case Reasoning():
            took = f" for {part.duration:g} s" if part.duration is not None else ""
            return "\n".join(f"> {line}".rstrip() for line in (f"*Thought{took}*", "", *part.text.split("\n")))
        case CitationPart():
            return f"*Source: {_one_line(part.title or part.source)}*"
        case _:
            return _fenced(json.dumps(part.model_dump(mode="json"), ensure_ascii=False, indent=2), "json")


def _speaker(message: Message, names: dict[str, str]) -> str:
    speaker = _SPEAKERS[message.role]
    if message.tool_result is not None:
        return f"{speaker} {names.get(message.tool_result.tool_call_id, '')}".rstrip()
    return f"{speaker} ({message.model})" if message.model else speaker


def block_markdown(block: Block) -> str:
    """Return a block as Markdown, for people to read."""
    match block:
        case Narrative():
            return block.text
        case RankedList():
            return _grid(ranked(block))
        case SplitCompare():
            return _grid(compared(block))
        case Table():
            return _grid(tabled(block))
        case Chart() if (grid := charted(block)).rows:
            return _grid(grid, about=f"{_one_line(block.chart)} chart")
        case Citation():
            return _source(block)
        case _:
            return _fenced(json.dumps(block.model_dump(mode="json"), ensure_ascii=False, indent=2), "json")


def _grid(grid: Grid, about: str = "") -> str:
    """Return a table under its title; a bare list of titles where there are no rows."""
    title = f"**{grid.title}**" if grid.title else ""
    above = " ".join(part for part in (title, f"({about})" if about else "") if part)
    lines = [grid.columns, ("---",) * len(grid.columns), *grid.rows]
    table = "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)
    return f"{above}\n\n{table}" if above else table


def _source(block: Citation) -> str:
    """Return where a statement comes from in one line, like a footnote, with the words that were cited below it."""
    source, title, url = _one_line(block.source), field_text(block, "title"), field_text(block, "url")
    address = f"<{url}>" if re.fullmatch(r"https?://[^\s<>]+", url) else ""
    line = f"Source: {', '.join(part for part in (title, source if source != title else '', address) if part)}"
    cited = field_text(block, "text")
    return f"{line}\n\n> {cited}" if cited else line


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|")


def _fenced(text: str, language: str = "") -> str:
    """Return the text as a block of code, between fences that are longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
