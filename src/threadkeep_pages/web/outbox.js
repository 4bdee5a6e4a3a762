// Messages on their way to the server. Each is kept in this browser before anything is sent and forgotten when the server
// has it; its key makes the server take it once, however often it is sent. One tab at a time sends, in order.

import { Unreachable, conversationPath, newKey, post } from "./api.js";
import { filesIn, forget, uploaded } from "./files.js";
import { computed, signal } from "./preact.js";
import { drop, keep, kept, namesOf, onChange } from "./shelf.js";
import { alone } from "./tabs.js";
import { rememberFirst } from "./titles.js";

const LOCAL = "new-";
const LONGEST_WAIT = 15_000;
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

let last = 0;
/** @type {number | undefined} */
let pausing;
let failures = 0;

function read() {
  const found = namesOf("outbox.")
    .map((name) => kept(`outbox.${name}`))
    .filter(Boolean);
  items.value = found.sort((one, other) => one.at - other.at);
}

/** @param {OutboxItem} item */
function write(item) {
  const stays = keep(`outbox.${item.key}`, item);
  read();
  // A browser that keeps nothing still sends: the message lives in this tab alone.
  if (!stays) items.value = [...items.value.filter((other) => other.key !== item.key), item];
}

function remove(item) {
  drop(`outbox.${item.key}`);
  items.value = items.value.filter((other) => other.key !== item.key);
}

export function start() {
  read();
  onChange("outbox.", () => {
    read();
    flush();
  });
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", () => document.hidden || hurry());
  flush();
}

// Takes a message in. `conversation` may be a local name, for one that is still to be created with `settings`.
/** @param {Place & Pick<OutboxItem, "conversation" | "content" | "attached" | "settings">} message */
export function add({ conversation, content, attached, settings, parent, expected_head }) {
  last = Math.max(Date.now(), last + 1);
  /** @type {OutboxItem} */
  const item = {
    key: newKey(),
    at: last,
    state: "waiting",
    conversation,
    content,
    ...(attached?.length ? { attached } : {}),
    settings,
    parent,
    expected_head,
  };
  write(item);
  flush();
  return item;
}

// Takes a message out again, whose files somebody else has now.
export const takeBack = remove;

/** @param {OutboxItem} item */
export function discard(item) {
  remove(item);
  forget(item.attached);
}

// Sends a message after all, at another place or without an expectation.
/**
 * @param {OutboxItem} item
 * @param {Partial<OutboxItem>} [change]
 */
export function release(item, change = {}) {
  const attached = item.attached?.map((one) => ({ ...one, refusal: undefined, problem: undefined }));
  write({ ...item, attached, state: "waiting", problem: undefined, ...change });
  flush();
}

export function hurry() {
  failures = 0;
  clearTimeout(pausing);
  pausing = undefined;
  flush();
}

/** @type {Promise<void> | null} */
let flushing = null;
let isAsked = false; // something may wait that was not looked at yet

export function flush() {
  isAsked = true;
  if (pausing) return flushing;
  flushing ??= alone("outbox", sendAll)
    .catch(() => {
      isAsked = false;
    })
    .finally(() => {
      flushing = null;
      if (isAsked) flush();
    });
  return flushing;
}

async function sendAll() {
  const stuck = new Set();
  for (;;) {
    isAsked = false;
    read();
    for (const item of items.value) if (item.state !== "waiting") stuck.add(item.conversation);
    const next = items.value.find((item) => !stuck.has(item.conversation));
    if (!next) return;
    try {
      await send(next);
      failures = 0;
      trouble.value = "";
    } catch (error) {
      if (error instanceof Unreachable || error.isPassing) return pause(error);
      if (error.status === 401) return undefined;
      if (error.name === "AbortError") continue; // it was discarded while its files were sent
      if (error.code === "file_not_found" && isToldAgain(next)) continue;
      refuse(next, error);
    }
  }
}

async function send(item) {
  const { key, content, parent, expected_head } = item;
  const parts = await sendFiles(item);
  const id = isLocal(item.conversation) ? await create(item) : item.conversation;
  const answer = await post(
    conversationPath(id, "/messages"),
    { content: parts.length ? said(content, parts) : content, parent, expected_head },
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
  write({ ...item, attached: item.attached.map(({ part: _, ...one }) => ({ ...one, isAgain: true })) });
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
  if (items.value.some(({ key }) => key === item.key)) write({ ...item, attached });
  return attached.map(({ part }) => part);
}

// Creates the conversation of a first message, and moves everything that waits for it there.
async function create(item) {
  const local = item.conversation;
  const known = createdFrom(local);
  const made = known ?? (await post("/v1/conversations", item.settings ?? {}, { key: `c-${local}` })).id;
  keep("created", [[local, made], ...kept("created", []).filter(([name]) => name !== local)].slice(0, REMEMBERED));
  rememberFirst(made, wordsOf(item));
  for (const other of itemsOf(local)) write({ ...other, conversation: made });
  return made;
}

function refuse(item, error) {
  const state = error.code === "stale_head" ? "stale" : "refused";
  // The message may have been moved to its new conversation meanwhile.
  const present = items.value.find((other) => other.key === item.key) ?? item;
  const attached = present.attached?.map((one) =>
    one.key === error.file ? { ...one, refusal: error.message, problem: error.message } : one,
  );
  write({ ...present, attached, state, problem: error.message, head: error.head });
}

function pause(error) {
  trouble.value = error.message;
  const wait = Math.max(Math.min(LONGEST_WAIT, 500 * 2 ** failures), (error.retryAfter ?? 0) * 1000);
  failures += 1;
  pausing = setTimeout(() => {
    pausing = undefined;
    flush();
  }, wait);
}

// Forgets that a message was taken: its entry has arrived.
export function arrived(key) {
  taken.value = taken.value.filter((item) => item.key !== key);
}
