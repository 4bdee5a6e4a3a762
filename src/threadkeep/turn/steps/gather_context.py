"""Gathering the context: read the window of the branch, recall what fell out of it, look the question up, and build
what the model will see."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from threadkeep.context.base import Audience, Context, Cut, Material, Sought, Window, newest_cut
from threadkeep.context.build import plan
from threadkeep.context.marks import own
from threadkeep.context.recall import worth_adding
from threadkeep.context.tokens import calibration
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.store.base import MAX_LIMIT, ROOT
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.branches import KeptBranch
from threadkeep.turn.lookup import LookedUp, Passage
from threadkeep.turn.related_messages import related_messages

PAGE = 50
FRESH = 8
"""How many entries are read first where the rest is probably known from the turn before."""
COUNTED_AT_ONCE = 500_000
"""How many characters are counted before the event loop has its turn: a few milliseconds."""
SPARE = 10
"""How many entries more than the newest messages are read at once: state changes, and the rest of a turn."""
ANSWER_SHARE = 4
"""A quarter of a model's window is left for its answer."""


async def gather_context(
    active: ActiveTurn, notes: tuple[str, ...] = (), *, tools: bool = True, share: float = 1.0
) -> Context:
    """Return what the model gets to see now, in this share of its room; `tools` says whether it may call any."""
    policy, deps = active.assistant.policy, active.deps
    has_model = await active.agent() is None
    audience = Audience(
        # What an agent makes of a request is its own: it gets what every model can read.
        model=active.model.name if has_model else "",
        accepts=active.model.accepts if has_model else frozenset(),
        has_tools=tools and len(active.assistant.tools) > 0,
        count=deps.count,
    )
    branch, cut = await _branch(active, audience)
    entries = branch.entries
    # What an agent asks its model is not what was counted.
    factor = calibration(entries, deps.count, active.model.name) if has_model else 1.0
    # After a refusal nothing is believed that would make the request longer.
    budget = int(_room(active) * share / (factor if share == 1 else max(1.0, factor)))
    found = await _looked_up(active, entries)
    material = Material(
        audience=audience,
        opening=await _opening(active, entries),
        instructions=active.conversation.system or active.assistant.instructions,
        lines=branch.lines,
        turn=active.lease.turn,
        policy=policy,
        budget=budget,
        cut=cut,
        passages=tuple(_passage_text(passage) for passage in found.passages) if found else (),
        notes=(*notes, *await _where_it_stands(active)),
        tool_tokens=_tool_tokens(active) if tools else 0,
    )
    if policy.summary:
        summary = await deps.store.summary(active.lease.scope, active.lease.conversation, head=active.head)
        material = replace(material, summary=summary)
    planned = plan(material)
    if policy.recall and _is_cut(entries, planned.cut):
        # Once a turn, so that its further calls begin with the same bytes.
        if active.recalled is None:
            earlier = await _earlier(active, entries) if planned.cut != cut else ()
            goes_on = planned.cut == cut and planned.lasting >= active.model.cached_from
            recalled, sought = await _recall(active, entries, cut, found, goes_on=goes_on)
            active.recalled = {"recalled": recalled, "earlier": earlier, "sought": sought}
        planned = plan(replace(material, cut=planned.cut, **active.recalled))
    context = active.assistant.builder(planned)
    return context if found is None else replace(context, trace=(*context.trace, found.item))


def _room(active: ActiveTurn) -> int:
    """Return how many tokens a request may have; a smaller budget of the policy is the window's to keep."""
    return active.model.window - active.model.window // ANSWER_SHARE


def _tool_tokens(active: ActiveTurn) -> int:
    described = active.assistant.tools.described
    return active.deps.count(own("tools", described)) if described else 0


async def _branch(active: ActiveTurn, audience: Audience) -> tuple[KeptBranch, Cut]:
    """Return the entries of the branch that matter, this turn's own last, and the cut of the last answer.

    What came before the turn is read once; it does not change while the turn runs.
    """
    own = [entry for entry in active.entries if entry.turn == active.lease.turn and entry.continues_branch]
    key = (active.lease.scope.tenant, active.lease.conversation, audience)
    if active.history is None:
        head = (own[0].parent or 0) if own else active.head
        active.history = await _history(active, head, active.deps.branches.get(key))
    branch, cut = active.history
    if branch.audience != audience:
        branch = KeptBranch(audience).followed_by(branch.entries)
    newest = branch.entries[-1].seq if branch.entries else 0
    branch = branch.followed_by([entry for entry in own if entry.seq > newest])
    cut = newest_cut(own) or cut
    active.history = branch, cut
    active.deps.branches.keep(key, branch)
    return branch, cut


async def _history(active: ActiveTurn, head: int, kept: KeptBranch) -> tuple[KeptBranch, Cut]:
    """Return the branch from `head` back to where the last cut was made, or as far as the policy can use, and the cut.

    What is `kept` of a branch is not read again once it agrees with the newest that was read.
    """
    policy, lease = active.assistant.policy, active.lease
    limit = min(policy.size + SPARE, MAX_LIMIT) if policy.window is Window.NEWEST else PAGE
    read, said, cut, fork = list[Entry](), list[int](), None, 0
    while head:
        page: Sequence[Entry] = kept.part(0, head).entries if fork else ()
        if not page or page[-1].seq != head:
            few = FRESH if kept.entries and not read else limit
            page = await active.deps.store.newest(lease.scope, lease.conversation, limit=few, head=head)
            page = await _measured(active, page)
            fork = fork or kept.newest_shared(page)
            limit = min(2 * limit, MAX_LIMIT)
        read = [*page, *read]
        cut = cut or newest_cut(page)
        head = page[0].parent or 0
        if cut is None:
            said += [active.deps.count(entry.body) for entry in page if isinstance(entry.body, Message)]
        if page[0].seq <= cut.first if cut else _is_enough(active, said):
            break
    cut = cut or Cut()
    wanted = [entry for entry in read if entry.seq >= cut.first]
    known = kept.part(cut.first, fork)
    if not wanted or not known.entries or known.entries[0].seq > wanted[0].seq:
        known, fork = KeptBranch(kept.audience), 0
    return known.followed_by([entry for entry in wanted if entry.seq > fork]), cut


async def _measured(active: ActiveTurn, page: Sequence[Entry]) -> Sequence[Entry]:
    """Return entries whose messages have their tokens, so that each is counted once; others run between long ones."""
    measured, seen = list[Entry](), 0
    for entry in page:
        body = entry.body
        if isinstance(body, Message) and body.tokens is None:
            if (seen := seen + len(body.content)) > COUNTED_AT_ONCE:
                await asyncio.sleep(0)
                seen = 0
            entry = entry.but(body=body.but(tokens=active.deps.count(body)))
        measured.append(entry)
    return measured


def _is_enough(active: ActiveTurn, sizes: Sequence[int]) -> bool:
    """Whether messages of these sizes are more than the policy can use."""
    policy = active.assistant.policy
    return len(sizes) > policy.size if policy.window is Window.NEWEST else sum(sizes) > 2 * policy.tokens(_room(active))


def _is_cut(entries: Sequence[Entry], cut: Cut) -> bool:
    """Whether something of the branch is not in the window."""
    return bool(entries) and (entries[0].parent is not None or entries[0].seq < cut.seen_from)


async def _earlier(active: ActiveTurn, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return what was said before this turn, also what the window does not reach back to, the newest first."""
    if active.assistant.policy.window is Window.NEWEST:
        return ()
    lease, head = active.lease, entries[0].parent
    page = await active.deps.store.newest(lease.scope, lease.conversation, limit=PAGE, head=head) if head else ()
    before = [*page, *(entry for entry in entries if entry.turn != lease.turn)]
    return tuple(entry for entry in reversed(before) if (entry.conversation, entry.seq) not in active.left_out)


async def _opening(active: ActiveTurn, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the system messages that begin the branch, where the window does not reach back to them."""
    if not entries or entries[0].parent is None:
        return ()
    lease = active.lease
    first = await active.deps.store.after(lease.scope, lease.conversation, ROOT, limit=4, head=active.head)
    messages = takewhile(lambda entry: isinstance(entry.body, Message) and entry.body.role is Role.SYSTEM, first)
    return tuple(entry for entry in messages if entry.seq < entries[0].seq)


async def _looked_up(active: ActiveTurn, entries: tuple[Entry, ...]) -> LookedUp | None:
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
    active: ActiveTurn, entries: tuple[Entry, ...], cut: Cut, found: LookedUp | None, *, goes_on: bool
) -> tuple[tuple[Entry, ...], Sought]:
    """Return messages that have to do with the question, the best first, and what they were looked for by.

    Where the request goes on as the last one did, and its beginning is long enough for a provider's cache, those behind
    the cut are in full view, and few others are worth adding.
    """
    room = active.assistant.policy.tokens(_room(active))
    best, sought = await related_messages(active, entries, found, room)
    measured = await _measured(active, [entry for entry, _ in best])
    if not goes_on:
        return tuple(measured), sought
    scores = [score for _, score in best]
    added = worth_adding(list(zip(measured, scores, strict=True)), cut.seen_from, room, active.deps.count)
    return added, sought
