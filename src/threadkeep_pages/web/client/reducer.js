// What is known of an open conversation, as one value, and how it changes: with every event of the server, and with
// everything that the page does. It is pure (no network, no signals, no clock); `conversation.js` holds the value and acts.

/** @typedef {import("./state.js").ConversationState} ConversationState */
/** @typedef {import("./state.js").ConversationEvent} ConversationEvent */
/** @typedef {import("./state.js").ConversationPage} ConversationPage */

import { MOST, ROOT, branched, joined, messageOf, parentOf, resultOf, withBlock } from "./branch.js";

/** @type {ConversationState} */
export const EMPTY = {
  phase: "loading",
  about: null,
  messages: [],
  before: null,
  after: null,
  branch: ROOT,
  head: ROOT,
  draft: null,
  turns: {},
  queued: [],
  arrived: new Set(),
  waiting: [],
  approvals: {},
  state: {},
  readers: 1,
  spooled: false,
  failure: null,
  note: null,
  stopped: new Set(),
  retry: null,
  cut: null,
  ownBranches: {},
  target: null,
  hasMoved: false,
  lastResult: 0,
  catchingUp: null,
  news: null,
};

/**
 * The state after an event; the same one if the event changes nothing.
 * @param {ConversationState} state
 * @param {ConversationEvent} event
 * @returns {ConversationState}
 */
export function reduce(state, { name, data, at }) {
  const change = CHANGES[name]?.(state, data, at);
  return change ? { ...state, ...change } : state;
}

/** @param {ConversationState} state */
export const isCurrent = (state) => state.branch === state.head;

/**
 * What is shown, as the server would tell it, with the text that is being written; null where that is not the newest.
 * @param {ConversationState} state
 * @param {string | undefined} cursor
 */
export function copyOf(state, cursor) {
  const { about, messages, before, after, branch, head, draft } = state;
  if (!isCurrent(state) || after !== null || state.phase !== "ready") return null;
  const turns = Object.entries(state.turns).map(([id, turn]) => ({
    id: Number(id),
    state: turn,
    calls: turn === "waiting" ? state.waiting : [],
    message: state.queued.find((item) => item.turn === Number(id)) ?? null,
  }));
  return { ...about, head, messages, before, after, branch, draft, turns, state: state.state, cursor };
}

/**
 * How each event changes the state: the fields that it changes, or nothing. First what the server tells.
 * @type {Record<string, (state: ConversationState, data: any, at?: number) => Partial<ConversationState> | null>}
 */
const CHANGES = {
  "message.started": (_, { message, turn }) => ({ draft: { id: message, turn, text: "", reasoning: "" }, retry: null }),
  "text.delta": ({ draft }, { message, text }) =>
    draft && draft.id === message ? { draft: { ...draft, text: draft.text + text } } : null,
  "reasoning.delta": ({ draft }, { message, text }) =>
    draft && draft.id === message ? { draft: { ...draft, reasoning: (draft.reasoning ?? "") + text } } : null,
  "message.completed": (state, data) => completed(state, messageOf(data)),
  "tool.result": (state, data) => ({ lastResult: data.seq, ...placed(state, resultOf(data)) }),
  "block.added": (state, { block }) => ({ messages: withBlock(state.messages, state.lastResult, block) }),
  "state.changed": gathered,
  "conversation.updated": ({ about }, { seq: _, ...fields }) => ({ about: about && { ...about, ...fields } }),
  "head.chosen": (state, { head }) => ({
    head: head ?? ROOT,
    hasMoved: state.hasMoved || (isCurrent(state) && (head ?? ROOT) !== state.branch),
  }),
  "call.decided": ({ approvals }, { tool_call_id: call, approved }) => ({
    approvals: { ...approvals, [call]: approved },
  }),
  "feedback.given": ({ messages }, { entry, rating, comment }) => ({
    messages: messages.map((message) =>
      message.seq === entry ? { ...message, feedback: rating && { rating, comment } } : message,
    ),
  }),
  "conversation.spooled": (_, { spooled }) => ({ spooled }),
  presence: ({ catchingUp, news }, { readers }) => ({
    readers,
    catchingUp: null,
    news: catchingUp === null ? news : newsOf(catchingUp),
  }),
  "turn.queued": waitingInLine,
  "turn.started": (state, { turn }) => ({ ...withTurn(state, turn, "running"), failure: null, note: null }),
  "turn.retrying": (_, { turn, attempt, attempts, seconds, code }, at = 0) => ({
    retry: { turn, attempt, attempts, code, until: at + seconds * 1000 },
  }),
  "turn.waiting": (state, { turn, calls, client_calls: theirs = [] }) => ({
    ...withTurn(state, turn, "waiting"),
    ...asked(
      state,
      calls.filter((call) => !theirs.includes(call)),
    ),
  }),
  "turn.completed": (state, data) => ({ ...ended(state, data), note: data.detail ?? null }),
  "turn.cancelled": (state, data) => ({ ...ended(state, data), stopped: new Set([...state.stopped, data.turn]) }),
  "turn.interrupted": ended,
  "turn.failed": (state, data) => ({ ...ended(state, data), failure: data.failure }),

  // What the page reads.
  "page.shown": shown,
  "page.older": (state, { messages, before }) => {
    const all = joined(messages, state.messages);
    return { messages: all.slice(0, MOST), before, after: all.length > MOST ? all[MOST - 1].seq : state.after };
  },
  "page.newer": (state, { messages, after }) => {
    const all = joined(state.messages, messages);
    const kept = all.slice(-MOST);
    return { messages: kept, after, before: all.length > MOST ? kept[0].seq : state.before };
  },
  "page.whole": (_, { messages }) => ({ messages, before: null, after: null }),
  "phase.changed": (_, { phase }) => ({ phase }),
  // The server says anew what is kept there.
  "stream.opened": (_, { isAgain }) => ({ catchingUp: isAgain ? 0 : null, spooled: false }),
  "news.told": (_, { news }) => ({ news }),

  // What the person does. `parent` is the entry that a new branch continues, with a text, or with another answer (null).
  "message.sent": (state, { parent, content, isCut }) => ({
    failure: null,
    cut: isCut ? parent : state.cut,
    ownBranches: parent === undefined ? state.ownBranches : { ...state.ownBranches, [parent]: content },
  }),
  // The question is the head now, unless the events have told more already.
  "answer.begun": ({ cut }, { question }) => (cut === question ? { head: question, branch: question } : null),
  "about.changed": ({ about }, fields) => ({ about: about && { ...about, ...fields } }),
  "branch.dropped": () => ({ cut: null }),
  "branch.chosen": (_, { head }) => ({ head }),
  "branch.kept": () => ({ hasMoved: false }),
  "branch.left": (_, { head }) => ({ head, hasMoved: true }),
  "target.reached": () => ({ target: null }),
};

/** @returns {ConversationState["news"]} */
const newsOf = (messages) => (messages ? { kind: "caught up", messages } : { kind: "resumed" });

function completed(state, message) {
  const { draft, catchingUp } = state;
  const isCounted = catchingUp !== null && !message.tool_calls.length;
  return {
    ...(message.role === "user" ? arrived(state, message.turn) : {}),
    draft: draft?.id === message.id ? null : draft,
    retry: null,
    catchingUp: isCounted ? catchingUp + 1 : catchingUp,
    ...placed(state, message),
  };
}

// The message of a turn is in the log: it is not shown as one that waits any more.
const arrived = (state, turn) => ({
  arrived: new Set([...state.arrived, turn]),
  queued: state.queued.filter((item) => item.turn !== turn),
});

function placed(state, message) {
  if (state.messages.some((other) => other.seq === message.seq)) return {};
  const parent = parentOf(message);
  const head = Math.max(message.seq, state.head);
  const isOurs = isOwn(state, message);
  if (!isOurs && parent !== state.branch && parent !== state.cut) {
    return { head, hasMoved: state.hasMoved || isCurrent(state) };
  }
  const { [parent]: _, ...others } = state.ownBranches;
  return {
    head,
    branch: message.seq,
    cut: parent === state.cut ? null : state.cut,
    ownBranches: isOurs ? others : state.ownBranches,
    messages: state.after === null ? branched(state.messages, message) : state.messages,
  };
}

// Whether a message that begins another branch is one that was sent from this view.
function isOwn({ ownBranches }, message) {
  const sent = ownBranches[parentOf(message)];
  return sent === null ? message.role !== "user" : message.role === "user" && message.content === sent;
}

function gathered(state, { set, unset, whole, seq, parent }) {
  const head = Math.max(seq, state.head);
  if ((parent ?? ROOT) !== state.branch) return { head };
  const kept = whole ? [] : Object.entries(state.state).filter(([name]) => !unset.includes(name));
  return { head, branch: seq, state: { ...Object.fromEntries(kept), ...set } };
}

function waitingInLine(state, { turn, message }) {
  const waiting = arrived(state, turn);
  const item = message && { turn, content: message.content, parts: message.parts };
  return {
    ...waiting,
    turns: { ...state.turns, [turn]: "queued" },
    queued: item ? [...waiting.queued, item] : waiting.queued,
  };
}

const withTurn = (state, turn, now) => ({
  turns: { ...state.turns, [turn]: now },
  queued: state.queued.filter((item) => item.turn !== turn),
});

// What was decided of a call of the same id in another answer is no decision about this one.
const asked = ({ approvals }, calls) => ({
  waiting: calls,
  approvals: Object.fromEntries(Object.entries(approvals).filter(([id]) => !calls.includes(id))),
});

function ended(state, { turn }) {
  const { [turn]: _, ...turns } = state.turns;
  const draft = state.draft?.turn === turn ? null : state.draft;
  return { turns, draft, retry: null, queued: state.queued.filter((item) => item.turn !== turn) };
}

/**
 * A page as it was read; `meanwhile` are the events that came while it was, if something was shown before.
 * @param {ConversationState} state
 * @param {{ page: ConversationPage, at?: number | null, isMarked?: boolean, meanwhile?: ConversationEvent[] }} read
 * @returns {ConversationState}
 */
function shown(state, { page, at = null, isMarked = true, meanwhile }) {
  const { messages, before, after, turns, ended: last, state: found, cursor: _, branch, draft, ...about } = page;
  const turnsOf = messages.filter((message) => message.role === "user").map((message) => message.turn);
  const queued = turns.flatMap(({ id, message }) =>
    message ? [{ turn: id, content: message.content, parts: message.parts }] : [],
  );
  /** @type {ConversationState} */
  const next = {
    ...state,
    phase: "ready",
    about,
    messages,
    before,
    after,
    head: about.head ?? ROOT,
    branch: branch ?? about.head ?? ROOT,
    turns: Object.fromEntries(turns.map((turn) => [turn.id, turn.state])),
    queued,
    arrived: new Set([...state.arrived, ...turnsOf]),
    ...asked(
      state,
      turns.flatMap(({ calls = [], client_calls: theirs = [] }) => calls.filter((call) => !theirs.includes(call))),
    ),
    draft: draft ?? null,
    state: found ?? {},
    failure: last?.failure ?? null,
    note: (last?.state === "completed" && last.detail) || null,
    stopped: last?.state === "cancelled" ? new Set([...state.stopped, last.id]) : state.stopped,
    cut: null,
    hasMoved: false,
    target: at ? { seq: at, isMarked } : null,
  };
  return meanwhile
    ? caughtUp(
        state,
        next,
        meanwhile.filter(({ data }) => data.seq > page.entries),
      )
    : next;
}

// The events may be ahead of a page: what they told stays, what they brought is added.
function caughtUp({ turns, queued, waiting, draft, catchingUp }, next, events) {
  return { ...events.reduce(reduce, { ...next, turns, queued, waiting, draft }), catchingUp };
}
