// "Try to break me": a guided try. It remembers in this browser which of the steps were done, and in which conversation,
// and notices by itself when the page was reloaded, the server went away, or the answer is complete.

import { conversationPath, get, post } from "./api.js";
import { effect, signal, untracked } from "./preact.js";
import { createdFrom, isLocal, itemsOf } from "./outbox.js";
import { drop, keep, kept } from "./shelf.js";
import { opened } from "./views.js";

const LASTING = 1500; // a page that is being left loses its connection, too

/** @type {Signal<Trial | null>} */
export const trial = signal(null);

/** @param {Trial} now */
function change(now) {
  trial.value = now;
  keep("trial", now);
}

export function begin(conversation) {
  change({ conversation, steps: {} });
}

export function end() {
  trial.value = null;
  drop("trial");
}

/** @param {"reload" | "kill" | "wait" | "write"} step */
function done(step) {
  const now = trial.value;
  if (now && !now.steps[step]) change({ ...now, steps: { ...now.steps, [step]: true } });
}

/** @param {OpenConversation | null} conversation */
export function isAbout(conversation) {
  const name = trial.value?.conversation;
  return name !== undefined && conversation !== null && [name, createdFrom(name)].includes(conversation.id);
}

export function start() {
  trial.value = kept("trial");
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  const wasReloaded = navigation?.type === "reload";
  effect(() => {
    const conversation = opened.value;
    if (!trial.value || !conversation || !isAbout(conversation) || isLocal(conversation.id)) return;
    const { phase, stream } = conversation;
    const state = stream.value?.status.value.state;
    const isReady = phase.value === "ready";
    const waits = itemsOf(conversation.id).length > 0;
    untracked(() => {
      if (waits && state === "waiting") done("wait"); // the question that begins the try finds a stream that connects
      if (!waits && trial.value?.steps.wait) done("write");
      if (wasReloaded && isReady) done("reload");
      if (state === "waiting") setTimeout(() => stream.value?.status.value.state !== "live" && done("kill"), LASTING);
    });
  });
}

// Whether this server was started so that the page may kill it.
export const isKillable = "killable" in document.documentElement.dataset;

// A real kill: no answer comes.
export async function killServer() {
  await post("/v1/kill").catch(() => {});
}

// Compares what is on the screen with what the server has stored, character by character.
export async function check(conversation) {
  const page = await get(conversationPath(conversation.id, "", { limit: 200 }));
  const shown = new Map(conversation.messages.value.map((message) => [message.seq, message.content]));
  const stored = page.messages.filter((message) => shown.has(message.seq));
  const isSame = stored.length > 0 && stored.every((message) => shown.get(message.seq) === message.content);
  const characters = stored.reduce((sum, message) => sum + Array.from(message.content).length, 0);
  const now = trial.value;
  const result = { isSame, messages: stored.length, characters };
  if (now) change({ ...now, steps: { ...now.steps, checked: true }, result });
}
