// The keyboard: everything that the mouse can do. Single keys work only where nobody is typing, and can be switched off.

import { signal } from "./preact.js";
import { go, route } from "./router.js";
import { conversations } from "./conversations.js";
import { keep, kept } from "./shelf.js";
import { beginAnew, dialog, editing, isSidebarOpen, opened } from "./views.js";

export const isOn = signal(true);

/** @type {{ keys: string[], says: TextKey }[]} */
export const KEYS = [
  { keys: ["?"], says: "keyList" },
  { keys: ["n"], says: "newConversation" },
  { keys: ["/"], says: "keySearch" },
  { keys: ["i"], says: "keyWrite" },
  { keys: ["Enter"], says: "send" },
  { keys: ["Shift", "Enter"], says: "keyNewLine" },
  { keys: ["Esc"], says: "keyStop" },
  { keys: ["j", "k"], says: "keyNext" },
  { keys: ["e"], says: "keyEdit" },
  { keys: ["r"], says: "regenerate" },
  { keys: ["[", "]"], says: "keyVersions" },
  { keys: ["c"], says: "keyCopy" },
  { keys: ["t"], says: "branches" },
  { keys: ["m"], says: "settings" },
  { keys: ["Alt", "↑ ↓"], says: "keyWalk" },
  { keys: ["x"], says: "keyMore" },
];

export function turn(on) {
  isOn.value = on;
  keep("keys", on);
}

export function start() {
  isOn.value = kept("keys", true);
  addEventListener("keydown", onKey);
}

const isTyping = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
const messages = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".scroll [data-seq]")]);
const chosen = () => /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest?.("[data-seq]"));
// Presses the first button inside that does this (`data-action`), whatever its words are.
const press = (action, inside) => (inside ?? document).querySelector(`[data-action="${action}"]`)?.click();
const newest = (role) => messages().findLast((one) => !role || one.dataset.role === role);

function onKey(event) {
  if (event.defaultPrevented || event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return run(event, search);
  const way = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (way) return run(event, () => walk(way));
  if (event.key === "Escape") return escape(event);
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || dialog.value || !isOn.value)
    return undefined;
  const act = ACTS[event.key];
  return act ? run(event, act) : undefined;
}

function run(event, act) {
  event.preventDefault();
  act();
}

function escape(event) {
  if (dialog.value) return;
  if (isSidebarOpen.value) {
    isSidebarOpen.value = false;
    event.target.blur?.();
  } else if (editing.value) editing.value = null;
  else if (opened.value?.isBusy.value && event.target.id !== "search") opened.value.stop();
  else if (isTyping(event.target)) event.target.blur();
}

function search() {
  isSidebarOpen.value = true;
  focusWhenShown("search");
}

// On a narrow screen the list slides in first, and what cannot be seen yet takes no focus.
function focusWhenShown(id, frames = 60) {
  const field = document.getElementById(id);
  field?.focus();
  if (field && document.activeElement !== field && frames) requestAnimationFrame(() => focusWhenShown(id, frames - 1));
}

// To the conversation above or below in the list.
function walk(by) {
  const all = conversations.value.filter((item) => !item.archived);
  const place = all.findIndex((item) => item.id === route.value.conversation);
  const next = all[place + by] ?? (place < 0 ? all[0] : null);
  if (next) go(next.id);
}

function step(by) {
  const all = messages();
  const place = all.findIndex((one) => one === chosen());
  const next = place < 0 ? all.at(-1) : all[Math.min(all.length - 1, Math.max(0, place + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function edit() {
  const message = chosen()?.dataset.role === "user" ? chosen() : newest("user");
  if (message) editing.value = Number(message.dataset.seq);
}

const ACTS = {
  "?": () => (dialog.value = "shortcuts"),
  n: () => beginAnew(),
  "/": search,
  i: () => document.getElementById("composer")?.focus(),
  j: () => step(1),
  k: () => step(-1),
  e: edit,
  r: () => press("again", chosen()?.dataset.role === "assistant" ? chosen() : newest("assistant")),
  "[": () => press("version-before", chosen() ?? newest()),
  "]": () => press("version-after", chosen() ?? newest()),
  c: () => press("copy", chosen() ?? newest()),
  t: () => opened.value?.about.value && (dialog.value = "tree"),
  m: () => (!opened.value || opened.value.about.value) && (dialog.value = "settings"),
  x: () => press("more"),
};
