// What the page knows of a conversation after each kind of event: run by test_reducer.py, with node and no browser.

import assert from "node:assert/strict";
import test from "node:test";

import { EMPTY, copyOf, isCurrent, reduce } from "../../../../../src/threadkeep_pages/web/client/reducer.js";

const PAGE = {
  id: "c",
  title: null,
  head: null,
  entries: 0,
  branch: null,
  messages: [],
  before: null,
  after: null,
  turns: [],
  ended: null,
  state: {},
  cursor: "0",
};

const event = (name, data = {}) => ({ name, data });
const after = (state, ...events) => events.reduce(reduce, state);
const shown = (page = {}, how = {}) => event("page.shown", { page: { ...PAGE, ...page }, ...how });
const message = (seq, parent, role, content, turn = 1) => ({
  seq,
  parent,
  turn,
  created_at: "",
  message: { id: `m${seq}`, role, content, blocks: [], tool_calls: [], tool_trace: [] },
});
const said = (...from) => event("message.completed", message(...from));
const stored = (...from) => {
  const { message: content, ...place } = message(...from);
  return { ...content, ...place, siblings: [place.seq] };
};
const texts = (state) => state.messages.map(({ content }) => content);
const talked = after(EMPTY, shown(), said(1, null, "user", "Hello"), said(2, 1, "assistant", "Good day"));

test("a state is never changed in place", () => {
  const frozen = Object.freeze({ ...talked, messages: Object.freeze(talked.messages) });
  after(frozen, said(3, 2, "user", "Again", 3), event("turn.started", { turn: 3 }), event("presence", { readers: 2 }));
  assert.deepEqual(texts(frozen), ["Hello", "Good day"]);
});

test("an event that nobody knows changes nothing", () => {
  assert.equal(reduce(talked, event("something.new")), talked);
});

test("a text grows piece by piece and gives way to the message that it becomes", () => {
  const started = event("message.started", { message: "m3", turn: 1 });
  const growing = after(
    talked,
    started,
    ...["One", " two"].map((text) => event("text.delta", { message: "m3", text })),
  );
  assert.equal(growing.draft?.text, "One two");
  assert.equal(reduce(growing, event("text.delta", { message: "other", text: "!" })), growing);
  const whole = reduce(growing, said(3, 2, "assistant", "One two"));
  assert.equal(whole.draft, null);
  assert.deepEqual(texts(whole), ["Hello", "Good day", "One two"]);
});

test("a message that is there already is not shown twice", () => {
  assert.deepEqual(texts(reduce(talked, said(2, 1, "assistant", "Good day"))), ["Hello", "Good day"]);
});

test("a message of somebody else on another branch is told of and does not move the reader", () => {
  const moved = reduce(talked, said(3, null, "user", "Hi", 3));
  assert.deepEqual(texts(moved), ["Hello", "Good day"]);
  assert.equal(moved.hasMoved, true);
  assert.equal(isCurrent(moved), false);
  assert.equal(reduce(moved, event("branch.kept")).hasMoved, false);
});

test("a branch that was begun here is followed, once", () => {
  const sent = event("message.sent", { parent: 0, content: "Hi", isCut: true });
  const branched = after(talked, sent, said(3, null, "user", "Hi", 3));
  assert.deepEqual(texts(branched), ["Hi"]);
  assert.deepEqual(branched.messages[0].siblings, [1, 3]);
  assert.equal(branched.cut, null);
  assert.deepEqual(branched.ownBranches, {});
  assert.equal(reduce(branched, said(4, null, "user", "Hi", 4)).hasMoved, true);
});

test("another answer takes the place of the one before it", () => {
  const asked = after(talked, event("message.sent", { parent: 1, content: null, isCut: true }));
  const begun = reduce(asked, event("answer.begun", { question: 1 }));
  assert.deepEqual([begun.head, begun.branch], [1, 1]);
  assert.deepEqual(texts(reduce(begun, said(3, 1, "assistant", "Hello!", 3))), ["Hello", "Hello!"]);
  const late = after(asked, said(3, 1, "assistant", "Hello!", 3), event("answer.begun", { question: 1 }));
  assert.equal(late.branch, 3);
});

test("blocks belong to the tool result before them", () => {
  const result = event("tool.result", { tool_call_id: "t", content: "", seq: 3, parent: 2, turn: 1, error: null });
  const drawn = after(talked, result, event("block.added", { block: { type: "table" } }));
  assert.deepEqual(drawn.messages.at(-1)?.blocks, [{ type: "table" }]);
});

test("a turn runs, waits for its calls, and ends", () => {
  const running = reduce(talked, event("turn.started", { turn: 3 }));
  assert.deepEqual(running.turns, { 3: "running" });
  const waiting = reduce(running, event("turn.waiting", { turn: 3, calls: ["t1"] }));
  assert.deepEqual([waiting.turns, waiting.waiting], [{ 3: "waiting" }, ["t1"]]);
  const draft = event("message.started", { message: "m4", turn: 3 });
  for (const name of ["turn.completed", "turn.cancelled", "turn.interrupted", "turn.failed"]) {
    const ended = after(waiting, draft, event(name, { turn: 3, failure: { code: "x", detail: "y" } }));
    assert.deepEqual([ended.turns, ended.draft], [{}, null]);
    assert.equal(ended.failure !== null, name === "turn.failed");
  }
});

test("a failure is shown until the next turn starts or something is sent", () => {
  const failure = { code: "model_failed", detail: "It stumbled." };
  const failed = reduce(talked, event("turn.failed", { turn: 1, failure }));
  assert.deepEqual(failed.failure, failure);
  assert.equal(reduce(failed, event("turn.started", { turn: 3 })).failure, null);
  assert.equal(reduce(failed, event("message.sent", { content: "Again" })).failure, null);
  const read = reduce(EMPTY, shown({ ended: { id: 1, state: "failed", failure } }));
  assert.deepEqual(read.failure, failure);
});

test("a queued message waits until its turn starts", () => {
  const next = { content: "Next", parts: [{ type: "image", file: "f" }] };
  const queued = reduce(talked, event("turn.queued", { turn: 5, seq: 5, message: next }));
  assert.deepEqual([queued.queued, queued.turns], [[{ turn: 5, ...next }], { 5: "queued" }]);
  assert.equal(queued.arrived.has(5), true);
  const started = reduce(queued, event("turn.started", { turn: 5 }));
  assert.deepEqual([started.queued, started.turns], [[], { 5: "running" }]);
});

test("a title, a decision, an opinion and another head have an event each", () => {
  const told = (name, data) => reduce(talked, event(name, { seq: 3, ...data }));
  assert.equal(told("conversation.updated", { title: "Greetings" }).about?.title, "Greetings");
  assert.deepEqual(told("call.decided", { tool_call_id: "t", approved: false }).approvals, { t: false });
  const thought = told("feedback.given", { entry: 2, rating: "up", comment: null });
  assert.deepEqual(thought.messages[1].feedback, { rating: "up", comment: null });
  const back = reduce(thought, event("feedback.given", { entry: 2, rating: null, comment: null }));
  assert.equal(back.messages[1].feedback, null);
  const moved = told("head.chosen", { head: 1 });
  assert.deepEqual([moved.head, moved.hasMoved], [1, true]);
  assert.equal(told("head.chosen", { head: 2 }).hasMoved, false);
});

test("a queued turn whose message nobody can read any more is queued all the same", () => {
  const queued = reduce(talked, event("turn.queued", { turn: 5, seq: 5, message: null }));
  assert.deepEqual([queued.queued, queued.turns], [[], { 5: "queued" }]);
});

test("what is gathered changes only with entries of the branch that is shown", () => {
  const changed = (data) =>
    reduce({ ...talked, state: { a: 1, b: 2 } }, event("state.changed", { seq: 3, unset: [], ...data }));
  assert.deepEqual(changed({ set: { c: 3 }, unset: ["a"], parent: 2 }).state, { b: 2, c: 3 });
  assert.deepEqual(changed({ set: { c: 3 }, whole: true, parent: 2 }).state, { c: 3 });
  assert.deepEqual(changed({ set: { c: 3 }, parent: 1 }).state, { a: 1, b: 2 });
});

test("a connection that came back says how many messages were missed", () => {
  const back = reduce(talked, event("stream.opened", { isAgain: true }));
  const caught = after(back, said(3, 2, "user", "Again", 3), event("presence", { readers: 1 }));
  assert.deepEqual(caught.news, { kind: "caught up", messages: 1 });
  assert.deepEqual(reduce(back, event("presence", { readers: 1 })).news, { kind: "resumed" });
  const first = after(talked, event("stream.opened", { isAgain: false }), event("presence", { readers: 2 }));
  assert.deepEqual([first.news, first.readers], [null, 2]);
});

test("events that came while a page was read are not lost with it", () => {
  const waiting = reduce(talked, event("turn.waiting", { turn: 1, calls: ["t1"] }));
  const page = {
    head: 2,
    branch: 2,
    entries: 2,
    messages: [stored(1, null, "user", "Hello"), stored(2, 1, "assistant", "Good day")],
  };
  const meanwhile = [said(2, 1, "assistant", "Good day"), said(3, 2, "assistant", "And more")];
  const looked = reduce(waiting, shown(page, { at: 2, isMarked: false, meanwhile }));
  assert.deepEqual(texts(looked), ["Hello", "Good day", "And more"]);
  assert.deepEqual([looked.turns, looked.waiting], [{ 1: "waiting" }, ["t1"]]);
  assert.deepEqual(looked.target, { seq: 2, isMarked: false });
});

test("a long conversation keeps a window of messages and knows where the rest is", () => {
  const many = (from, to) => Array.from({ length: to - from }, (_, at) => stored(from + at, from + at - 1, "user", ""));
  const end = reduce(EMPTY, shown({ head: 800, branch: 800, messages: many(500, 801), before: 500 }));
  const older = reduce(end, event("page.older", { messages: many(300, 500), before: 300 }));
  assert.deepEqual([older.messages.length, older.messages[0].seq, older.before, older.after], [400, 300, 300, 699]);
  const newer = reduce(older, event("page.newer", { messages: many(690, 801), after: null }));
  assert.deepEqual([newer.messages.length, newer.before, newer.after], [400, 401, null]);
});

test("a copy of what is shown reads like a page of the server", () => {
  const queued = event("turn.queued", { turn: 5, seq: 5, message: { content: "Next" } });
  const started = [event("turn.started", { turn: 3 }), event("message.started", { message: "m4", turn: 3 })];
  const busy = after(talked, ...started, event("text.delta", { message: "m4", text: "Well" }), queued);
  const again = reduce(EMPTY, event("page.shown", { page: copyOf(busy, "7") }));
  for (const name of ["messages", "turns", "queued", "draft", "branch", "head", "phase"])
    assert.deepEqual(again[name], busy[name]);
  assert.equal(copyOf({ ...busy, branch: 1 }, "7"), null);
});

test("what is kept on the server's disk is told until it is in the database", () => {
  const kept = reduce(talked, event("conversation.spooled", { spooled: true }));
  assert.equal(kept.spooled, true);
  assert.equal(reduce(kept, event("conversation.spooled", { spooled: false })).spooled, false);
});
