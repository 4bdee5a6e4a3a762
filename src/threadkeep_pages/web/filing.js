// Folders of the list. A conversation says itself in which one it is; what an earlier version of the page kept in this browser is
// taken along once.

import { change, conversations } from "./conversations.js";
import { drop, kept } from "./shelf.js";

export async function start() {
  for (const [id, { folder }] of Object.entries(kept("filing", {}))) if (folder) await file(id, folder);
  drop("filing");
}

/**
 * Puts a conversation into a folder; one without a name takes it out.
 * @param {string} id
 * @param {string} folder
 */
export const file = (id, folder) => change(id, { folder });

/** The folders that there are, as far as their conversations are loaded. */
export const folders = () => [...new Set(conversations.value.map(({ folder }) => folder))].filter(Boolean);
