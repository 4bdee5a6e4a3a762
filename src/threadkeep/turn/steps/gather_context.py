"""Gathering the context: read the window of the branch, recall what fell out of it, look the question up, and build
what the model will see."""

import json
from dataclasses import asdict, replace
from itertools import takewhile

from threadkeep.context.base import Context, Cut, Material, Policy, Window, cut_in, run
from threadkeep.context.marks import own
from threadkeep.context.parts import for_model
from threadkeep.context.recall import worth_adding
from threadkeep.context.tokens import calibration
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.base import Passage
from threadkeep.store.base import MAX_LIMIT, ROOT
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.lookup import Found
from threadkeep.turn.related_messages import related_messages

PAGE = 50
SPARE = 10
"""How many entries more than the newest messages are read at once: state changes, and the rest of a turn."""
ANSWER_SHARE = 4
"""A quarter of a model's window is left for its answer."""


async def gather_context(
    active: ActiveTurn, notes: tuple[str, ...] = (), *, tools: bool = True, share: float = 1.0
) -> Context:
    """Return what the model gets to see now, in this share of its room; `tools` says whether it may call any."""
    policy = active.assistant.policy
    entries, cut = await _window(active, policy, _room(active))
    factor = await _calibration(active, entries)
    # After a refusal nothing is believed that would make the request longer.
    budget = int(_room(active) * share / (factor if share == 1 else max(1.0, factor)))
    found = await _looked_up(active, entries)
    has_model = await active.agent() is None
    material = Material(
        opening=await _opening(active, entries),
        instructions=active.conversation.system or active.assistant.instructions,
        entries=entries,
        turn=active.lease.turn,
        policy=policy,
        budget=budget,
        cut=cut,
        passages=tuple(_passage_text(passage) for passage in found.passages) if found else (),
        notes=(*notes, *await _where_it_stands(active)),
        # What an agent makes of a request is its own: it gets what every model can read.
        model=active.model.name if has_model else "",
        accepts=active.model.accepts if has_model else frozenset(),
        count=active.deps.count,
        has_tools=tools and len(active.assistant.tools) > 0,
        tool_tokens=_tool_tokens(active) if tools else 0,
    )
    if policy.summary:
        summary = await active.deps.store.summary(active.lease.scope, active.lease.conversation, head=active.head)
        material = replace(material, summary=summary)
    context = run(active.assistant.processors, material)
    if policy.recall and _is_cut(entries, context.cut):
        # Once a turn, so that its further calls begin with the same bytes.
        if active.recalled is None:
            earlier = await _earlier(active, entries) if context.cut != cut else ()
            active.recalled = await _recall(active, entries, cut, found, goes_on=context.cut == cut), earlier
        recalled, earlier = active.recalled
        material = replace(material, recalled=recalled, earlier=earlier, cut=context.cut)
        context = run(active.assistant.processors, material)
    return context if found is None else replace(context, trace=(*context.trace, found.item))


def _room(active: ActiveTurn) -> int:
    """Return how many tokens a request may have; a smaller budget of the policy is the window processor's to keep."""
    return active.model.window - active.model.window // ANSWER_SHARE


async def _calibration(active: ActiveTurn, entries: tuple[Entry, ...]) -> float:
    """Return how many tokens of the model one of our count is. What an agent asks its model is not what was counted."""
    if await active.agent() is not None:
        return 1.0
    return calibration(entries, active.deps.count, active.model.name)


def _tool_tokens(active: ActiveTurn) -> int:
    specs = active.assistant.tools.specs()
    return active.deps.count(own("tools", json.dumps([asdict(spec) for spec in specs]))) if specs else 0


async def _window(active: ActiveTurn, policy: Policy, budget: int) -> tuple[tuple[Entry, ...], Cut]:
    """Return the entries of the branch that matter, this turn's own last, and the cut of the last answer.

    What came before the turn is read once; it does not change while the turn runs.
    """
    own = [entry for entry in active.entries if entry.turn == active.lease.turn and entry.continues_branch]
    if active.history is None:
        head = (own[0].parent or 0) if own else active.head
        active.history = await _history(active, head, policy, budget)
    history, cut = active.history
    latest = [found for entry in own if (found := _cut_of(entry)) is not None]
    return (*history, *own), latest[-1] if latest else cut


async def _history(active: ActiveTurn, head: int, policy: Policy, budget: int) -> tuple[tuple[Entry, ...], Cut]:
    """Read back from `head` to where the last cut was made, or as far as the policy can use."""
    lease, read = active.lease, list[Entry]()
    limit = min(policy.size + SPARE, MAX_LIMIT) if policy.window is Window.NEWEST else PAGE
    cut: Cut | None = None
    tokens = messages = 0
    while head:
        page = await active.deps.store.newest(lease.scope, lease.conversation, limit=limit, head=head)
        for entry in reversed(page):
            if cut is not None and entry.seq < cut.first:
                return tuple(reversed(read)), cut
            read.append(entry)
            if isinstance(entry.body, Message):
                tokens += active.deps.count(for_model(entry.body, active.model.name, active.model.accepts))
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
    return tokens > 2 * policy.tokens(budget)


def _cut_of(entry: Entry) -> Cut | None:
    """Return the cut that an answer was made with."""
    if isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT:
        return cut_in(entry.body.tool_trace)
    return None


def _is_cut(entries: tuple[Entry, ...], cut: Cut) -> bool:
    """Whether something of the branch is not in the window."""
    return bool(entries) and (entries[0].parent is not None or entries[0].seq < max(cut.first, cut.masked))


async def _earlier(active: ActiveTurn, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return what was said before this turn, also what the window does not reach back to, the newest first."""
    if active.assistant.policy.window is Window.NEWEST:
        return ()
    lease, head = active.lease, entries[0].parent
    page = await active.deps.store.newest(lease.scope, lease.conversation, limit=PAGE, head=head) if head else ()
    return tuple(reversed([*page, *(entry for entry in entries if entry.turn != lease.turn)]))


async def _opening(active: ActiveTurn, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the system messages that begin the branch, where the window does not reach back to them."""
    if not entries or entries[0].parent is None:
        return ()
    lease = active.lease
    first = await active.deps.store.after(lease.scope, lease.conversation, ROOT, limit=4, head=active.head)
    messages = takewhile(lambda entry: isinstance(entry.body, Message) and entry.body.role is Role.SYSTEM, first)
    return tuple(entry for entry in messages if entry.seq < entries[0].seq)


async def _looked_up(active: ActiveTurn, entries: tuple[Entry, ...]) -> Found | None:
    """Look the question up, if the assistant looks things up: once a turn, whatever its tools find after that."""
    lookup = active.assistant.lookup
    if lookup is None or active.found is not None:
        return active.found
    messages = [entry.body for entry in entries if isinstance(entry.body, Message)]
    asked = max((place for place, message in enumerate(messages) if message.role is Role.USER), default=None)
    if asked is not None:
        active.found = await lookup.find(messages[asked].content, messages[:asked], active.model)
    return active.found


def _passage_text(passage: Passage) -> str:
    return f"{passage.title} ({passage.id}): {passage.text}" if passage.title else f"({passage.id}) {passage.text}"


async def _where_it_stands(active: ActiveTurn) -> tuple[str, ...]:
    """Return what a model that leads a guided conversation is told; an agent looks at the state itself."""
    machine = active.assistant.machine
    if machine is None or active.assistant.agent is not None:
        return ()
    values = (await active.state()).values
    here, ways = machine.current(values), ", ".join(machine.allowed(values)) or "nowhere"
    standing = f"this conversation is in the state {here}; from here it can go to: {ways}."
    return (f"{standing} {machine.instructions.get(here, '')}".strip(),)


async def _recall(
    active: ActiveTurn, entries: tuple[Entry, ...], cut: Cut, found: Found | None, *, goes_on: bool
) -> tuple[Entry, ...]:
    """Return messages that have to do with the question, the best first.

    Where the request goes on as the last one did, those behind the cut are in full view, and few others are worth
    adding.
    """
    room = active.assistant.policy.tokens(_room(active))
    best = await related_messages(active, entries, found, room)
    if not goes_on:
        return tuple(entry for entry, _ in best)
    return worth_adding(best, max(cut.first, cut.masked), room, active.deps.count)
