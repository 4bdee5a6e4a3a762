// Which conversations are pinned or in a folder. It is kept in this browser, and the other tabs are told.

import { signal } from "./preact.js";
import { keep, kept, onChange } from "./shelf.js";

const MOST = 200;

/** @type {Signal<Record<string, { pinned?: boolean, folder?: string }>>} */
export const filing = signal({});

export function start() {
  const read = () => (filing.value = kept("filing", {}));
  read();
  onChange("filing", read);
}

/**
 * Pins a conversation, or puts it into a folder; what is left empty is taken away.
 * @param {string} id
 * @param {{ pinned?: boolean, folder?: string }} change
 */
export function file(id, change) {
  const { [id]: before, ...others } = filing.value;
  const now = { ...before, ...change };
  const isNothing = !now.pinned && !now.folder;
  filing.value = isNothing ? others : Object.fromEntries([...Object.entries(others), [id, now]].slice(-MOST));
  keep("filing", filing.value);
}
