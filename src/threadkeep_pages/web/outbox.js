// Messages on their way to the server: the client's outbox, kept in this browser, with files and with conversations that
// begin here. One tab at a time sends.

import { conversationPath, newKey, post } from "./api.js";
import { Outbox } from "./client/outbox.js";
import { forget, uploaded } from "./files.js";
import { computed, signal } from "./preact.js";
import { filesIn } from "./render/files.js";
import { drop, keep, kept, namesOf, onChange } from "./shelf.js";
import { alone } from "./tabs.js";
import { rememberFirst } from "./titles.js";

const LOCAL = "new-";
const REMEMBERED = 50;

// Oldest first. `state` is waiting, stale (the conversation moved on) or refused; `problem` says why.
/** @type {Signal<OutboxItem[]>} */
export const items = signal([]);
// The server took them; the view shows them until their message arrives.
/** @type {Signal<TakenItem[]>} */
export const taken = signal([]);
// Why the last try failed, while something waits.
export const trouble = signal("");

export const waiting = computed(() => items.value.filter((item) => item.state === "waiting").length);
/** @param {string | null} conversation */
export const isLocal = (conversation) => conversation?.startsWith(LOCAL) ?? false;
export const newLocal = () => LOCAL + newKey();
// What a message is called in a list: its words, or the names of its files.
/** @param {{ content: string, attached?: Attached[], parts?: Record<string, any>[] }} item */
export const wordsOf = ({ content, attached, parts }) =>
  content || (attached ?? filesIn(parts)).map(({ name }) => name).join(", ");
export const itemsOf = (conversation) => items.value.filter((item) => item.conversation === conversation);

// What became of a conversation that began here, if the server has made it.
/** @param {string | null} local */
export function createdFrom(local) {
  return kept("created", []).find(([name]) => name === local)?.[1] ?? null;
}

const outbox = new Outbox({
  send,
  store: {
    all: () =>
      namesOf("outbox.")
        .map((name) => kept(`outbox.${name}`))
        .filter(Boolean),
    keep: (item) => keep(`outbox.${item.key}`, item),
    drop: (key) => drop(`outbox.${key}`),
  },
  alone: (work) => alone("outbox", work),
  onItems: (all) => {
    items.value = /** @type {OutboxItem[]} */ (all);
  },
  onTrouble: (said) => {
    trouble.value = said;
  },
  // It was discarded while its files were sent, or the server has forgotten them.
  isMended: (item, error) => error.name === "AbortError" || (error.code === "file_not_found" && isToldAgain(item)),
  refused: (item, error) => ({
    attached: item.attached?.map((one) =>
      one.key === error.file ? { ...one, refusal: error.message, problem: error.message } : one,
    ),
  }),
});

export function start() {
  outbox.read();
  onChange("outbox.", () => {
    outbox.read();
    flush();
  });
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", () => document.hidden || hurry());
  flush();
}

// Takes a message in. `conversation` may be a local name, for one that is still to be created with `settings`.
/** @param {Place & Pick<OutboxItem, "conversation" | "content" | "attached" | "settings">} message */
export function add({ attached, ...message }) {
  return outbox.add({ ...message, ...(attached?.length ? { attached } : {}) });
}

// Takes a message out again, whose files somebody else has now.
export const takeBack = (item) => outbox.remove(item);

/** @param {OutboxItem} item */
export function discard(item) {
  outbox.remove(item);
  forget(item.attached);
}

// Sends a message after all, at another place or without an expectation.
/**
 * @param {OutboxItem} item
 * @param {Partial<OutboxItem>} [change]
 */
export function release(item, change = {}) {
  const attached = item.attached?.map((one) => ({ ...one, refusal: undefined, problem: undefined }));
  outbox.release(item, { attached, ...change });
}

export const hurry = () => outbox.hurry();
export const flush = () => outbox.flush();

async function send(item) {
  const { key, content, parent, expected_head, without_recall } = item;
  const parts = await sendFiles(item);
  const id = isLocal(item.conversation) ? await create(item) : item.conversation;
  const answer = await post(
    conversationPath(id, "/messages"),
    { content: parts.length ? said(content, parts) : content, parent, expected_head, without_recall },
    { key, prefer: "respond-async" },
  );
  taken.value = [...taken.value, { key, conversation: id, turn: answer.turn.id, content, parts, parent, at: item.at }];
  discard(item);
}

const said = (text, parts) => [
  ...(text ? [{ type: "text", text }] : []),
  ...parts.map(({ type, file }) => ({ type, file })),
];

// The server keeps a file that no message uses for a day: what it forgot is sent once more, from the bytes that are kept here.
function isToldAgain(item) {
  if (!item.attached?.some(({ isAgain }) => !isAgain)) return false;
  outbox.write({ ...item, attached: item.attached.map(({ part: _, ...one }) => ({ ...one, isAgain: true })) });
  return true;
}

// Sends the files of a message before it; one that is there is not sent again.
async function sendFiles(item) {
  if (!item.attached) return [];
  const attached = [];
  for (const one of item.attached) {
    const part = await uploaded(one).catch((error) => {
      throw Object.assign(error, { file: one.key });
    });
    attached.push({ ...one, part });
  }
  if (items.value.some(({ key }) => key === item.key)) outbox.write({ ...item, attached });
  return attached.map(({ part }) => part);
}

// Creates the conversation of a first message, and moves everything that waits for it there.
async function create(item) {
  const local = item.conversation;
  const known = createdFrom(local);
  const made = known ?? (await post("/v1/conversations", item.settings ?? {}, { key: `c-${local}` })).id;
  keep("created", [[local, made], ...kept("created", []).filter(([name]) => name !== local)].slice(0, REMEMBERED));
  rememberFirst(made, wordsOf(item));
  for (const other of itemsOf(local)) outbox.write({ ...other, conversation: made });
  return made;
}

// Forgets that a message was taken: its entry has arrived.
export function arrived(key) {
  taken.value = taken.value.filter((item) => item.key !== key);
}
