// The `Chat` class of the AI SDK in Node, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "@ai-sdk/react";
import * as ai from "ai";

const RELEASE = Number(process.env.RELEASE);
const API = `${process.env.THREADKEEP_URL}${RELEASE === 5 ? "/ai-sdk/v5/chat" : "/ai-sdk/chat"}`;
let chats = 0;

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
const until = async (holds) => {
  while (!(await holds())) await new Promise((go) => setTimeout(go, 10));
};

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

test("reasoning, tools, their failures and blocks are parts", async () => {
  const mine = chat();
  await mine.sendMessage({ text: "think\nuse look stumble\ndone" });
  const parts = mine.messages[1].parts.map(({ type }) => type);
  assert.deepEqual(parts, [
    ...["step-start", "reasoning", "text", "tool-look", "tool-stumble", "data-table", "data-citation"],
    ...["step-start", "text"],
  ]);
  const look = mine.messages[1].parts.find(({ type }) => type === "tool-look");
  assert.deepEqual(look.output, { seen: "hall 0" });
  const stumble = mine.messages[1].parts.find(({ type }) => type === "tool-stumble");
  assert.equal(stumble.state, "output-error");
  assert.deepEqual(shown(await history(mine.id)), shown(mine.messages));
});
