// A stream of server-sent events that comes back by itself. It reads with fetch, because EventSource hides status codes;
// after a break it goes on behind the last event that was seen, so nothing is missed and nothing comes twice.

import { Unreachable, needsKey, problemOf } from "./api.js";
import { signal } from "./preact.js";
import { ROOT } from "./router.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const SILENCE = 40_000; // the server says something every 15 s
const DOUBT = 18_000; // after so much silence a page that wakes up does not trust the connection

/** @type {[EventTarget, string][]} after these a connection is worth a look */
const WAKING = [
  [window, "online"],
  [window, "pageshow"],
  [document, "visibilitychange"],
];

export class Stream {
  // `onEvent(name, data, cursor)` gets every event, `onOpen(again)` is told of each connection, `onEnd(problem)` when the server
  // says that coming back is no use.
  /**
   * @param {string} path
   * @param {{
   *   cursor?: string,
   *   onEvent: (name: string, data: any, cursor: string | undefined) => void,
   *   onOpen?: (again: boolean) => void,
   *   onEnd?: (problem: any) => void,
   * }} how
   */
  constructor(path, { cursor, onEvent, onOpen = () => {}, onEnd = () => {} }) {
    this.path = path;
    this.cursor = cursor;
    this.listener = { onEvent, onOpen, onEnd };
    /** @type {Signal<{ state: "connecting" | "live" | "waiting" | "stopped", at?: number }>} `at`: until when it waits */
    this.status = signal({ state: "connecting" });
    this.failures = 0;
    this.heardAt = 0;
    this.wake = () => {};
    this.onWake = () => this.#wakeUp();
    for (const [target, name] of WAKING) target.addEventListener(name, this.onWake);
    this.#run();
  }

  stop() {
    this.status.value = { state: "stopped" };
    for (const [target, name] of WAKING) target.removeEventListener(name, this.onWake);
    this.connection?.abort();
    this.wake();
  }

  // Tries at once instead of waiting.
  hurry() {
    this.wake();
  }

  #wakeUp() {
    if (document.hidden) return;
    if (this.status.value.state === "live" && Date.now() - this.heardAt > DOUBT) this.connection?.abort();
    this.wake();
  }

  get isStopped() {
    return this.status.value.state === "stopped";
  }

  async #run() {
    let again = false;
    while (!this.isStopped) {
      try {
        await this.#connect(again, (this.connection = new AbortController()));
      } catch (error) {
        if (this.isStopped) return;
        const refused = error.status && !error.isPassing;
        if (refused) {
          this.stop();
          this.listener.onEnd(error);
          return;
        }
        this.retryAfter = (error.retryAfter ?? 0) * 1000;
      }
      if (this.isStopped) return;
      again = true;
      await this.#pause();
    }
  }

  /**
   * @param {boolean} again
   * @param {AbortController} connection
   */
  async #connect(again, connection) {
    /** @type {Record<string, string>} */
    const headers = { Accept: "text/event-stream" };
    if (this.cursor) headers["Last-Event-ID"] = this.cursor;
    this.heardAt = Date.now();
    const watch = setInterval(() => {
      if (Date.now() - this.heardAt > SILENCE) connection.abort();
    }, 5000);
    try {
      const response = await fetch(ROOT + this.path, { headers, signal: connection.signal, cache: "no-store" });
      if (!response.ok) throw await problemOf(response);
      if (this.isStopped || !response.body) return;
      this.status.value = { state: "live" };
      this.listener.onOpen(again);
      await this.#read(response.body.pipeThrough(new TextDecoderStream()).getReader());
    } finally {
      clearInterval(watch);
    }
  }

  async #read(reader) {
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.isStopped) return;
      this.heardAt = Date.now();
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) this.#take(part);
    }
  }

  #take(text) {
    const fields = {};
    for (const line of text.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
    }
    if (!fields.event) return;
    this.failures = 0;
    const data = JSON.parse(fields.data);
    if (fields.event === "error") {
      if (data.code === "not_authenticated") needsKey.value = true;
      const lasting = ["not_authenticated", "conversation_not_found", "invalid_cursor"].includes(data.code);
      throw Object.assign(new Unreachable(data.detail), lasting ? { status: 400, code: data.code } : {});
    }
    this.listener.onEvent(fields.event, data, fields.id);
    if (fields.id) this.cursor = fields.id;
  }

  // Waits longer after each failure, with some chance in it so that many pages do not come back at the same moment.
  async #pause() {
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.failures) * (0.75 + Math.random() / 2);
    this.failures += 1;
    const delay = Math.max(wait, this.retryAfter ?? 0);
    this.retryAfter = 0;
    this.status.value = { state: "waiting", at: Date.now() + delay };
    await /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const timer = setTimeout(resolve, delay);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      })
    );
    this.wake = () => {};
    if (!this.isStopped) this.status.value = { state: "connecting" };
  }
}
