// `CopilotKitCore` in Node, as a page has it, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./served.mjs";

globalThis.window = globalThis; // without one it does nothing
console.error = () => {};
const { CopilotKitCore, ɵcreateThreadStore: createThreadStore } = await import("@copilotkit/core");

const RUNTIME = `${process.env.THREADKEEP_URL}/copilotkit`;
const { TRANSPORT } = process.env;
let threads = 0;

/** A page: its core, and the agent of one thread. */
async function page(threadId = `kit-${TRANSPORT}-${Date.now()}-${threads++}`, { tools = [], agentId = "helper" } = {}) {
  const kit = new CopilotKitCore({ runtimeUrl: RUNTIME, runtimeTransport: TRANSPORT, tools });
  const errors = [];
  kit.subscribe({ onError: ({ error }) => void errors.push(error) });
  await until(() => kit.agents?.[agentId]);
  const agent = kit.getAgent(agentId);
  agent.threadId = threadId;
  const ends = [];
  agent.subscribe({ onRunFinishedEvent: ({ outcome }) => void ends.push(outcome) });
  return { kit, agent, errors, ends };
}

async function say({ kit, agent }, content, more = {}) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  await kit.runAgent({ agent, ...more });
}

async function reopened({ agent }, options) {
  const other = await page(agent.threadId, options);
  await other.kit.connectAgent({ agent: other.agent });
  return other;
}

const text = ({ agent }) => agent.messages.filter(({ role }) => role === "assistant").at(-1)?.content ?? "";

test("the server says which agents there are", async () => {
  const { kit } = await page();
  assert.deepEqual(Object.keys(kit.agents).sort(), ["default", "helper", "other"]);
});

test("a thread is whole on another page, without a runtime beside the server", async () => {
  const first = await page();
  await say(first, "think\nuse look stumble\ndone");
  await say(first, "and more");
  const second = await reopened(first);
  assert.deepEqual(second.agent.messages, first.agent.messages);
  assert.equal(second.agent.messages.filter(({ role }) => role === "user").length, 2);
  await say(second, "yet more");
  await second.kit.connectAgent({ agent: second.agent });
  assert.deepEqual((await reopened(second)).agent.messages, second.agent.messages);
  assert.deepEqual([...first.errors, ...second.errors], []);
});

test("a page that is opened while an answer is written gets the whole of it, and may go on", async () => {
  const first = await page();
  const asking = say(first, "think\nuse look\ncount 80");
  await until(() => text(first).length > 20);
  const second = await page(first.agent.threadId);
  const watching = second.kit.connectAgent({ agent: second.agent });
  await until(() => text(second).length > text({ agent: { messages: [] } }).length);
  await Promise.all([asking, watching]);
  assert.match(text(second), / 78 79 /);
  assert.deepEqual(second.agent.messages, first.agent.messages);
});

test("tools of the page run, and the answer goes on with what they gave", async () => {
  const tools = [{ name: "paint", description: "Paint.", handler: async ({ place }) => `green ${place}` }];
  const first = await page(undefined, { tools });
  await say(first, "use look paint\ndone");
  assert.match(text(first), /done .*\[green hall 1\]/);
  assert.deepEqual((await reopened(first)).agent.messages, first.agent.messages);
  assert.deepEqual(first.errors, []);
});

test("a question that a tool of the page asks is asked again on the next page", async () => {
  const ask = (handler) => [{ name: "ask", description: "Ask.", type: "human-in-the-loop", handler }];
  let isAsked = false;
  const first = await page(undefined, { tools: ask(() => ((isAsked = true), new Promise(() => {}))) });
  void say(first, "use ask\ndone");
  await until(() => isAsked);
  const second = await reopened(first, { tools: ask(async ({ place }) => `yes, ${place}`) });
  await until(() => text(second).includes("[yes, hall 0]"));
  await until(() => !second.agent.isRunning);
  assert.deepEqual((await reopened(first)).agent.messages, second.agent.messages);
});

test("an approval waits for a page, and any of them may give it", async () => {
  const first = await page();
  await say(first, "use remove\ndone");
  assert.deepEqual(first.ends, ["interrupt"]);
  const second = await reopened(first);
  assert.deepEqual(second.ends, ["interrupt"]);
  const [{ id: interruptId }] = second.agent.pendingInterrupts;
  const resume = [{ interruptId, status: "resolved", payload: { approved: true } }];
  await second.kit.runAgent({ agent: second.agent, resume });
  assert.match(text(second), /removed hall 0/);
  assert.deepEqual((await reopened(first)).agent.messages, second.agent.messages);
});

test("stop stops the answer", async () => {
  const first = await page();
  const asking = say(first, "count 4000");
  await until(() => text(first).length > 20);
  first.kit.stopAgent({ agent: first.agent });
  await asking;
  const second = await reopened(first);
  assert.match(text(second), /^0 1 2 /);
  assert.doesNotMatch(text(second), /3999/);
  await say(second, "next");
  assert.equal(text(second), "next ");
});

test("another answer and an edit are branches", async () => {
  const first = await page();
  await say(first, "one");
  await say(first, "two");
  const old = first.agent.messages.at(-1).id;
  first.agent.setMessages(first.agent.messages.slice(0, 3));
  await first.kit.runAgent({ agent: first.agent });
  assert.notEqual(first.agent.messages.at(-1).id, old);
  first.agent.setMessages(first.agent.messages.slice(0, 2));
  await say(first, "deux");
  const contents = ({ agent }) => agent.messages.map(({ content }) => content.trim());
  assert.deepEqual(contents(first), ["one", "one", "deux", "deux"]);
  assert.deepEqual(contents(await reopened(first)), contents(first));
});

test("threads are listed by pages, renamed, archived, brought back and deleted", async () => {
  const pages = [await page(), await page(`kit/${TRANSPORT} ${Date.now()}?`), await page(undefined, { agentId: "other" })];
  for (const each of pages) await say(each, "hello");
  const [{ agent, kit }, odd, others] = pages;
  const store = createThreadStore({ fetch: kit.ɵruntimeFetch });
  store.start();
  const shown = () => store.getState().threads.map(({ id }) => id);
  store.setContext({ runtimeUrl: RUNTIME, headers: {}, agentId: "helper", limit: 1 });
  await until(() => shown().length === 1);
  while (!shown().includes(agent.threadId) || !shown().includes(odd.agent.threadId)) {
    store.fetchNextPage();
    await until(() => !store.getState().isFetchingNextPage);
  }
  assert.ok(!shown().includes(others.agent.threadId));
  for (const { threadId } of [agent, odd.agent]) {
    await store.renameThread(threadId, "Holidays");
    await store.archiveThread(threadId);
  }
  store.setContext({ runtimeUrl: RUNTIME, headers: {}, agentId: "default", limit: 200, includeArchived: true });
  await until(() => !store.getState().isLoading);
  const found = (id) => store.getState().threads.find((each) => each.id === id);
  assert.deepEqual([found(agent.threadId).name, found(agent.threadId).archived], ["Holidays", true]);
  assert.equal(found(others.agent.threadId).agentId, "other");
  await store.unarchiveThread(agent.threadId);
  await store.deleteThread(odd.agent.threadId);
  await assert.rejects(store.deleteThread("nowhere"));
  store.refetchThreads();
  await until(() => !store.getState().isLoading);
  assert.equal(found(agent.threadId).archived, false);
  assert.equal(found(odd.agent.threadId), undefined);
  store.stop();
});
