// Prompts of one's own. The server keeps them in the details of a conversation of this name, which the list leaves out: so they are the
// same on every device, and go along with export and erasure. A copy in this browser is there without a network.

import { conversationPath, get, put } from "./api.js";
import { PROMPTS, conversations } from "./conversations.js";
import { changeMetadata } from "./metadata.js";
import { effect, signal } from "./preact.js";
import { keep, kept } from "./shelf.js";

const PATH = conversationPath(PROMPTS);

/** @typedef {{ name: string, text: string }} Prompt */
/** @type {Signal<Prompt[]>} */
export const prompts = signal([]);

/** @param {Record<string, any>} metadata */
function take(metadata) {
  const found = Array.isArray(metadata.prompts) ? metadata.prompts : [];
  prompts.value = found.filter((one) => typeof one?.name === "string" && typeof one?.text === "string");
  keep("prompts", prompts.value);
}

const readPage = () => get(conversationPath(PROMPTS, "", { limit: 1 }));

export async function load() {
  try {
    take((await readPage()).metadata);
  } catch (error) {
    if (error.status === 404) take({});
  }
}

export function start() {
  prompts.value = kept("prompts", []);
  let seen = 0;
  effect(() => {
    const about = conversations.value.find(({ name }) => name === PROMPTS);
    if (about && about.version > seen) load();
    seen = about?.version ?? seen;
  });
}

/** @param {(all: Prompt[]) => Prompt[]} change */
async function write(change) {
  await put(PATH, {});
  const changed = (metadata) => ({ ...metadata, prompts: change(metadata.prompts ?? []) });
  take((await changeMetadata({ id: PROMPTS, readPage }, changed, { archived: true })).metadata);
}

const byName = (one, other) => one.name.localeCompare(other.name);

/**
 * Keeps a prompt, in place of the one that was called `before`.
 * @param {Prompt} prompt
 * @param {string} [before]
 */
export const save = (prompt, before = prompt.name) =>
  write((all) => [...all.filter(({ name }) => name !== before && name !== prompt.name), prompt].sort(byName));

/** @param {string} name */
export const remove = (name) => write((all) => all.filter((one) => one.name !== name));

/**
 * Those that fit what was written behind the slash: first by the beginning of their names.
 * @param {string} text
 */
export function fitting(text) {
  const sought = text.toLowerCase();
  const place = ({ name, text: said }) => {
    if (name.toLowerCase().startsWith(sought)) return 0;
    return `${name} ${said}`.toLowerCase().includes(sought) ? 1 : 2;
  };
  return prompts.value.filter((one) => place(one) < 2).sort((one, other) => place(one) - place(other));
}
