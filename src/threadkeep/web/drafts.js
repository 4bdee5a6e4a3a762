// What somebody has begun to write, one text for each conversation; it survives closing the tab.

import { drop, keep, kept } from "./shelf.js";

const name = (conversation) => `draft.${conversation ?? "new"}`;

export const draftOf = (conversation) => kept(name(conversation), "");

export function keepDraft(conversation, text) {
  if (text) keep(name(conversation), text);
  else drop(name(conversation));
}
