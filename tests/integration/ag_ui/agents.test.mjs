// `HttpAgent` of AG-UI in Node, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { cutting, places, until } from "./served.mjs";

const SERVER = process.env.THREADKEEP_URL;
const API = `${SERVER}/ag-ui/helper`;
let threads = 0;
console.error = () => {}; // the client tells there of every cut

/** What an app writes that wants to come back to a thread. */
class Returning extends HttpAgent {
  connect(input) {
    const there = this.clone();
    there.url = `${this.url}/connect`;
    return there.run(input);
  }
}

function open(options = {}) {
  const agent = new Returning({ url: API, threadId: `thread-${Date.now()}-${threads++}`, ...options });
  agent.events = [];
  agent.ends = [];
  agent.subscribe({
    onEvent: ({ event }) => void agent.events.push(event),
    onRunFinishedEvent: ({ outcome, pendingToolCallIds }) => void agent.ends.push({ outcome, pendingToolCallIds }),
    onRunErrorEvent: ({ event }) => void agent.ends.push({ outcome: "error", ...event }),
  });
  return agent;
}

async function say(agent, content, parameters = {}) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  await agent.runAgent(parameters);
  return agent.ends.at(-1);
}

/** Somebody else who opens the thread and stays until nothing runs. */
async function reopened(agent, options = {}) {
  const other = open({ threadId: agent.threadId, ...options });
  await other.connectAgent();
  return other;
}

/** What the native API has of the thread: what people and assistants said on its branch. */
async function logged(agent) {
  const answer = await fetch(`${SERVER}/v1/conversations/${agent.threadId}?limit=200`);
  const { messages } = await answer.json();
  return messages.filter(({ role }) => role !== "tool").map(({ role, content }) => [role, content]);
}

const said = (agent) =>
  agent.messages
    .filter(({ role }) => role === "user" || role === "assistant")
    .map(({ role, content }) => [role, content ?? ""]);

async function assertIsLog(agent) {
  assert.deepEqual(said(agent), await logged(agent));
  assert.deepEqual(agent.messages, (await reopened(agent)).messages);
}

const idle = (agent) =>
  until(async () => {
    const { turns } = await (await fetch(`${SERVER}/v1/conversations/${agent.threadId}`)).json();
    return turns.length === 0;
  });
const text = (agent) => said(agent).at(-1)[1];

/** The error of a cut stream: by this name, as the client rejects a promise that nobody holds when it has another. */
const CUT = new DOMException("cut", "AbortError");

test("a message is answered, and the client has what the log has", async () => {
  const agent = open();
  assert.deepEqual(await say(agent, "hello there"), { outcome: "success", pendingToolCallIds: [] });
  assert.deepEqual(said(agent), [["user", "hello there"], ["assistant", "hello there "]]);
  const [started, ...others] = agent.events;
  assert.equal(started.protocolVersion, "1.0");
  const finished = others.at(-1);
  assert.deepEqual(finished.metadata.threadkeep, { turn: 1, state: "completed" });
  assert.equal(finished.usage[0].model, "obliging");
  assert.equal(finished.usage[0].totalTokens, 12);
  await assertIsLog(agent);
});

test("reasoning, tools, their failures and blocks are told live as in a snapshot", async () => {
  const agent = open();
  await say(agent, "think\nuse look stumble\ndone");
  const roles = ["user", "reasoning", "assistant", "tool", "tool", "activity", "activity", "assistant"];
  assert.deepEqual(agent.messages.map(({ role }) => role), roles);
  // Calls run side by side: whichever ends first is told first.
  const [failed, seen] = agent.messages.slice(3, 5).map(({ content }) => content).sort((one) => (one.includes("fell") ? -1 : 1));
  assert.deepEqual(JSON.parse(seen), { seen: "hall 0" });
  assert.match(failed, /fell in hall 1/);
  assert.deepEqual(agent.messages.slice(5, 7).map(({ activityType }) => activityType), ["table", "citation"]);
  const steps = agent.events.filter(({ type }) => type === "STEP_STARTED");
  assert.deepEqual(steps.map(({ stepName }) => stepName), ["model call 1", "model call 2"]);
  await assertIsLog(agent);
});

test("a transcript that is sent again whole is stored once, and one message alone goes on as well", async () => {
  const agent = open();
  for (const each of ["one", "two", "three"]) await say(agent, each);
  assert.equal((await logged(agent)).length, 6);
  assert.ok(!agent.events.some(({ type }) => type === "MESSAGES_SNAPSHOT"), "it had everything");
  const alone = open({ threadId: agent.threadId });
  await say(alone, "four");
  assert.deepEqual(said(alone).map(([, each]) => each.trim()), ["one", "one", "two", "two", "three", "three", "four", "four"]);
  await assertIsLog(alone);
});

test("what was said elsewhere before is kept with the first message", async () => {
  const initialMessages = [
    { id: "a", role: "user", content: "before" },
    { id: "b", role: "assistant", content: "indeed" },
  ];
  const agent = open({ initialMessages });
  await say(agent, "after");
  await say(agent, "more");
  assert.deepEqual(said(agent).map(([, each]) => each.trim()), ["before", "indeed", "after", "after", "more", "more"]);
  await assertIsLog(agent);
  agent.setMessages(agent.messages.slice(0, 1));
  await agent.runAgent();
  assert.deepEqual(said(agent), [["user", "before"], ["assistant", "before "]]);
  await assertIsLog(agent);
});

test("one run that arrives twice is answered once, and another run answers again", async () => {
  const agent = open();
  agent.addMessage({ id: "q", role: "user", content: "count 20" });
  const twins = [open({ threadId: agent.threadId }), open({ threadId: agent.threadId }), agent];
  for (const twin of twins) twin.setMessages([{ id: "q", role: "user", content: "count 20" }]);
  await Promise.all(twins.map((twin) => twin.runAgent({ runId: "first" })));
  await agent.runAgent({ runId: "first" });
  assert.equal((await logged(agent)).length, 2);
  for (const twin of twins) assert.deepEqual(said(twin), await logged(agent));
  const [, answer] = agent.messages;
  agent.setMessages(agent.messages.slice(0, 1));
  await Promise.all([agent.runAgent({ runId: "second" }), twins[0].runAgent({ runId: "second" })]);
  assert.equal(agent.messages.length, 2);
  assert.notEqual(agent.messages[1].id, answer.id);
  await assertIsLog(agent);
  const { messages } = await (await fetch(`${SERVER}/v1/conversations/${agent.threadId}`)).json();
  assert.equal(messages.at(-1).siblings.length, 2, "both answers are there");
});

test("an edit is a branch, under a new id or under the old one", async () => {
  const agent = open();
  for (const each of ["one", "two", "three"]) await say(agent, each);
  agent.setMessages(agent.messages.slice(0, 2));
  await say(agent, "zwei");
  assert.deepEqual((await logged(agent)).map(([, each]) => each.trim()), ["one", "one", "zwei", "zwei"]);
  await assertIsLog(agent);
  agent.setMessages([...agent.messages.slice(0, 2), { ...agent.messages[2], content: "deux" }]);
  await agent.runAgent();
  assert.deepEqual((await logged(agent)).map(([, each]) => each.trim()), ["one", "one", "deux", "deux"]);
  await say(agent, "trois");
  assert.deepEqual((await logged(agent)).map(([, each]) => each.trim()), ["one", "one", "deux", "deux", "trois", "trois"]);
});

test("whoever missed an answer gets it with the next, in the order of the log", async () => {
  const agent = open();
  await say(open({ threadId: agent.threadId, initialMessages: [] }), "think\nfirst");
  const [question] = (await reopened(agent)).messages;
  agent.setMessages([question]);
  await say(agent, "second");
  assert.deepEqual(said(agent).map(([, each]) => each.trim()), ["think\nfirst", "first", "second", "second"]);
  await assertIsLog(agent);
});

test("an interrupt is answered by resume: approved, refused, cancelled, and after a reload", async () => {
  const answers = [
    [{ status: "resolved", payload: { approved: true } }, /removed hall 1/],
    [{ status: "resolved", payload: { approved: false, reason: "too late" } }, /too late/],
    [{ status: "cancelled" }, /cancelled/],
  ];
  for (const [answer, expected] of answers) {
    const first = open();
    const end = await say(first, "use look remove\ndone");
    assert.equal(end.outcome, "interrupt");
    const agent = await reopened(first);
    assert.deepEqual(agent.pendingInterrupts, first.pendingInterrupts);
    assert.equal(agent.pendingInterrupts.length, 1);
    const [{ id, toolCallId }] = agent.pendingInterrupts;
    assert.ok(agent.messages.some(({ toolCalls }) => toolCalls?.some((call) => call.id === toolCallId)));
    await agent.runAgent({ resume: [{ interruptId: id, ...answer }] });
    assert.deepEqual(agent.pendingInterrupts, []);
    assert.match(text(agent), expected);
    await assertIsLog(agent);
    // The other tab answers as well, which changes nothing.
    await first.runAgent({ resume: [{ interruptId: id, ...answer }] });
    assert.deepEqual(first.messages, agent.messages);
  }
});

test("a run that does not fit the interrupts of its thread is refused, and stores nothing", async () => {
  const agent = open();
  await say(agent, "use remove\ndone");
  const [{ id }] = agent.pendingInterrupts;
  const before = await logged(agent);
  const other = open({ threadId: agent.threadId });
  assert.equal((await say(other, "something else")).code, "invalid_value");
  for (const [interruptId, payload] of [["other", { approved: true }], [id, "yes"], [id, { approved: true, editedArgs: {} }]]) {
    other.setMessages(agent.messages);
    await other.runAgent({ resume: [{ interruptId, status: "resolved", payload }] });
    assert.equal(other.ends.at(-1).code, "invalid_value");
  }
  assert.deepEqual(await logged(agent), before);
});

const tools = [{ name: "paint", description: "Paint.", parameters: { type: "object", properties: { place: { type: "string" } } } }];

test("a tool that the client runs goes on with its result, and without one when something else is said", async () => {
  const agent = open();
  const end = await say(agent, "use paint paint\ndone", { tools });
  assert.equal(end.outcome, "success");
  assert.equal(end.pendingToolCallIds.length, 2);
  for (const toolCallId of end.pendingToolCallIds)
    agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content: `green ${toolCallId}` });
  await agent.runAgent({ tools });
  assert.match(text(agent), /done \[green paint.*\]\[green paint.*\]/);
  assert.equal(agent.messages.filter(({ role }) => role === "tool").length, 2);
  await assertIsLog(agent);
  await say(agent, "use paint\ndone again", { tools });
  await say(agent, "never mind", { tools });
  assert.equal(text(agent), "never mind ");
  await assertIsLog(agent);
});

test("an answer that was cut at any byte is whole in the end, by connecting or by running again", async () => {
  const cuts = places(3500, 24).map((at, number) => [at, number % 3]);
  while (cuts.length) await Promise.all(cuts.splice(0, 24).map(assertWhole));
});

/** Cut an answer, and get it in one of three ways: connect behind a quiet end or an error, or run again. */
async function assertWhole([at, way]) {
  const agent = open({ fetch: cutting(at, way > 0 ? CUT : null) });
  const asking = say(agent, "think\nuse look stumble\ncount 40");
  await asking.catch(() => {});
  agent.fetch = fetch;
  agent.isRunning = false;
  if (way < 2) await agent.connectAgent();
  else await agent.runAgent({ runId: agent.events[0]?.runId });
  await idle(agent);
  assert.match(text(agent), / 38 39 /, `${at} bytes`);
  assert.equal((await logged(agent)).length, 3);
  await assertIsLog(agent);
}

test("two tabs have the same, and what the second says while the first waits is answered behind it", async () => {
  const agent = open();
  const asking = say(agent, "think\nuse look\ncount 60");
  await until(() => agent.messages.length > 3);
  const other = open({ threadId: agent.threadId });
  const watching = other.connectAgent();
  await until(() => other.messages.length > 3);
  const third = open({ threadId: agent.threadId, initialMessages: agent.messages });
  const queueing = say(third, "and then");
  await Promise.all([asking, watching, queueing]);
  assert.match(text(agent), / 58 59 /);
  for (const tab of [other, third]) {
    assert.deepEqual(said(tab).slice(-2), [["user", "and then"], ["assistant", "and then "]]);
    await assertIsLog(tab);
  }
});

test("leaving does not stop an answer, and stopping does", async () => {
  const agent = open();
  const asking = say(agent, "count 4000");
  await until(() => said(agent).length > 1 && text(agent).length > 20);
  agent.abortRun();
  await asking;
  const other = open({ threadId: agent.threadId });
  const watching = other.connectAgent();
  await until(() => said(other).length > 1 && text(other).length > text(agent).length);
  const stopped = await fetch(`${API}/stop/${agent.threadId}`, { method: "POST" });
  assert.deepEqual(await stopped.json(), { stopped: true });
  await watching;
  assert.equal(other.ends.at(-1).outcome, "cancelled");
  await assertIsLog(other);
  assert.equal((await fetch(`${API}/stop/${agent.threadId}`, { method: "POST" })).status, 200);
  await say(other, "next");
  assert.equal(text(other), "next ");
});

test("an answer that fails ends in an error, and the thread goes on", async () => {
  const agent = open();
  const end = await say(agent, "fail");
  assert.equal(end.outcome, "error");
  assert.equal(end.code, "model_refused");
  assert.match(end.message, /not in the mood/);
  await say(agent, "again");
  assert.equal(text(agent), "again ");
  assert.equal((await reopened(agent)).ends.at(-1).outcome, "success");
});

test("the state that tools keep is told, and that of a client stays its own until then", async () => {
  const agent = open({ initialState: { own: true } });
  await say(agent, "hello");
  assert.deepEqual(agent.state, { own: true });
  await say(agent, "use note\nuse look\nuse look note\ndone");
  assert.deepEqual(agent.state, { place: "hall 1" });
  const told = agent.events.filter(({ type }) => type.startsWith("STATE")).map(({ type }) => type);
  assert.deepEqual(told, ["STATE_SNAPSHOT", "STATE_DELTA"]);
  assert.deepEqual((await reopened(agent)).state, agent.state);
});

test("files, and what the app says beside the conversation, are kept", async () => {
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC";
  const agent = open();
  const image = { type: "image", source: { type: "data", value: pixel, mimeType: "image/png" }, metadata: { filename: "dot.png" } };
  const context = [{ description: "page", value: "prices" }];
  await say(agent, [{ type: "text", text: "look" }, image], { context });
  await say(agent, "and now", { context });
  const { messages } = await reopened(agent);
  const [words, shown] = messages[0].content;
  assert.deepEqual(words, { type: "text", text: "look" });
  assert.equal(shown.metadata.filename, "dot.png");
  const kept = await fetch(new URL(shown.source.value, API));
  assert.equal(Buffer.from(await kept.arrayBuffer()).toString("base64"), pixel);
  const { messages: stored } = await (await fetch(`${SERVER}/v1/conversations/${agent.threadId}`)).json();
  const told = stored.map(({ parts }) => (parts ?? []).filter(({ type }) => type === "data").length);
  assert.deepEqual(told, [1, 0, 0, 0], "what did not change is not kept again");
});
