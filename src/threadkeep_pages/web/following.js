// Follows the log of one conversation while somebody looks. Events are handed on some ten times a second, so that a fast
// answer does not slow the page down; a tab that nobody looks at gives its connection back, because browsers allow six per server.

import { signal } from "./preact.js";
import { Stream } from "./stream.js";

const HIDDEN_FOR = 10_000;
const EVERY = 90; // milliseconds; what comes after a pause is handed on in the next frame
const LATEST = 200; // after that, without a frame

export class Following {
  #path;
  #listener;
  /** @type {ConversationEvent[]} */
  #events = [];
  #handed = 0; // when
  /** @type {number | undefined} */
  #handing;
  #hasRested = false;
  /** @type {number | undefined} */
  #hiding;
  #onVisibility = () => this.#visibility();

  /**
   * `onEvents` gets what came since the last time, `onOpen` is told of each connection and whether it is one of several,
   * `onEnd` when the server says that coming back is no use.
   * @param {string} path
   * @param {{ onEvents: (events: ConversationEvent[]) => void, onOpen: (isAgain: boolean) => void,
   *   onEnd: (problem: any) => void }} listener
   */
  constructor(path, listener) {
    this.#path = path;
    this.#listener = listener;
    /** @type {Signal<Stream | null>} */
    this.stream = signal(null);
    document.addEventListener("visibilitychange", this.#onVisibility);
    this.#visibility(); // it may have been opened in the background
  }

  /** @param {string | undefined} cursor */
  follow(cursor) {
    this.stream.value?.stop();
    this.stream.value = new Stream(this.#path, {
      cursor,
      onEvent: (name, data, place) => this.#receive({ name, data, cursor: place, at: Date.now() }),
      onOpen: (again) => {
        this.#listener.onOpen(again || this.#hasRested);
        this.#hasRested = false;
      },
      onEnd: this.#listener.onEnd,
    });
  }

  close() {
    document.removeEventListener("visibilitychange", this.#onVisibility);
    clearTimeout(this.#hiding);
    this.stream.value?.stop();
  }

  #visibility() {
    clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = setTimeout(() => this.#rest(), HIDDEN_FOR);
    else if (this.#hasRested) this.follow(this.stream.value?.cursor);
  }

  #rest() {
    const stream = this.stream.value;
    if (!stream) this.#visibility(); // it is still loading
    else if (!stream.isStopped) {
      stream.stop();
      this.#hasRested = true;
    }
  }

  #receive(event) {
    this.#events.push(event);
    if (this.#events.length > 1) return;
    const wait = Math.max(this.#handed + EVERY - performance.now(), 0);
    // Hidden pages get no frames.
    this.#handing = setTimeout(() => this.#hand(), wait + (document.hidden ? 0 : LATEST));
    if (document.hidden) return;
    if (wait) setTimeout(() => requestAnimationFrame(() => this.#hand()), wait);
    else requestAnimationFrame(() => this.#hand());
  }

  #hand() {
    clearTimeout(this.#handing);
    if (!this.#events.length) return;
    const events = this.#events;
    this.#events = [];
    this.#handed = performance.now();
    this.#listener.onEvents(events);
  }
}
