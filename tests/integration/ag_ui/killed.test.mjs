// A server of its own that is killed in the middle of an answer, and what the client has when it is back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { KillableServer, until } from "./served.mjs";

console.error = () => {};

class Returning extends HttpAgent {
  connect(input) {
    const there = this.clone();
    there.url = `${this.url}/connect`;
    return there.run(input);
  }
}

/** A `fetch` whose streams end quietly with their server: the client rejects a promise that nobody holds otherwise. */
const ending = async (address, init) => {
  const answer = await fetch(address, init);
  const body = ReadableStream.from((async function* () {
    try {
      for await (const chunk of answer.body) yield chunk;
    } catch {}
  })());
  return new Response(body, { status: answer.status, headers: answer.headers });
};

test("an answer goes on after kill -9, and the client has what the log has", async () => {
  const server = await new KillableServer().start();
  try {
    const agent = new Returning({ url: `${server.url}/ag-ui/helper`, threadId: "killed", fetch: ending });
    const text = () => String(agent.messages.at(-1)?.content ?? "");
    agent.addMessage({ id: "q", role: "user", content: "think\nuse look\ncount 60" });
    const asking = agent.runAgent({ runId: "first" }).catch(() => {});
    await until(() => text().includes("10 11 12"));
    await server.kill();
    await asking;
    const seen = agent.messages.at(-1);
    await server.start();
    // The same run again is no second question.
    await agent.runAgent({ runId: "first" });
    assert.ok(agent.messages.find(({ id }) => id === seen.id).content.startsWith(seen.content));
    assert.match(text(), /Continue from there/, "which is what the engine says to the model, and this one repeats");
    const { messages } = await (await fetch(`${server.url}/v1/conversations/killed`)).json();
    const logged = messages.filter(({ role }) => role === "user" || role === "assistant");
    const said = agent.messages.filter(({ role }) => role === "user" || role === "assistant");
    assert.deepEqual(said.map(({ id, content }) => [id, content]), logged.map(({ id, content }) => [id, content]));
    assert.equal(logged.filter(({ role }) => role === "user").length, 1);
    const other = new Returning({ url: agent.url, threadId: "killed" });
    await other.connectAgent();
    assert.deepEqual(other.messages, agent.messages);
  } finally {
    await server.kill();
  }
});
