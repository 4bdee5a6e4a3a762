// `AssistantCloud` in Node, with the `Chat` class of the AI SDK for turns, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "@ai-sdk/react";
import { AssistantCloud, CloudMessagePersistence, createFormattedPersistence, generateThreadTitle } from "assistant-cloud";
import { aiSDKV6FormatAdapter } from "assistant-cloud/ai-sdk";
import { DefaultChatTransport } from "ai";

const URL_OF_SERVER = process.env.THREADKEEP_URL;
const baseUrl = `${URL_OF_SERVER}/assistant-ui`;
const cloud = new AssistantCloud({ baseUrl, anonymous: true });
const { threads } = cloud;

const thread = async (fields = {}) => (await threads.create({ last_message_at: new Date(), ...fields })).thread_id;
const chat = (id, messages = [], options = {}) =>
  new Chat({ id, messages, transport: new DefaultChatTransport({ api: `${URL_OF_SERVER}/ai-sdk/chat`, ...options }) });
const text = (message) => message.parts.filter(({ type }) => type === "text").map((part) => part.text).join("");
const saved = (persistence = new CloudMessagePersistence(cloud)) => createFormattedPersistence(persistence, aiSDKV6FormatAdapter);
/** What the runtime of assistant-ui does after every answer: it keeps all that it shows. */
async function keep(id, messages, history) {
  let parentId = null;
  for (const message of messages) {
    if (!history.isPersisted(message.id)) await history.append(id, { parentId, message });
    parentId = message.id;
  }
}
const stored = async (id) => (await threads.messages.list(id, { format: "ai-sdk/v6", limit: 200 })).messages;
const native = async (id) => (await fetch(`${URL_OF_SERVER}/v1/conversations/${id}`)).json();

test("threads are made, listed, changed and deleted", async () => {
  const id = await thread({ title: "First", metadata: { color: "red" }, external_id: "theirs-1" });
  const made = await threads.get(id);
  assert.deepEqual([made.title, made.external_id, made.is_archived], ["First", "theirs-1", false]);
  assert.deepEqual(made.metadata, { color: "red" });
  await threads.update(id, { title: "Renamed" });
  await threads.update(id, { metadata: { color: "blue" } });
  await threads.update(id, { is_archived: true, last_message_at: new Date() });
  const changed = await threads.get(id);
  assert.deepEqual([changed.title, changed.external_id, changed.is_archived], ["Renamed", "theirs-1", true]);
  assert.deepEqual(changed.metadata, { color: "blue" });
  assert.ok((await threads.list({ is_archived: true })).threads.some((each) => each.id === id));
  assert.ok(!(await threads.list()).threads.some((each) => each.id === id));
  await threads.update(id, { metadata: null, is_archived: false });
  assert.deepEqual((await threads.get(id)).metadata, {});
  assert.equal((await native(id)).title, "Renamed");
  await threads.delete(id);
  await assert.rejects(threads.get(id), { status: 404, code: "conversation_not_found" });
  await assert.rejects(threads.list({ after: id }), { status: 404 });
});

test("the list goes on behind the last thread of a page, to its end", async () => {
  const made = [];
  for (let number = 0; number < 23; number++) made.push(await thread({ title: `Page ${number}` }));
  const found = [];
  let after;
  for (;;) {
    const page = (await threads.list({ limit: 5, ...(after ? { after } : {}) })).threads;
    found.push(...page.map(({ id }) => id));
    if (page.length < 5) break;
    after = page.at(-1).id;
  }
  assert.equal(new Set(found).size, found.length);
  assert.deepEqual(found.filter((id) => made.includes(id)), made.reverse());
});

test("what was answered here is not stored again, and loads as the client had it", async () => {
  const id = await thread();
  const [mine, history] = [chat(id), saved()];
  for (const said of ["think\nuse look\nhello", "and more"]) {
    await mine.sendMessage({ text: said });
    const before = (await native(id)).messages;
    await keep(id, mine.messages, history);
    await history.update(id, { parentId: mine.messages.at(-2).id, message: mine.messages.at(-1) }, mine.messages.at(-1).id);
    assert.deepEqual((await native(id)).messages, before);
  }
  const loaded = (await saved().load(id)).messages;
  assert.deepEqual(loaded.map(({ message }) => message.id), mine.messages.map((message) => message.id));
  assert.deepEqual(loaded.map(({ parentId }) => parentId), [null, ...mine.messages.slice(0, 3).map((message) => message.id)]);
  assert.deepEqual(loaded.map(({ message }) => text(message)), mine.messages.map(text));
  assert.equal(loaded[1].message.parts.find(({ type }) => type === "tool-look").state, "output-available");
});

test("a new thread is answered by the assistant that its first message names", async () => {
  const id = await thread();
  const greeting = { id: "greeting", role: "assistant", parts: [{ type: "text", text: "Welcome" }] };
  const mine = chat(id, [greeting], { body: { assistant: "other" } });
  await mine.sendMessage({ text: "hello" });
  assert.equal((await native(id)).assistant, "other");
  assert.deepEqual((await native(id)).messages.map(({ content }) => content), ["Welcome", "hello", "hello "]);
});

test("edits and other answers are branches, which load with their parents", async () => {
  const id = await thread();
  const [mine, history] = [chat(id), saved()];
  const edit = async (at, said) => {
    mine.messages = mine.messages.slice(0, at);
    await mine.sendMessage({ text: said });
    await keep(id, mine.messages, history);
  };
  await edit(0, "one");
  await edit(2, "two");
  await edit(2, "zwei");
  await mine.regenerate();
  await keep(id, mine.messages, history);
  await edit(0, "uno");
  const loaded = (await saved().load(id)).messages;
  const said = new Map(loaded.map(({ message }) => [message.id, text(message)]));
  const tree = loaded.map(({ message, parentId }) => [parentId && said.get(parentId), said.get(message.id)]);
  assert.deepEqual(tree, [
    [null, "one"],
    ["one", "one "],
    ["one ", "two"],
    ["two", "two "],
    ["one ", "zwei"],
    ["zwei", "zwei "],
    ["zwei", "zwei "],
    [null, "uno"],
    ["uno", "uno "],
  ]);
  // Somebody who goes on at an older branch continues it, and that one is loaded last.
  const older = loaded.slice(0, 4).map(({ message }) => message);
  const there = chat(id, older);
  await there.sendMessage({ text: "three" });
  const again = (await saved().load(id)).messages;
  assert.equal(again.length, 11);
  assert.equal(again.at(-1).message.id, there.messages.at(-1).id);
  assert.equal(again.at(-2).parentId, older.at(-1).id);
});

test("pages of messages are as long as was asked, and miss none", async () => {
  const id = await thread();
  const mine = chat(id);
  for (let number = 0; number < 6; number++) await mine.sendMessage({ text: `say ${number}` });
  const found = [];
  for (let after; ; after = found.at(-1).id) {
    const page = (await threads.messages.list(id, { format: "ai-sdk/v6", limit: 5, ...(after ? { after } : {}) })).messages;
    assert.ok(page.length <= 5);
    found.push(...page);
    if (page.length < 5) break;
  }
  assert.deepEqual(found.map((each) => each.id).reverse(), mine.messages.map((message) => message.id));
});

test("what was answered elsewhere is kept as it came, once, and read by everybody", async () => {
  const id = await thread();
  const said = (role, words) => ({ role, content: [{ type: "text", text: words }], metadata: { custom: {} } });
  const create = (parent_id, content) => threads.messages.create(id, { parent_id, format: "aui/v0", content });
  const { message_id: question } = await create(null, said("user", "Where are zebras?"));
  const { message_id: again } = await create(null, said("user", "Where are zebras?"));
  assert.equal(again, question);
  const call = { type: "tool-call", toolCallId: "c1", toolName: "look", args: { place: "hall" } };
  const paused = { ...said("assistant", "In the hall."), content: [call], status: { type: "requires-action", reason: "tool-calls" } };
  const { message_id: answer } = await create(question, paused);
  const whole = { ...said("assistant", "In the hall."), status: { type: "complete", reason: "stop" } };
  for (const _ of [1, 2]) await threads.messages.update(id, answer, { content: whole });
  const { message_id: next } = await create(answer, said("user", "Thanks."));
  await threads.messages.update(id, answer, { content: { ...whole, metadata: { custom: { seen: true } } } });
  const rows = (await threads.messages.list(id, { format: "aui/v0" })).messages;
  assert.deepEqual(rows.map((row) => [row.id, row.parent_id]), [[next, answer], [answer, question], [question, null]]);
  assert.deepEqual(rows[1].content, { ...whole, metadata: { custom: { seen: true } } });
  assert.deepEqual(rows[2].content, said("user", "Where are zebras?"));
  assert.deepEqual((await native(id)).messages.map((each) => each.content), ["Where are zebras?", "In the hall.", "Thanks."]);
  const { data } = await (await fetch(`${URL_OF_SERVER}/v1/search?q=zebras`)).json();
  assert.ok(data.length > 0);
  // The AI SDK goes on where it ended.
  const { messages } = await saved().load(id);
  const mine = chat(id, messages.map(({ message }) => message));
  await mine.sendMessage({ text: "once more" });
  assert.equal((await threads.messages.list(id, { format: "aui/v0" })).messages.length, 5);
});

test("answers of ours are told in assistant-ui's own form too", async () => {
  const id = await thread();
  await chat(id).sendMessage({ text: "think\nuse look stumble\ndone" });
  const [answer, question] = (await threads.messages.list(id, { format: "aui/v0" })).messages;
  assert.deepEqual(question.content.content, [{ type: "text", text: "think\nuse look stumble\ndone" }]);
  assert.deepEqual(answer.content.status, { type: "complete", reason: "stop" });
  const types = answer.content.content.map(({ type }) => type);
  assert.deepEqual(types.slice(0, 4), ["reasoning", "text", "tool-call", "tool-call"]);
  assert.deepEqual(answer.content.content[2].result, { seen: "hall 0" });
  assert.equal(answer.content.content[3].isError, true);
});

test("a thread gets its title from the conversation, or from its first words", async () => {
  const answered = await thread();
  await chat(answered).sendMessage({ text: "Holidays in Norway" });
  const title = await generateThreadTitle(cloud, { threadId: answered, messages: [] });
  assert.equal(title, "Holidays in Norway");
  const silent = await thread();
  const messages = [{ role: "user", content: [{ type: "text", text: "Please compare phones. Soon." }] }];
  assert.equal(await generateThreadTitle(cloud, { threadId: silent, messages }), "Compare phones");
  assert.equal((await threads.get(silent)).title, "Compare phones");
});

test("feedback is kept with the message", async () => {
  const id = await thread();
  const mine = chat(id);
  await mine.sendMessage({ text: "hello" });
  const given = await threads.messages.feedback(id, mine.messages[1].id, { type: "negative", comment: "too short" });
  assert.equal(given.type, "negative");
  const { messages } = await native(id);
  assert.deepEqual([messages[1].feedback.rating, messages[1].feedback.comment], ["down", "too short"]);
  await assert.rejects(threads.messages.feedback(id, "answer-999", { type: "positive" }), { status: 404 });
});

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC",
  "base64",
);

test("a file is uploaded to a signed address, sent, and shown at one", async () => {
  const place = await cloud.files.generatePresignedUploadUrl({ filename: "dot.png" });
  const put = await fetch(place.signedUrl, { method: "PUT", body: PIXEL, headers: { "content-type": "image/png" } });
  assert.equal(put.status, 204);
  assert.equal((await fetch(place.signedUrl, { method: "PUT", body: PIXEL })).status, 409);
  assert.equal((await fetch(place.signedUrl)).status, 404);
  const seen = async (address) => Buffer.from(await (await fetch(address)).arrayBuffer());
  assert.deepEqual(await seen(place.publicUrl), PIXEL);
  const id = await thread();
  const [mine, history] = [chat(id), saved()];
  const file = { type: "file", mediaType: "image/png", filename: "dot.png", url: place.publicUrl };
  for (const said of ["look", "look again"]) await mine.sendMessage({ role: "user", parts: [file, { type: "text", text: said }] });
  const before = (await native(id)).messages.length;
  await keep(id, mine.messages, history);
  assert.equal((await native(id)).messages.length, before);
  const rows = await stored(id);
  const shown = rows.at(-1).content.parts[0];
  assert.equal(shown.filename, "dot.png");
  const answer = await fetch(shown.url);
  assert.equal(answer.headers.get("content-type"), "image/png");
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), PIXEL);
  for (const body of [{ key: place.key }, { url: place.publicUrl }, { url: shown.url }]) {
    assert.deepEqual(await seen((await cloud.files.generatePresignedDownloadUrl(body)).signedUrl), PIXEL);
  }
  await assert.rejects(cloud.files.generatePresignedDownloadUrl({ url: place.signedUrl }), { status: 404 });
  const forged = `${shown.url.slice(0, -4)}AAAA`;
  assert.equal((await fetch(forged)).status, 404);
});

test("a file in a message that was answered elsewhere is kept with it", async () => {
  const place = await cloud.files.generatePresignedUploadUrl({ filename: "dot.png" });
  await fetch(place.signedUrl, { method: "PUT", body: PIXEL });
  const id = await thread();
  const image = { type: "image", image: place.publicUrl };
  const attachments = [{ id: "a", type: "image", name: "dot.png", status: { type: "complete" }, content: [image] }];
  const content = { role: "user", content: [{ type: "text", text: "look" }], attachments, metadata: { custom: {} } };
  await threads.messages.create(id, { parent_id: null, format: "aui/v0", content });
  assert.equal((await native(id)).messages[0].parts.find(({ type }) => type === "image").name, "dot.png");
  const [row] = (await threads.messages.list(id, { format: "aui/v0" })).messages;
  const shown = await fetch(row.content.attachments[0].content[0].image);
  assert.deepEqual(Buffer.from(await shown.arrayBuffer()), PIXEL);
});

test("telemetry is taken and thrown away", async () => {
  const id = await thread();
  const { run_id } = await cloud.runs.report({ thread_id: id, status: "completed", output_text: "secret" });
  assert.ok(run_id);
  const events = { events: [{ kind: "message_sent", thread_id: id }] };
  const taken = await fetch(`${baseUrl}/v1/events`, { method: "POST", body: JSON.stringify(events) });
  assert.equal(taken.status, 204);
  assert.equal((await native(id)).messages.length, 0);
});
