// Entries that shall not be recalled for the next answer of a conversation.

import { signal } from "./preact.js";

export class LeftOut {
  /** @type {Signal<number[]>} */
  entries = signal([]);

  /** Leave an entry out, or take that back. */
  change(entry, isOut) {
    const others = this.entries.value.filter((one) => one !== entry);
    this.entries.value = isOut ? [...others, entry] : others;
  }

  /** Return what a request says of them, once. */
  take() {
    const entries = this.entries.value;
    this.entries.value = [];
    return entries.length ? { without_recall: entries.map((entry) => ({ entry })) } : {};
  }
}
