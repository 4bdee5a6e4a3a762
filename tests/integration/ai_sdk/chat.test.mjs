// The `Chat` class of the AI SDK in Node, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "@ai-sdk/react";
import * as ai from "ai";
import { cutting, places, until } from "./served.mjs";

const RELEASE = Number(process.env.RELEASE);
const API = `${process.env.THREADKEEP_URL}${RELEASE === 5 ? "/ai-sdk/v5/chat" : "/ai-sdk/chat"}`;
let chats = 0;
/** Only in some releases: 5 has no approvals, and does not begin a message anew that it resumes after a cut. */
const nothing = () => {};
const [testOld, testNew] = RELEASE === 5 ? [test, nothing] : [nothing, test];

function chat(options = {}) {
  const { id = `chat-${RELEASE}-${Date.now()}-${chats++}`, messages = [], ...more } = options;
  const transport = new ai.DefaultChatTransport({ api: API, ...more.transport });
  delete more.transport;
  const made = new Chat({ id, messages, transport, ...more });
  made.errors = [];
  return made;
}

const history = async (id, query = "") => {
  const answer = await fetch(`${API}/${encodeURIComponent(id)}${query}`);
  assert.equal(answer.status, 200);
  return answer.json();
};

/** What is shown of messages: without what only a live stream knows. */
const shown = (messages) =>
  JSON.parse(JSON.stringify(messages)).map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.map(({ id: part, approval, ...rest }) => {
      if (rest.type === "text") delete rest.state;
      delete rest.title;
      return rest.type.startsWith("data-") ? { id: part, ...rest } : rest;
    }),
  }));

const text = (message) => message.parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
test("a message is sent and answered, and the history is what the client has", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "hello there" });
  assert.equal(mine.status, "ready");
  assert.equal(text(mine.messages[1]), "hello there ");
  assert.match(mine.messages[1].id, /^answer-\d+$/);
  assert.deepEqual(shown(await history(mine.id)), shown(mine.messages));
  const { metadata } = mine.messages[1];
  assert.equal(metadata.model, "obliging");
  assert.equal(metadata.state, "completed");
  assert.deepEqual(metadata.usage, { inputTokens: 10, outputTokens: 2, totalTokens: 12, cachedInputTokens: 0 });
  assert.deepEqual((await history(mine.id))[1].metadata, metadata);
});

test("reasoning, tools, their failures, blocks and sources are parts", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "think\nuse look stumble\ndone" });
  const parts = mine.messages[1].parts.map(({ type }) => type);
  assert.deepEqual(parts, [
    ...["step-start", "reasoning", "text", "tool-look", "tool-stumble", "data-table", "source-document"],
    ...["step-start", "text"],
  ]);
  const look = mine.messages[1].parts.find(({ type }) => type === "tool-look");
  assert.deepEqual(look.output, { seen: "hall 0" });
  const stumble = mine.messages[1].parts.find(({ type }) => type === "tool-stumble");
  assert.equal(stumble.state, "output-error");
  assert.equal(mine.messages[1].parts.find(({ type }) => type === "source-document").title, "map.pdf");
  assert.deepEqual(shown(await history(mine.id)), shown(mine.messages));
});

/** What somebody sees who opens the page anew. */
const reopened = async (id, options = {}) => chat({ id, messages: await history(id), ...options });

const assertIsLog = async (mine) => assert.deepEqual(shown(mine.messages), shown(await history(mine.id)));

test("a conversation goes on, whether the whole list is sent or the last message alone", async () => {
  const last = ({ id, messages }) => ({ body: { id, message: messages.at(-1) } });
  for (const transport of [{}, { prepareSendMessagesRequest: last }]) {
    const mine = chat({ transport });
    for (const said of ["one", "two", "three"]) await mine.sendMessage({ text: said });
    assert.deepEqual(mine.messages.map(text), ["one", "one ", "two", "two ", "three", "three "]);
    await assertIsLog(mine);
  }
});

test("what was said elsewhere before is kept with the first message", async () => {
  const messages = [
    { id: "a", role: "user", parts: [{ type: "text", text: "before" }] },
    { id: "b", role: "assistant", parts: [{ type: "step-start" }, { type: "text", text: "indeed" }] },
  ];
  const mine = chat({ messages });
  await mine.sendMessage({ text: "after" });
  assert.deepEqual((await history(mine.id)).map(text), ["before", "indeed", "after", "after "]);
  await mine.sendMessage({ text: "more" });
  assert.equal((await history(mine.id)).length, 6);
});

test("nothing to resume is 204, for a new chat too", async () => {
  const mine = chat();
  await mine.resumeStream();
  assert.equal(mine.status, "ready");
  await mine.sendMessage({ text: "hello" });
  assert.equal((await fetch(`${API}/${mine.id}/stream`)).status, 204);
  await mine.resumeStream();
  await assertIsLog(mine);
});

test("two clients on one answer have the same parts, and the one that left comes back to it", async () => {
  const mine = chat();
  const sending = mine.sendMessage({ text: "think\nuse look\ncount 60" });
  await until(() => mine.messages[1]?.parts.length > 5);
  const other = await reopened(mine.id);
  await Promise.all([other.resumeStream(), mine.stop()]);
  await sending;
  await assertIsLog(other);
  assert.equal(other.messages.length, 2);
  assert.match(text(other.messages[1]), / 58 59 /);
});

test("an answer that was cut at any byte is whole in the end", async () => {
  for (const bytes of places(3000, 10)) {
    const mine = chat({ transport: { fetch: cutting(bytes) } });
    await mine.sendMessage({ text: "think\nuse look stumble\ncount 8" });
    const back = await reopened(mine.id);
    await back.resumeStream();
    await until(async () => (await fetch(`${API}/${mine.id}/stream`)).status === 204);
    const whole = await history(mine.id);
    if (text(back.messages.at(-1)) === text(whole.at(-1))) await assertIsLog(back);
    else assert.deepEqual(shown((await reopened(mine.id)).messages), shown(whole));
    assert.match(text(whole.at(-1)), / 6 7 /, `${bytes} bytes`);
    assert.equal(whole.length, 2);
  }
});

testNew("a client that was cut, and resumes by itself, has the whole answer", async () => {
  for (const bytes of places(1500, 5)) {
    let cuts = 1;
    const once = (...given) => (cuts-- > 0 ? cutting(bytes) : fetch)(...given);
    const mine = chat({ transport: { fetch: once } });
    // It waits in the end: to an answer that is over, and was sent to its end into the cut, nobody comes back.
    await mine.sendMessage({ text: "think\nuse look stumble\nuse remove" });
    assert.equal(mine.status, "error");
    await mine.resumeStream();
    await assertIsLog(mine);
    assert.equal(waiting(mine).length, 1, `${bytes} bytes`);
  }
});

testNew("an answer that its reader left is replayed though it has ended meanwhile", async () => {
  const mine = chat();
  const sending = mine.sendMessage({ text: "count 60" });
  await until(() => mine.messages[1]?.parts.length > 1);
  await mine.stop();
  await sending;
  await until(async () => text((await history(mine.id))[1]).endsWith("59 "));
  await mine.resumeStream();
  await assertIsLog(mine);
  await until(async () => (await fetch(`${API}/${mine.id}/stream`)).status === 204);
});

test("stop stops the turn, and closing the stream does not", async () => {
  const mine = chat();
  const sending = mine.sendMessage({ text: "count 2000" });
  await until(() => text(mine.messages[1] ?? { parts: [] }).length > 20);
  await mine.stop();
  await sending;
  assert.equal((await fetch(`${API}/${mine.id}/stream`).then((answer) => (answer.body.cancel(), answer))).status, 200);
  const [, snapshot] = mine.messages;
  const stopped = await fetch(`${API}/${mine.id}/stop`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ assistantMessage: snapshot, activeStreamId: null }),
  });
  assert.deepEqual(await stopped.json(), { success: true });
  await until(async () => (await history(mine.id))[1]?.metadata.state === "cancelled");
  const again = await fetch(`${API}/${mine.id}/stop`, { method: "POST" });
  assert.equal(again.status, 200);
  await (await reopened(mine.id)).sendMessage({ text: "next" });
  assert.equal(text((await history(mine.id)).at(-1)), "next ");
});

test("another answer stands beside the first, and both can be shown", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "one" });
  await mine.sendMessage({ text: "two" });
  const first = mine.messages[3];
  await mine.regenerate();
  assert.notEqual(mine.messages[3].id, first.id);
  await assertIsLog(mine);
  await mine.regenerate({ messageId: mine.messages[1].id });
  assert.equal(mine.messages.length, 2);
  await assertIsLog(mine);
  const [, { metadata }] = mine.messages;
  assert.equal(metadata.branches.length, 2);
  assert.ok(metadata.branches.includes(metadata.entry));
  const [older] = metadata.branches;
  const before = await history(mine.id, `?entry=${older}`);
  assert.deepEqual(before.map(text), ["one", "one ", "two", "two "]);
  // Whoever looks at the older branch and goes on there continues it.
  const there = chat({ id: mine.id, messages: before });
  await there.sendMessage({ text: "three" });
  assert.deepEqual((await history(mine.id)).map(text), ["one", "one ", "two", "two ", "three", "three "]);
});

test("an edit is a branch, as often as one likes", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "one" });
  await mine.sendMessage({ text: "two" });
  await mine.sendMessage({ text: "three" });
  const { id } = mine.messages[2];
  for (const said of ["zwei", "deux", "dos"]) {
    await mine.sendMessage({ text: said, messageId: id });
    assert.deepEqual(mine.messages.map(text), ["one", "one ", said, `${said} `]);
    assert.deepEqual((await history(mine.id)).map(text), mine.messages.map(text));
  }
  await mine.regenerate();
  assert.deepEqual((await history(mine.id)).map(text), ["one", "one ", "dos", "dos "]);
  await mine.sendMessage({ text: "more" });
  assert.deepEqual((await history(mine.id)).map(text), ["one", "one ", "dos", "dos ", "more", "more "]);
  const back = await reopened(mine.id);
  assert.equal(back.messages[2].metadata.branches.length, 4);
  await back.sendMessage({ text: "tres", messageId: back.messages[2].id });
  assert.deepEqual((await history(mine.id)).map(text), ["one", "one ", "tres", "tres "]);
  await back.sendMessage({ text: "uno", messageId: back.messages[0].id });
  assert.deepEqual((await history(mine.id)).map(text), ["uno", "uno "]);
});

test("a request that arrives twice is answered once", async () => {
  const body = { id: `twice-${RELEASE}-${Date.now()}`, trigger: "submit-message" };
  const user = (id, said) => ({ id, role: "user", parts: [{ type: "text", text: said }] });
  const post = async (messages, more = {}) => {
    const answer = await fetch(API, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, messages, ...more }),
    });
    assert.equal(answer.status, 200, await (answer.status === 200 ? "" : answer.text()));
    return answer.text();
  };
  const first = user("m1", "one");
  const [told, again] = [await post([first]), await post([first])];
  assert.equal(told.match(/answer-\d+/)[0], again.match(/answer-\d+/)[0]);
  const [, answered] = await history(body.id);
  const second = [first, answered, user("m2", "two")];
  await Promise.all([post(second), post(second), post(second)]);
  assert.equal((await history(body.id)).length, 4);
  const edit = [user("m1", "uno")];
  await Promise.all([post(edit, { messageId: "m1" }), post(edit, { messageId: "m1" })]);
  const edited = await history(body.id);
  assert.deepEqual(edited.map(text), ["uno", "uno "]);
  assert.equal(edited[0].metadata.branches.length, 2);
});

test("an answer that fails is an error, and its history says why", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "fail" });
  assert.equal(mine.status, "error");
  assert.match(mine.error.message, /not in the mood/);
  const [, failed] = await history(mine.id);
  assert.equal(failed.metadata.state, "failed");
  assert.equal(failed.metadata.failure.code, "model_refused");
  await mine.sendMessage({ text: "again" });
  assert.equal(text((await history(mine.id)).at(-1)), "again ");
});

test("files and data of a message are kept", async () => {
  const pixel =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC";
  const mine = chat();
  await mine.sendMessage({
    role: "user",
    parts: [
      { type: "file", mediaType: "image/png", filename: "dot.png", url: pixel },
      { type: "text", text: "look at this" },
      { type: "data-place", data: { page: 3 } },
    ],
  });
  const [asked] = await history(mine.id);
  assert.deepEqual(asked.parts.map(({ type }) => type), ["file", "text", "data-place"]);
  assert.deepEqual(asked.parts[2].data, { page: 3 });
  const kept = await fetch(new URL(asked.parts[0].url, API));
  assert.equal(Buffer.from(await kept.arrayBuffer()).toString("base64"), pixel.split(",")[1]);
  const again = chat();
  await again.sendMessage({ role: "user", parts: [asked.parts[0], { type: "text", text: "once more" }] });
  assert.equal((await history(again.id))[0].parts[0].filename, "dot.png");
});

test("chats are listed and deleted", async () => {
  const id = `a chat/${RELEASE}?${Date.now()}`;
  const mine = chat({ id });
  await mine.sendMessage({ text: "hello" });
  const { chats: listed } = await (await fetch(`${API}?limit=200`)).json();
  assert.ok(listed.length > 1);
  const found = listed.find((each) => each.id === id);
  assert.equal((await history(found.id)).length, 2);
  assert.equal((await fetch(`${API}/${encodeURIComponent(id)}`, { method: "DELETE" })).status, 204);
  assert.equal((await fetch(`${API}/${encodeURIComponent(id)}`)).status, 404);
});

const sendAutomaticallyWhen = ai.lastAssistantMessageIsCompleteWithApprovalResponses;
const waiting = (mine) => mine.messages.at(-1).parts.filter(({ state }) => state === "approval-requested");
const tools = (message) => message.parts.filter(({ toolCallId }) => toolCallId);

testNew("an approval goes on in the same message, without a repeated tool", async () => {
  for (const [calls, approved] of [["remove", true], ["remove", false], ["look remove remove", true], ["look remove", false]]) {
    const mine = chat({ sendAutomaticallyWhen });
    await mine.sendMessage({ text: `think\nuse ${calls}\nuse look\ndone` });
    const asked = waiting(mine);
    assert.equal(asked.length, calls.split(" ").filter((name) => name === "remove").length);
    await assertIsLog(mine);
    for (const part of asked) await mine.addToolApprovalResponse({ id: part.approval.id, approved });
    await until(() => mine.status === "ready" && text(mine.messages[1]).includes("done"));
    assert.equal(mine.messages.length, 2);
    assert.equal(tools(mine.messages[1]).length, calls.split(" ").length + 1);
    assert.deepEqual([...new Set(tools(mine.messages[1]).filter(({ type }) => type === "tool-remove").map(({ state }) => state))], [
      approved ? "output-available" : "output-denied",
    ]);
    await assertIsLog(mine);
  }
});

testNew("an approval survives a reload, resumed or read", async () => {
  for (const resumes of [false, true]) {
    const mine = chat();
    await mine.sendMessage({ text: "use look remove\nuse remove\ndone" });
    for (const _ of [1, 2]) {
      const back = await reopened(mine.id, { sendAutomaticallyWhen });
      if (resumes) await back.resumeStream();
      assert.equal(waiting(back).length, 1);
      await back.addToolApprovalResponse({ id: waiting(back)[0].approval.id, approved: true, reason: "go on" });
      await until(() => back.status === "ready" && tools(back.messages[1]).at(-1).state !== "approval-responded");
      await assertIsLog(back);
    }
    assert.match(text((await history(mine.id))[1]), /done \[.*removed hall 0\]$/);
  }
});

testNew("what somebody decided elsewhere counts", async () => {
  const mine = chat({ sendAutomaticallyWhen });
  await mine.sendMessage({ text: "use remove\ndone" });
  const other = await reopened(mine.id, { sendAutomaticallyWhen });
  await other.addToolApprovalResponse({ id: waiting(other)[0].approval.id, approved: false });
  await until(() => other.status === "ready" && text(other.messages[1]).includes("done"));
  await mine.addToolApprovalResponse({ id: waiting(mine)[0].approval.id, approved: true });
  await until(() => mine.status === "ready" && text(mine.messages[1]).includes("done"));
  await assertIsLog(mine);
  assert.equal(tools(mine.messages[1])[0].state, "output-denied");
});

/** Tools that the page runs: what they do, by their names. */
const running = (does, options = {}) => {
  const tools = { paint: { description: "Paint.", inputSchema: { type: "object", properties: { place: { type: "string" } } } } };
  const mine = chat({
    transport: { body: { tools } },
    sendAutomaticallyWhen: (now) =>
      ai.lastAssistantMessageIsCompleteWithToolCalls(now) || (sendAutomaticallyWhen?.(now) ?? false),
    // Not awaited: the chat takes outputs in turn with its stream.
    onToolCall: ({ toolCall: { toolName: tool, toolCallId, input } }) => {
      if (tool in does) void Promise.resolve(does[tool](input)).then((told) => told && mine.addToolOutput({ tool, toolCallId, ...told }));
    },
    ...options,
  });
  return mine;
};
const painting = { paint: ({ place }) => ({ output: { colour: "green", place } }) };

test("the browser runs its tools, and the answer goes on in the same message", async () => {
  const mine = running(painting);
  await mine.sendMessage({ text: "think\nuse look paint\nuse paint paint\ndone" });
  await until(() => mine.status === "ready" && text(mine.messages[1]).includes("done"));
  assert.equal(mine.messages.length, 2);
  assert.deepEqual(tools(mine.messages[1]).map(({ type, state }) => [type, state]), [
    ...[["tool-paint", "output-available"], ["tool-look", "output-available"]],
    ...[["tool-paint", "output-available"], ["tool-paint", "output-available"]],
  ]);
  assert.match(text(mine.messages[1]), /\{"colour":"green","place":"hall 1"\}/);
  await assertIsLog(mine);
  const broken = running({ paint: () => ({ state: "output-error", errorText: "no paint" }) });
  await broken.sendMessage({ text: "use paint\ndone" });
  await until(() => broken.status === "ready" && text(broken.messages[1]).includes("done"));
  assert.match(text(broken.messages[1]), /no paint/);
  await assertIsLog(broken);
  await broken.regenerate();
  await until(() => broken.status === "ready" && text(broken.messages[1]).includes("done"));
  assert.equal(broken.messages[1].metadata.branches.length, 2);
});

test("a page that is opened while a tool of the browser is awaited runs it, and a result counts once", async () => {
  const mine = running({ paint: () => {} });
  await mine.sendMessage({ text: "use paint\ndone" });
  assert.equal(mine.messages[1].metadata.state, "waiting");
  assert.equal(tools((await history(mine.id))[1])[0].state, "input-available");
  const others = [running(painting, { id: mine.id, messages: await history(mine.id) })];
  others.push(running({ paint: () => ({ output: "red" }) }, { id: mine.id, messages: await history(mine.id) }));
  await Promise.all(others.map((other) => other.resumeStream()));
  for (const other of others) {
    await until(() => other.status === "ready" && text(other.messages[1]).includes("done"));
    await assertIsLog(other);
  }
  // The first page was closed with the call open, and gives its own result when it is back.
  await mine.addToolOutput({ tool: "paint", toolCallId: "paint-0-0", output: "blue" });
  await until(() => mine.status === "ready" && text(mine.messages[1]).includes("done"));
  await assertIsLog(mine);
});

test("who says something else instead of an answer about a call has refused it", async () => {
  for (const call of ["paint", "remove"]) {
    const mine = running({ paint: () => {} });
    await mine.sendMessage({ text: `use ${call}\ndone` });
    assert.equal(mine.messages[1].metadata.state, "waiting");
    await mine.sendMessage({ text: "never mind" });
    assert.equal(text(mine.messages.at(-1)), "never mind ");
    const log = await history(mine.id);
    assert.deepEqual(log.map(text), ["use " + call + "\ndone", "One moment. ", "never mind", "never mind "]);
    assert.match(tools(log[1])[0].state, /output-(error|denied)/);
    assert.equal(log[1].metadata.state, undefined);
    const again = running({ paint: () => {} });
    await again.sendMessage({ text: `use ${call}\ndone` });
    await again.regenerate();
    assert.equal(again.messages[1].metadata.state, "waiting");
    assert.equal(again.messages[1].metadata.branches.length, 2);
    assert.deepEqual((await history(again.id)).map(text), again.messages.map(text));
  }
});

testNew("a tool of the browser and an approval are waited for together", async () => {
  const mine = running(painting);
  await mine.sendMessage({ text: "use look paint remove\ndone" });
  assert.deepEqual(tools(mine.messages[1]).map(({ type }) => type), ["tool-paint", "tool-remove"]);
  await until(() => tools(mine.messages[1])[0].state === "output-available");
  await mine.addToolApprovalResponse({ id: waiting(mine)[0].approval.id, approved: true });
  await until(() => mine.status === "ready" && text(mine.messages[1]).includes("done"));
  assert.deepEqual(tools(mine.messages[1]).map(({ type }) => type), ["tool-paint", "tool-remove", "tool-look"]);
  await assertIsLog(mine);
});

testOld("a client without approvals is told of them as data", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "use remove\ndone" });
  const asked = mine.messages[1].parts.find(({ type }) => type === "data-approval");
  assert.equal(asked.data.state, "asked");
  assert.equal(mine.messages[1].metadata.state, "waiting");
  const [{ toolCallId }] = tools(mine.messages[1]);
  const decided = await fetch(`${process.env.THREADKEEP_URL}/v1/conversations/${mine.id}/approve`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ tool_call_id: toolCallId, approved: true }),
  });
  assert.equal(decided.status, 200);
  const back = await reopened(mine.id);
  await back.resumeStream();
  await until(async () => text((await history(mine.id))[1]).includes("done"));
});
