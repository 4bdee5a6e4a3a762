// A server of its own that is killed in the middle of an answer, and what the `Chat` class has when it is back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { KillableServer, until } from "./served.mjs";

const RELEASE = Number(process.env.RELEASE);
const text = (message) => (message?.parts ?? []).filter(({ type }) => type === "text").map(({ text }) => text).join("");

test("an answer goes on after kill -9, and the client has what the log has", async () => {
  const server = await new KillableServer().start();
  try {
    const api = `${server.url}${RELEASE === 5 ? "/ai-sdk/v5/chat" : "/ai-sdk/chat"}`;
    const history = async () => (await fetch(`${api}/killed`)).json();
    const open = (messages = []) => new Chat({ id: "killed", messages, transport: new DefaultChatTransport({ api }) });
    const mine = open();
    const sending = mine.sendMessage({ text: "think\nuse look\ncount 60" });
    await until(() => text(mine.messages[1]).includes("10 11 12"));
    await server.kill();
    await sending;
    assert.equal(mine.status, "error");
    const seen = text(mine.messages[1]);
    await server.start();
    // What the example does: read the history, and resume.
    const back = open(await history());
    assert.ok(text(back.messages[1]).startsWith(seen), "what somebody saw is stored");
    await back.resumeStream();
    await until(async () => (await history())[1]?.metadata.state === "completed");
    const log = await history();
    assert.equal(log.length, 2);
    assert.deepEqual(back.messages.map(text), log.map(text));
    assert.equal(back.messages[1].id, log[1].id);
    assert.match(text(log[1]), /Continue from there/, "which is what the engine says to the model, and this one repeats");
    // The same message again, from a client that does not know that it arrived, is no second question.
    const { id, parts } = mine.messages[0];
    const again = await fetch(api, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: "killed", trigger: "submit-message", messages: [{ id, role: "user", parts }] }),
    });
    assert.match(await again.text(), new RegExp(log[1].id));
    assert.equal((await history()).length, 2);
  } finally {
    await server.kill();
  }
});
