"""Gathering the context: read the window of the branch, recall what fell out of it, look the question up, and build
what the model will see."""

import json
from dataclasses import asdict, replace
from itertools import takewhile

from threadkeep.context.base import Context, Cut, Material, Policy, Window, run
from threadkeep.context.marks import own
from threadkeep.context.tokens import calibration
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.base import Passage
from threadkeep.store.base import MAX_LIMIT, ROOT
from threadkeep.text.words import content_words
from threadkeep.turn.lookup import Found
from threadkeep.turn.running import Running
from threadkeep.turn.states import read_state, told

PAGE = 50
SPARE = 10
"""How many entries more than the newest messages are read at once: state changes, and the rest of a turn."""
ANSWER_SHARE = 4
"""A quarter of a model's window is left for its answer."""
RELATED = 12
BRANCHES = 8
"""How many times as many related messages are looked at, because those of other branches do not count."""


async def gather_context(
    running: Running, notes: tuple[str, ...] = (), *, tools: bool = True, share: float = 1.0
) -> Context:
    """Return what the model gets to see now, in this share of its room; `tools` says whether it may call any."""
    policy = running.assistant.policy
    entries, cut = await _window(running, policy, _room(running))
    factor = await _calibration(running, entries)
    # After a refusal nothing is believed that would make the request longer.
    budget = int(_room(running) * share / (factor if share == 1 else max(1.0, factor)))
    found = await _looked_up(running, entries)
    material = Material(
        opening=await _opening(running, entries),
        instructions=running.conversation.system or running.assistant.instructions,
        entries=entries,
        turn=running.lease.turn,
        policy=policy,
        budget=budget,
        cut=cut,
        passages=tuple(_told(passage) for passage in found.passages) if found else (),
        notes=(*notes, *await _where_it_stands(running)),
        count=running.parts.count,
        has_tools=tools and len(running.assistant.tools) > 0,
        tool_tokens=_tool_tokens(running) if tools else 0,
    )
    if policy.summary:
        material = replace(material, summary=await _summary(running))
    context = run(running.assistant.processors, material)
    if policy.recall and _is_cut(entries, context.cut):
        recalled = await _recall(running, entries, context.cut)
        context = run(running.assistant.processors, replace(material, recalled=recalled)) if recalled else context
    return context if found is None else replace(context, trace=(*context.trace, found.item))


def _room(running: Running) -> int:
    """Return how many tokens a request may have; a smaller budget of the policy is the window processor's to keep."""
    return running.model.window - running.model.window // ANSWER_SHARE


async def _calibration(running: Running, entries: tuple[Entry, ...]) -> float:
    """Return how many tokens of the model one of our count is. What a mind asks its model is not what was counted."""
    if await running.mind() is not None:
        return 1.0
    return calibration(entries, running.parts.count, running.model.name)


def _tool_tokens(running: Running) -> int:
    specs = running.assistant.tools.specs()
    return running.parts.count(own("tools", json.dumps([asdict(spec) for spec in specs]))) if specs else 0


async def _window(running: Running, policy: Policy, budget: int) -> tuple[tuple[Entry, ...], Cut]:
    """Return the entries of the branch that matter, this turn's own last, and the cut of the last answer.

    What came before the turn is read once; it does not change while the turn runs.
    """
    own = [entry for entry in running.entries if entry.turn == running.lease.turn and entry.continues_branch]
    if running.history is None:
        head = (own[0].parent or 0) if own else running.place
        running.history = await _history(running, head, policy, budget)
    history, cut = running.history
    latest = [found for entry in own if (found := _cut_of(entry)) is not None]
    return (*history, *own), latest[-1] if latest else cut


async def _history(running: Running, head: int, policy: Policy, budget: int) -> tuple[tuple[Entry, ...], Cut]:
    """Read back from `head` to where the last cut was made, or as far as the policy can use."""
    read: list[Entry] = []
    cut: Cut | None = None
    tokens = messages = 0
    while head:
        page = await _page(
            running, head, min(policy.size + SPARE, MAX_LIMIT) if policy.window is Window.NEWEST else PAGE
        )
        for entry in reversed(page):
            if cut is not None and entry.seq < cut.first:
                return tuple(reversed(read)), cut
            read.append(entry)
            if isinstance(entry.body, Message):
                tokens += running.parts.count(entry.body)
                messages += 1
                cut = cut or _cut_of(entry)
        head = page[0].parent or 0
        if cut is None and _is_enough(policy, tokens, messages, budget):
            break
    return tuple(reversed(read)), cut or Cut()


def _is_enough(policy: Policy, tokens: int, messages: int, budget: int) -> bool:
    """Whether more than the policy can use was read."""
    if policy.window is Window.NEWEST:
        return messages > policy.size
    return tokens > 2 * (policy.size if policy.window is Window.BUDGET and policy.size else budget)


async def _page(running: Running, head: int, limit: int) -> tuple[Entry, ...]:
    lease = running.lease
    return await running.parts.store.newest(lease.scope, lease.conversation, limit=limit, head=head)


def _cut_of(entry: Entry) -> Cut | None:
    """Return the cut that an answer was made with."""
    if not isinstance(entry.body, Message) or entry.body.role is not Role.ASSISTANT:
        return None
    for item in entry.body.tool_trace:
        if item.get("kind") == "context":
            first, masked = item.get("first"), item.get("masked")
            if isinstance(first, int) and isinstance(masked, int):
                return Cut(first=first, masked=masked)
    return None


def _is_cut(entries: tuple[Entry, ...], cut: Cut) -> bool:
    """Whether something of the branch is not in the window."""
    return bool(entries) and (entries[0].parent is not None or entries[0].seq < cut.first)


async def _opening(running: Running, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the system messages that begin the branch, where the window does not reach back to them."""
    if not entries or entries[0].parent is None:
        return ()
    lease = running.lease
    first = await running.parts.store.after(lease.scope, lease.conversation, ROOT, limit=4, head=running.place)
    said = takewhile(lambda entry: isinstance(entry.body, Message) and entry.body.role is Role.SYSTEM, first)
    return tuple(entry for entry in said if entry.seq < entries[0].seq)


async def _looked_up(running: Running, entries: tuple[Entry, ...]) -> Found | None:
    """Look the question up, if the assistant looks things up: once a turn, whatever its tools find after that."""
    lookup = running.assistant.lookup
    if lookup is None or running.found is not None:
        return running.found
    said = [entry.body for entry in entries if isinstance(entry.body, Message)]
    asked = max((place for place, message in enumerate(said) if message.role is Role.USER), default=None)
    if asked is not None:
        running.found = await lookup.find(said[asked].content, said[:asked], running.model)
    return running.found


def _told(passage: Passage) -> str:
    return f"{passage.title} ({passage.id}): {passage.text}" if passage.title else f"({passage.id}) {passage.text}"


async def _where_it_stands(running: Running) -> tuple[str, ...]:
    """Return what a model that leads a guided conversation is told; a mind looks at the state itself."""
    machine = running.assistant.machine
    if machine is None or running.assistant.mind is not None:
        return ()
    return (told(machine, await read_state(running)),)


async def _summary(running: Running) -> Entry | None:
    lease = running.lease
    return await running.parts.store.summary(lease.scope, lease.conversation, head=running.place)


async def _recall(running: Running, entries: tuple[Entry, ...], cut: Cut) -> tuple[Entry, ...]:
    """Return earlier messages of this branch that have to do with the question, the best first."""
    asked = [entry.body for entry in entries if isinstance(entry.body, Message) and entry.body.role is Role.USER]
    words = content_words(asked[-1].content) if asked else ()
    if not words:
        return ()
    lease, store = running.lease, running.parts.store
    before = max(entries[0].seq, cut.first)
    found = await store.related(lease.scope, lease.conversation, words, before=before, limit=RELATED * BRANCHES)
    if not found:
        return ()
    tree = await store.tree(lease.scope, lease.conversation)
    return tuple(entry for entry in found if tree.holds(running.place, entry.seq))[:RELATED]
