"""A message as the pieces that a provider gets, in their order: text, parts, tool calls.

Reasoning keeps its place: in the text, before the tool call that it belongs to, or before all calls. It is never the
last piece: no provider takes an answer that ends with reasoning. Reasoning that Anthropic has signed comes first.
"""

from collections.abc import Iterator

from threadkeep.conversation.message import Message, ToolCall
from threadkeep.conversation.parts import Part, Reasoning, in_order

Piece = str | Part | ToolCall


def pieces_of(message: Message) -> list[Piece]:
    """Return the pieces of a message, without blank texts unless there is nothing else."""
    if not message.parts:
        return [*([message.content] if message.content or not message.tool_calls else []), *message.tool_calls]
    ids = {call.id for call in message.tool_calls}
    of_calls = [part for part in message.parts if isinstance(part, Reasoning) and part.call in ids]
    pieces = list(in_order(message.content, [part for part in message.parts if _is_placed(part)]))
    said = [piece for piece in pieces if not isinstance(piece, str) or piece.strip()]
    thoughts = [piece for piece in said if isinstance(piece, Reasoning)]
    is_last = not message.tool_calls and thoughts and said[-1] is thoughts[-1]
    is_first = thoughts and (thoughts[0].payload or {}).keys() & {"signature", "data"} and said[0] is not thoughts[0]
    if is_last or is_first:
        said = [*thoughts, *(piece for piece in said if not isinstance(piece, Reasoning))]
    return [*said, *(piece for call in message.tool_calls for piece in _with_thought(call, of_calls))]


def _is_placed(part: Part) -> bool:
    return not isinstance(part, Reasoning) or part.call is None


def _with_thought(call: ToolCall, thoughts: list[Reasoning]) -> Iterator[Piece]:
    yield from (thought for thought in thoughts if thought.call == call.id)
    yield call
