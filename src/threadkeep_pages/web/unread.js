// Which conversations have something that was not seen in this browser: the newest entry that was seen of each is kept here.
// What was last active before somebody came here for the first time counts as seen.

import { signal } from "./preact.js";
import { keep, kept } from "./shelf.js";

const MOST = 1000;

/** @type {Signal<{ since: string, heads: Record<string, number> }>} */
const seen = signal({ since: "", heads: {} });

export function start() {
  seen.value = kept("seen") ?? { since: new Date().toISOString(), heads: {} };
  keep("seen", seen.value);
}

/**
 * @param {string} id
 * @param {number} head
 */
export function markSeen(id, head) {
  const { since, heads } = seen.value;
  if (heads[id] >= head) return;
  const { [id]: _, ...others } = heads;
  seen.value = { since, heads: Object.fromEntries([...Object.entries(others), [id, head]].slice(-MOST)) };
  keep("seen", seen.value);
}

/** @param {About} about */
export function isUnread({ id, head, updated_at }) {
  const { since, heads } = seen.value;
  return head !== null && (id in heads ? head > heads[id] : updated_at > since);
}
