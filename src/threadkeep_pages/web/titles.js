// What a conversation is called: its title, or until it has one the first words that were said in it, as far as this browser
// knows them.

import { signal } from "./preact.js";
import { keep, kept } from "./shelf.js";
import { t } from "./language.js";

const MOST = 300;
const LONGEST = 60;

/** @type {Signal<Record<string, string> | null>} */
const firstWords = signal(null);

const known = () => firstWords.value ?? kept("first-words", {});

/**
 * @param {string} id
 * @param {string} text
 */
export function rememberFirst(id, text) {
  const words = text.slice(0, 400).split(/\s+/).join(" ").trim();
  const short =
    words.length > LONGEST ? `${words.slice(0, words.lastIndexOf(" ", LONGEST) + 1 || LONGEST).trim()} …` : words;
  if (!short || known()[id] === short) return;
  firstWords.value = Object.fromEntries([...Object.entries(known()), [id, short]].slice(-MOST));
  keep("first-words", firstWords.value);
}

/** @param {{ id: string, title: string | null } | null | undefined} about */
export const titleOf = (about) => about?.title?.trim() || (about && known()[about.id]) || t("newConversation");
