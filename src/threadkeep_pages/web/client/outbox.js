// Messages on their way to the server. Each is kept before anything is sent and forgotten when the server has it; its key
// makes the server take it once, however often it is sent. They go in order; one that cannot go holds back those of its
// conversation, and no others.

import { Unreachable, newKey } from "./http.js";

const LONGEST_WAIT = 15_000;

/**
 * A message on its way. `state` is waiting, stale (the conversation moved on) or refused; `problem` says why.
 * @typedef {{ key: string, at: number, state: "waiting" | "stale" | "refused", conversation: string, problem?: string,
 *   head?: number | null, [more: string]: any }} Item
 */

/**
 * Where messages are kept: `all` returns them, `keep` returns whether that was possible.
 * @typedef {{ all: () => Item[], keep: (item: Item) => boolean, drop: (key: string) => void }} Store
 */

/** Keeps messages as long as the process lives. @returns {Store} */
export function inMemory() {
  /** @type {Map<string, Item>} */
  const items = new Map();
  return {
    all: () => [...items.values()],
    keep: (item) => Boolean(items.set(item.key, item)),
    drop: (key) => items.delete(key),
  };
}

/**
 * Keeps messages in a browser, under names that begin so.
 * @param {string} [prefix]
 * @param {Storage} [storage]
 * @returns {Store}
 */
export function inStorage(prefix = "threadkeep.outbox.", storage = globalThis.localStorage) {
  return {
    all: () =>
      Object.keys(storage)
        .filter((name) => name.startsWith(prefix))
        .map((name) => JSON.parse(storage.getItem(name) ?? "null"))
        .filter(Boolean),
    keep: (item) => {
      try {
        storage.setItem(prefix + item.key, JSON.stringify(item));
        return true;
      } catch {
        return false; // full, or not allowed
      }
    },
    drop: (key) => storage.removeItem(prefix + key),
  };
}

export class Outbox {
  /** @type {Item[]} oldest first */
  items = [];
  #last = 0;
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pausing;
  /** @type {Promise<void> | null} */
  #flushing = null;
  #isAsked = false; // something may wait that was not looked at yet

  /**
   * `send` sends one message and throws what the server says; `alone` runs work while nobody else who shares the store
   * does; `onItems` is told of every change, `onTrouble` why the last try failed ("" when it did not), `isMended` is
   * asked about a refusal, and returns true if the message shall be looked at again.
   * @param {{
   *   send: (item: Item) => Promise<unknown>,
   *   store?: Store,
   *   alone?: (work: () => Promise<void>) => Promise<void>,
   *   onItems?: (items: Item[]) => void,
   *   onTrouble?: (trouble: string) => void,
   *   isMended?: (item: Item, error: any) => boolean,
   *   refused?: (item: Item, error: any) => Partial<Item>,
   * }} how
   */
  constructor({
    send,
    store = inMemory(),
    alone = (work) => work(),
    onItems = () => {},
    onTrouble = () => {},
    isMended = () => false,
    refused = () => ({}),
  }) {
    this.send = send;
    this.store = store;
    this.alone = alone;
    this.onItems = onItems;
    this.onTrouble = onTrouble;
    this.isMended = isMended;
    this.refused = refused;
  }

  /** @param {Item[]} items */
  #are(items) {
    this.items = items;
    this.onItems(items);
  }

  /** Reads what is kept, as after a start or when another tab has changed it. */
  read() {
    this.#are(this.store.all().sort((one, other) => one.at - other.at));
  }

  /** @param {Item} item */
  write(item) {
    const stays = this.store.keep(item);
    this.read();
    // A browser that keeps nothing still sends: the message lives in this tab alone.
    if (!stays) this.#are([...this.items.filter((other) => other.key !== item.key), item]);
  }

  /** @param {{ key: string }} item */
  remove({ key }) {
    this.store.drop(key);
    this.#are(this.items.filter((other) => other.key !== key));
  }

  /**
   * Takes a message in; its fields are what `send` gets.
   * @param {{ conversation: string, [more: string]: any }} message
   */
  add(message) {
    this.#last = Math.max(Date.now(), this.#last + 1);
    /** @type {Item} */
    const item = { key: newKey(), at: this.#last, state: "waiting", ...message };
    this.write(item);
    this.flush();
    return item;
  }

  /**
   * Sends a message after all, as at another place or without an expectation.
   * @param {Item} item
   * @param {Partial<Item>} [change]
   */
  release(item, change = {}) {
    this.write({ ...item, state: "waiting", problem: undefined, ...change });
    this.flush();
  }

  /** Tries at once instead of waiting. */
  hurry() {
    this.#failures = 0;
    clearTimeout(this.#pausing);
    this.#pausing = undefined;
    this.flush();
  }

  /** Sends what waits; the promise is kept when nothing does, or something went wrong. */
  flush() {
    this.#isAsked = true;
    if (this.#pausing) return this.#flushing;
    this.#flushing ??= this.alone(() => this.#sendAll())
      .catch(() => {
        this.#isAsked = false;
      })
      .finally(() => {
        this.#flushing = null;
        if (this.#isAsked) this.flush();
      });
    return this.#flushing;
  }

  async #sendAll() {
    const stuck = new Set();
    for (;;) {
      this.#isAsked = false;
      this.read();
      for (const item of this.items) if (item.state !== "waiting") stuck.add(item.conversation);
      const next = this.items.find((item) => !stuck.has(item.conversation));
      if (!next) return;
      try {
        await this.send(next);
        this.remove(next);
        this.#failures = 0;
        this.onTrouble("");
      } catch (error) {
        if (error instanceof Unreachable || error.isPassing) return this.#pause(error);
        if (error.status === 401) return;
        if (!this.isMended(next, error)) this.#refuse(next, error);
      }
    }
  }

  #refuse(item, error) {
    const state = error.code === "stale_head" ? "stale" : "refused";
    // The message may have been moved to another conversation meanwhile.
    const present = this.items.find((other) => other.key === item.key) ?? item;
    this.write({ ...present, ...this.refused(present, error), state, problem: error.message, head: error.head });
  }

  #pause(error) {
    this.onTrouble(error.message);
    const wait = Math.max(Math.min(LONGEST_WAIT, 500 * 2 ** this.#failures), (error.retryAfter ?? 0) * 1000);
    this.#failures += 1;
    this.#pausing = setTimeout(() => {
      this.#pausing = undefined;
      this.flush();
    }, wait);
  }
}
