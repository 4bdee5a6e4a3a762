// The list of conversations, live: one tab listens to the server and tells the others.

import { conversationPath, del, get, patch, post } from "./api.js";
import { batch, computed, effect, signal } from "./preact.js";
import { Stream } from "./stream.js";
import { copier } from "./copies.js";
import { announce, complain, note } from "./notices.js";
import * as outbox from "./outbox.js";
import { alone, hear, tell } from "./tabs.js";
import { titleOf } from "./titles.js";
import { t } from "./language.js";

const PAGE = 60;
const FURTHER = 200; // whoever scrolls on goes far
const PATIENCE = 700;
const UNDO_SECONDS = 30;

// The last active first.
/** @type {Signal<About[]>} */
export const conversations = signal([]);
// The conversation that keeps a person's prompts; it is none to talk in.
export const PROMPTS = "threadkeep-prompts";
export const listed = computed(() => conversations.value.filter((one) => !one.temporary && one.name !== PROMPTS));
/** @type {Signal<string | null>} the cursor of the next page */
export const next = signal(null);
/** @type {Signal<Record<string, TurnState>>} */
export const busy = signal({});
export const isLoaded = signal(false);
// Whether the server cannot be reached, as far as this tab knows.
export const isAway = signal(false);

const byActivity = (one, other) => (one.updated_at < other.updated_at ? 1 : one.updated_at > other.updated_at ? -1 : 0);

const keepCopy = copier("/v1/conversations", () => ({ data: conversations.value.slice(0, PAGE), next: next.value }));

function take(found) {
  const ids = new Set(found.map((item) => item.id));
  conversations.value = [...found, ...conversations.value.filter((item) => !ids.has(item.id))].sort(byActivity);
  keepCopy();
}

function leave(id) {
  conversations.value = conversations.value.filter((item) => item.id !== id);
  keepCopy();
}

function mark(id, state) {
  const { [id]: _, ...others } = busy.value;
  busy.value = state ? { ...others, [id]: state } : others;
}

let reading = 0;
/** @type {{ name: string, data: any }[]} */
let told = [];

// Reads a page of the list. What is told meanwhile may be newer than the page, so it is taken in again after it.
async function read(limit, query, put) {
  reading += 1;
  try {
    const page = await get(`/v1/conversations?limit=${limit}${query}`);
    batch(() => {
      put(page);
      told.forEach(place);
    });
  } finally {
    reading -= 1;
    if (!reading) told = [];
  }
}

// Reads the newest page anew. What was loaded further down stays, as far as it is older.
export function reload() {
  return read(PAGE, "", (page) => {
    const oldest = page.data.at(-1)?.updated_at ?? "";
    const older = page.next ? conversations.value.filter((item) => item.updated_at < oldest) : [];
    conversations.value = [];
    take([...page.data, ...older]);
    if (!older.length) next.value = page.next;
    isLoaded.value = true;
  });
}

let isReading = false;

export async function loadMore() {
  if (!next.value || isReading) return;
  isReading = true;
  await read(FURTHER, `&after=${encodeURIComponent(next.value)}`, (page) => {
    take(page.data);
    next.value = page.next;
  }).finally(() => (isReading = false));
}

// Takes conversations in that are further down in the list: those that have a name, or pass a filter.
export async function fetchSome(path) {
  const { data } = await get(path);
  take(data);
  return data;
}

export const fetchFiltered = (filter) => fetchSome(`/v1/conversations?limit=${PAGE}&${filter}`).catch(complain);

function apply(event) {
  if (reading) told.push(event);
  place(event);
}

function place({ name, data }) {
  batch(() => {
    if (name === "conversation.deleted") leave(data.id);
    else if (name === "conversation.running" || name === "conversation.waiting") mark(data.id, name.split(".")[1]);
    else {
      take([data]);
      mark(data.id, data.turn);
    }
  });
}

// Whoever does not see the page hears when the server goes away, and what becomes of what was written meanwhile.
function announceConnection() {
  let wasAway = false;
  let waited = 0;
  effect(() => {
    const [away, waits] = [isAway.value, outbox.trouble.value ? outbox.waiting.value : 0];
    if (waits > waited) announce(t("messageWaits"));
    else if (away && !wasAway) announce(t("connectionLost"));
    else if (waited && !outbox.waiting.value) announce(t("connectedAndSent"));
    else if (wasAway && !away) announce(t("connectedAgain"));
    [wasAway, waited] = [away, outbox.waiting.value && waited > waits ? waited : waits];
  });
}

export function start() {
  announceConnection();
  hear("list", apply);
  hear("away", (away) => (isAway.value = away));
  hear("reload list", () => reload().catch(() => {}));
  alone("list", () => new Promise(listen));
  // The tab that listens reads the list when it hears; another one, or one without a network, does it now.
  setTimeout(() => isLoaded.value || reload().catch(() => {}), PATIENCE);
}

// Listens until the server sends us away; then another tab may try.
function listen(done) {
  const stream = new Stream("/v1/events", {
    onOpen: () => {
      busy.value = {};
      reload().catch(() => {});
      tell("reload list", true);
    },
    onEvent: (name, data) => {
      apply({ name, data });
      tell("list", { name, data });
    },
    onEnd: done,
  });
  effect(() => {
    const { state } = stream.status.value;
    if (state === "waiting" || state === "live") {
      isAway.value = state === "waiting";
      tell("away", isAway.peek());
    }
  });
}

export async function change(id, fields) {
  try {
    take([await patch(conversationPath(id), fields)]);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

export async function remove(conversation) {
  try {
    await del(conversationPath(conversation.id));
    leave(conversation.id);
    const action = { label: t("undo"), run: () => bringBack(conversation.id) };
    note(t("deletedNote", { title: titleOf(conversation) }), { action, seconds: UNDO_SECONDS - 1 });
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

async function bringBack(id) {
  try {
    take([await post(conversationPath(id, "/restore"))]);
  } catch (error) {
    complain(error);
  }
}
