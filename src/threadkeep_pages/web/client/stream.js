// A stream of server-sent events that comes back by itself. It reads with fetch, because EventSource hides status codes;
// after a break it goes on behind the last event that was seen, so nothing is missed and nothing comes twice.

import { Unreachable } from "./http.js";

/** @typedef {import("./http.js").Http} Http */
/** @typedef {{ state: "connecting" | "live" | "waiting" | "stopped", at?: number }} Status `at`: until when it waits */
/** @typedef {(cursor: string | undefined, signal: AbortSignal) => Promise<Response>} Open */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const SILENCE = 40_000; // the server says something every 15 s
const DOUBT = 18_000; // after so much silence a page that wakes up does not trust the connection
const LASTING = new Set(["not_authenticated", "conversation_not_found", "invalid_cursor"]);
export const EVENTS = { Accept: "text/event-stream" };

/** @type {[EventTarget, string][]} after these a connection is worth a look */
const WAKING =
  typeof document === "undefined"
    ? []
    : [
        [window, "online"],
        [window, "pageshow"],
        [document, "visibilitychange"],
      ];

/**
 * How a stream is opened at an address.
 * @param {Http} http
 * @param {string} path
 * @returns {Open}
 */
export const opened = (http, path) => (cursor, signal) =>
  http.request("GET", path, {
    headers: cursor ? { ...EVENTS, "Last-Event-ID": cursor } : EVENTS,
    patience: 0,
    signal,
  });

export class Stream {
  /** @type {Status} */
  now = { state: "connecting" };
  failures = 0;
  heardAt = 0;
  retryAfter = 0;
  /** @type {AbortController | undefined} */
  connection;

  /**
   * `onEvent` gets every event, `onOpen` is told of each connection and whether it is one of several, `onEnd` when the
   * server says that coming back is no use.
   * @param {Http} http
   * @param {Open} open
   * @param {{
   *   cursor?: string,
   *   onEvent: (event: any, cursor: string | undefined) => void,
   *   onOpen?: (again: boolean) => void,
   *   onEnd?: (problem: any) => void,
   *   onStatus?: (status: Status) => void,
   * }} how
   */
  constructor(http, open, { cursor, onEvent, onOpen = () => {}, onEnd = () => {}, onStatus = () => {} }) {
    this.http = http;
    this.open = open;
    this.cursor = cursor;
    this.listener = { onEvent, onOpen, onEnd, onStatus };
    this.wake = () => {};
    this.onWake = () => this.#wakeUp();
    for (const [target, name] of WAKING) target.addEventListener(name, this.onWake);
    this.#run();
  }

  stop() {
    this.#is({ state: "stopped" });
    for (const [target, name] of WAKING) target.removeEventListener(name, this.onWake);
    this.connection?.abort();
    this.wake();
  }

  /** Tries at once instead of waiting. */
  hurry() {
    this.wake();
  }

  get isStopped() {
    return this.now.state === "stopped";
  }

  /** @param {Status} status */
  #is(status) {
    this.now = status;
    this.listener.onStatus(status);
  }

  #wakeUp() {
    if (document.hidden) return;
    if (this.now.state === "live" && Date.now() - this.heardAt > DOUBT) this.connection?.abort();
    this.wake();
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
    this.heardAt = Date.now();
    const watch = setInterval(() => {
      if (Date.now() - this.heardAt > SILENCE) connection.abort();
    }, 5000);
    try {
      const response = await this.open(this.cursor, connection.signal);
      if (!response.ok) throw await this.http.problemOf(response);
      if (this.isStopped || !response.body) return;
      this.#is({ state: "live" });
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

  /** @param {string} text */
  #take(text) {
    /** @type {Record<string, string>} */
    const fields = {};
    for (const line of text.split("\n")) {
      const colon = line.indexOf(":");
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
    }
    if (!fields.event || this.isStopped) return;
    this.failures = 0;
    const data = JSON.parse(fields.data);
    if (fields.event === "error") {
      throw Object.assign(new Unreachable(data.detail), LASTING.has(data.code) ? { status: 400, code: data.code } : {});
    }
    this.listener.onEvent({ ...data, type: fields.event }, fields.id);
    if (fields.id) this.cursor = fields.id;
  }

  // Waits longer after each failure, with some chance in it so that many pages do not come back at the same moment.
  async #pause() {
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.failures) * (0.75 + Math.random() / 2);
    this.failures += 1;
    const delay = Math.max(wait, this.retryAfter);
    this.retryAfter = 0;
    this.#is({ state: "waiting", at: Date.now() + delay });
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
    if (!this.isStopped) this.#is({ state: "connecting" });
  }
}

/**
 * The events of a stream, to be iterated. Leaving the loop ends it; `until` says of an event whether it is the last.
 * @template Event
 * @param {Http} http
 * @param {Open} open
 * @param {{ cursor?: string, signal?: AbortSignal, until?: (event: Event) => boolean }} [how]
 * @returns {AsyncGenerator<Event & { cursor?: string }, void, void>}
 */
export async function* events(http, open, { cursor, signal, until = () => false } = {}) {
  /** @type {(Event & { cursor?: string })[]} */
  const waiting = [];
  /** @type {any} */
  let failure = null;
  let wake = () => {};
  const stream = new Stream(http, open, {
    cursor,
    onEvent: (event, place) => {
      waiting.push(place ? { ...event, cursor: place } : event);
      wake();
    },
    onEnd: (problem) => {
      failure = problem;
      wake();
    },
  });
  const leave = () => {
    stream.stop();
    wake();
  };
  signal?.addEventListener("abort", leave);
  try {
    for (;;) {
      if (signal?.aborted) return;
      for (let event = waiting.shift(); event; event = waiting.shift()) {
        yield event;
        if (until(event)) return;
      }
      if (failure) throw failure;
      if (!waiting.length && !signal?.aborted)
        await /** @type {Promise<void>} */ (new Promise((done) => (wake = done)));
    }
  } finally {
    signal?.removeEventListener("abort", leave);
    stream.stop();
  }
}
