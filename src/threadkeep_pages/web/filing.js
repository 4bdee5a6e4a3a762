// Which conversations are in a folder. It is kept in this browser, and the other tabs are told.

import { signal } from "./preact.js";
import { keep, kept, onChange } from "./shelf.js";

const MOST = 200;

/** @type {Signal<Record<string, { folder?: string }>>} */
export const filing = signal({});

export function start() {
  const read = () => (filing.value = kept("filing", {}));
  read();
  onChange("filing", read);
}

/**
 * Puts a conversation into a folder; one without a name takes it out.
 * @param {string} id
 * @param {{ folder: string }} place
 */
export function file(id, { folder }) {
  const { [id]: _, ...others } = filing.value;
  filing.value = folder ? Object.fromEntries([...Object.entries(others), [id, { folder }]].slice(-MOST)) : others;
  keep("filing", filing.value);
}
