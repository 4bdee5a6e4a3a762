// What somebody has begun to write and attached, for each conversation; it survives closing the tab.

import { signal } from "./preact.js";
import { drop, keep, kept } from "./shelf.js";

const name = (conversation) => `draft.${conversation ?? "new"}`;

export const draftOf = (conversation) => kept(name(conversation), "");

export function keepDraft(conversation, text) {
  if (text) keep(name(conversation), text);
  else drop(name(conversation));
}

/** @type {Signal<Record<string, Attached[]>>} */
const attached = signal({});

/**
 * @param {string | null} conversation
 * @returns {Attached[]}
 */
export function attachedTo(conversation) {
  const place = `attached.${conversation ?? "new"}`;
  return attached.value[place] ?? kept(place, []);
}

/**
 * @param {string | null} conversation
 * @param {Attached[]} list
 */
export function keepAttached(conversation, list) {
  const place = `attached.${conversation ?? "new"}`;
  if (list.length) keep(place, list);
  else drop(place);
  attached.value = { ...attached.value, [place]: list };
}
