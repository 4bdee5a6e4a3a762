// Who is here, and what the server offers: assistants, models. Signing in and out.

import { Unreachable, get, needsKey, post } from "./api.js";
import { batch, computed, signal } from "./preact.js";
import { ROOT, addressOf } from "./router.js";
import { clear, keep, kept, setOwner } from "./shelf.js";
import { hear, tell } from "./tabs.js";
import { t } from "./language.js";

const DATA_CACHE = "threadkeep-data";
export const FILE_CACHE = "threadkeep-files";

/** @type {Signal<Me | null>} */
export const me = signal(null);
/** @type {Signal<Assistant[]>} */
export const assistants = signal([]);
/** @type {Signal<Models>} */
export const models = signal({ default: null, data: [] });
// starting, ready, or away (the server was never reached)
export const phase = signal("starting");

// Whether this browser had a login, which is no good any more.
export const wasSignedIn = signal(false);

/** @param {string | null | undefined} name */
export const assistantNamed = (name) =>
  assistants.value.find((assistant) => assistant.name === name) ?? assistants.value[0] ?? null;

/**
 * The name of an assistant as people write it.
 * @param {Assistant | null} assistant
 */
export const nameOf = (assistant) =>
  assistant?.name.replaceAll(/[_-]/g, " ").replace(/^./, (letter) => letter.toUpperCase()) ?? t("assistant");

// The name of the model that answers in a conversation (or in a new one with this assistant).
export function modelOf(conversation, assistant) {
  return conversation?.model ?? assistant?.model ?? models.value.default?.name ?? null;
}

const AGAIN = 1000;

// Providers are asked for their models in the background: what they have said meanwhile is read until they all have.
export async function readModels(tries = 10) {
  models.value = await get("/v1/models");
  if (models.value.asking && tries) setTimeout(() => readModels(tries - 1).catch(() => {}), AGAIN);
}

export const isScripted = (model) => model === "demo";
export const isSignedIn = computed(() => me.value?.signed_in === true);

export async function load() {
  try {
    const [who, helpers, offered] = await Promise.all([get("/v1/me"), get("/v1/assistants"), get("/v1/models")]);
    keep("signed-in", who.signed_in);
    setOwner(who.tenant, who.user);
    batch(() => {
      me.value = who;
      assistants.value = helpers.data;
      models.value = offered;
      needsKey.value = false;
      phase.value = "ready";
    });
  } catch (error) {
    if (error.status !== 401) phase.value = "away";
    else wasSignedIn.value = kept("signed-in", false);
    if (!(error instanceof Unreachable) && error.status !== 401) throw error;
  }
}

export async function signIn(key) {
  await post("/v1/login", { key });
  location.reload();
}

// The provider at which people can sign in, by its name, if there is one; and whether that has just failed.
export const provider = document.documentElement.dataset.signIn ?? null;
export const hasFailed = new URLSearchParams(location.search).get("sign-in") === "failed";

// Leaves nothing behind in this browser, in any tab, nor at the provider.
export async function signOut() {
  await post("/v1/logout");
  tell("signed out", true);
  await clean();
  if (provider) location.assign(`${ROOT}/sign-in/end`);
  else location.reload();
}

export async function forget() {
  await clean();
  location.reload();
}

async function clean() {
  clear();
  if ("caches" in window) await Promise.all([DATA_CACHE, FILE_CACHE].map((name) => caches.delete(name)));
  history.replaceState(null, "", addressOf(null));
}

hear("signed out", forget);
