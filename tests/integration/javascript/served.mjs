// What tests of clients share that run in Node: waiting, streams that are cut, and a server that can be killed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";

/** Wait until something holds. */
export const until = async (holds) => {
  while (!(await holds())) await new Promise((go) => setTimeout(go, 5));
};

/** A `fetch` whose streams are cut after so many bytes, as a network does it; without an error they end. */
export const cutting = (bytes, error = new TypeError("network error")) => async (address, init) => {
  const answer = await fetch(address, init);
  let left = bytes;
  const cut = new TransformStream({
    transform(chunk, to) {
      if (left > 0) to.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) error ? to.error(error) : to.terminate();
    },
  });
  return new Response(answer.body?.pipeThrough(cut) ?? null, { status: answer.status, headers: answer.headers });
};

/** Where streams of so many bytes are cut: at a few random places, or at as many as the environment says. */
export const places = (bytes, few) =>
  Array.from({ length: Number(process.env.THREADKEEP_CUTS ?? few) }, () => 1 + Math.floor(Math.random() * bytes));

/** A server of its own on a store, that writes slowly: `start` it, wait for that, and `kill` it. */
export class KillableServer {
  async start() {
    this.port ??= await freePort();
    const { PYTHON, ROOT, STORE } = process.env;
    const words = ["-m", "tests.integration.obliging", STORE, String(this.port), "0.01"];
    this.program = spawn(PYTHON, words, { cwd: ROOT });
    await once(createInterface(this.program.stdout), "line");
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async kill() {
    if (this.program.exitCode !== null || this.program.signalCode !== null) return;
    this.program.kill("SIGKILL");
    await once(this.program, "exit");
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}
