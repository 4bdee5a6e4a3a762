// An open conversation as one value that follows its log: for a page, or a hook of a view library. What a conversation
// looks like after an event stands in `reducer.js`.

import { Unreachable } from "./http.js";
import { EMPTY, reduce } from "./reducer.js";
import { Stream } from "./stream.js";

/** @typedef {import("./index.js").RemoteConversation} RemoteConversation */

const AGAIN = 2000;

export class View {
  #state = EMPTY;
  /** @type {Set<() => void>} */
  #readers = new Set();
  /** @type {Stream | null} */
  #stream = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;
  #isOpen = false;

  /** @param {RemoteConversation} conversation */
  constructor(conversation) {
    this.conversation = conversation;
  }

  /** What is known now; another value after each change. */
  get state() {
    return this.#state;
  }

  /** Calls `reader` after each change, until the function that is returned is called; opened by the first. */
  subscribe = (/** @type {() => void} */ reader) => {
    this.#readers.add(reader);
    if (!this.#isOpen) this.open();
    return () => {
      this.#readers.delete(reader);
      if (!this.#readers.size) this.close();
    };
  };

  open() {
    this.#isOpen = true;
    this.#load();
  }

  close() {
    this.#isOpen = false;
    clearTimeout(this.#again);
    this.#stream?.stop();
    this.#stream = null;
  }

  /**
   * Changes what is known as an event does: one of the server, or one of the page's own.
   * @param {string} name
   * @param {any} data
   */
  change(name, data = {}) {
    const next = reduce(this.#state, { name, data, at: Date.now() });
    if (next === this.#state) return;
    this.#state = next;
    for (const reader of this.#readers) reader();
  }

  async #load() {
    try {
      const page = await this.conversation.read();
      if (!this.#isOpen) return;
      this.change("page.shown", { page });
      this.#follow(page.cursor);
    } catch (error) {
      if (!this.#isOpen) return;
      const mayPass = error instanceof Unreachable || error.isPassing;
      this.change("phase.changed", { phase: mayPass ? "away" : "gone" });
      if (mayPass) this.#again = setTimeout(() => this.#load(), AGAIN);
    }
  }

  /** @param {string} cursor */
  #follow(cursor) {
    this.#stream = new Stream(this.conversation.http, this.conversation.opened(), {
      cursor,
      onEvent: ({ type, ...data }) => this.change(type, data),
      onOpen: (isAgain) => this.change("stream.opened", { isAgain }),
      onEnd: ({ code }) => (code === "invalid_cursor" ? this.#load() : this.change("phase.changed", { phase: "gone" })),
    });
  }

  /** Loads the page of messages before the oldest one, if there is one. */
  async older() {
    const { before } = this.#state;
    if (before) this.change("page.older", await this.conversation.read({ before }));
  }

  /**
   * Sends a message that continues what is shown.
   * @param {string | Record<string, unknown>[]} content
   * @param {import("./index.js").Sending} [how]
   */
  send(content, how = {}) {
    this.change("message.sent", { parent: how.parent, content });
    return this.conversation.send(content, how);
  }
}
