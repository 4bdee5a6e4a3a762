// A server of its own that is killed in the middle of an answer, and what the client has when it is back.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { HttpAgent } from "@ag-ui/client";

const { PYTHON, ROOT, STORE } = process.env;
console.error = () => {};

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Start a server that writes slowly, and wait until it listens. */
async function start(port) {
  const program = spawn(PYTHON, ["-m", "tests.integration.obliging", STORE, String(port), "0.01"], { cwd: ROOT });
  await once(createInterface(program.stdout), "line");
  return program;
}

class Returning extends HttpAgent {
  connect(input) {
    const there = this.clone();
    there.url = `${this.url}/connect`;
    return there.run(input);
  }
}

const until = async (holds) => {
  while (!(await holds())) await new Promise((go) => setTimeout(go, 5));
};

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
  const port = await freePort();
  const server = `http://127.0.0.1:${port}`;
  let program = await start(port);
  try {
    const agent = new Returning({ url: `${server}/ag-ui/helper`, threadId: "killed", fetch: ending });
    const text = () => String(agent.messages.at(-1)?.content ?? "");
    agent.addMessage({ id: "q", role: "user", content: "think\nuse look\ncount 60" });
    const asking = agent.runAgent({ runId: "first" }).catch(() => {});
    await until(() => text().includes("10 11 12"));
    program.kill("SIGKILL");
    await once(program, "exit");
    await asking;
    const seen = agent.messages.at(-1);
    program = await start(port);
    // The same run again is no second question.
    await agent.runAgent({ runId: "first" });
    assert.ok(agent.messages.find(({ id }) => id === seen.id).content.startsWith(seen.content));
    assert.match(text(), /Continue from there/, "which is what the engine says to the model, and this one repeats");
    const { messages } = await (await fetch(`${server}/v1/conversations/killed`)).json();
    const logged = messages.filter(({ role }) => role === "user" || role === "assistant");
    const said = agent.messages.filter(({ role }) => role === "user" || role === "assistant");
    assert.deepEqual(said.map(({ id, content }) => [id, content]), logged.map(({ id, content }) => [id, content]));
    assert.equal(logged.filter(({ role }) => role === "user").length, 1);
    const other = new Returning({ url: agent.url, threadId: "killed" });
    await other.connectAgent();
    assert.deepEqual(other.messages, agent.messages);
  } finally {
    program.kill("SIGKILL");
  }
});
