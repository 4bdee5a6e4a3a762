// The keyboard: everything that the mouse can do. Who types, writes: a printable key goes to the field, wherever the focus is.
// Single keys act only while a message is chosen (Esc leads there, and its frame shows it), and can be switched off.

import { signal } from "./preact.js";
import { go, route } from "./router.js";
import { conversations } from "./conversations.js";
import { choose, chosen, field, messages } from "./focus.js";
import { keep, kept } from "./shelf.js";
import { beginAnew, dialog, editing, isSidebarOpen, opened } from "./views.js";

export const isOn = signal(true);

/** @typedef {{ keys: string[], says: TextKey }[]} Keys */
/** @type {Keys} */
export const ANYWHERE = [
  { keys: ["Enter"], says: "send" },
  { keys: ["Shift", "Enter"], says: "keyNewLine" },
  { keys: ["Esc"], says: "keyStop" },
  { keys: ["Ctrl", "K"], says: "keySearch" },
  { keys: ["Ctrl", "Shift", "O"], says: "newConversation" },
  { keys: ["Alt", "↑ ↓"], says: "keyWalk" },
  { keys: ["Ctrl", "/"], says: "keyList" },
];
/** @type {Keys} */
export const CHOSEN = [
  { keys: ["j", "k"], says: "keyNext" },
  { keys: ["e"], says: "keyEdit" },
  { keys: ["r"], says: "regenerate" },
  { keys: ["c"], says: "keyCopy" },
  { keys: ["[", "]"], says: "keyVersions" },
  { keys: ["t"], says: "branches" },
  { keys: ["m"], says: "settings" },
  { keys: ["x"], says: "keyMore" },
  { keys: ["n"], says: "newConversation" },
  { keys: ["/"], says: "keySearch" },
  { keys: ["i"], says: "keyWrite" },
  { keys: ["?"], says: "keyList" },
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
// Presses the first button inside that does this (`data-action`), whatever its words are.
const press = (action, inside) => (inside ?? document).querySelector(`[data-action="${action}"]`)?.click();
const newest = (role) => messages().findLast((one) => one.dataset.role === role);

function onKey(event) {
  if (event.defaultPrevented || event.isComposing || dialog.value) return undefined;
  const command = (event.ctrlKey || event.metaKey) && `${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
  if (COMMANDS[command]) return run(event, COMMANDS[command]);
  const way = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (way) return run(event, () => walk(way));
  if (event.key === "Escape") return escape(event);
  if (isTyping(event.target) || event.target.closest("[role=menu]")) return undefined;
  const isPrintable = isText(event);
  const act = isPrintable && isOn.value && chosen() && ACTS[event.key];
  if (act) return run(event, act);
  // The browser puts what is typed or pasted where the focus is when this returns.
  return isPrintable || command === "v" ? field()?.focus() : undefined;
}

// Whether a key writes something. A space presses buttons and scrolls, and nobody begins with it.
function isText(event) {
  const isCommand = event.ctrlKey || event.metaKey || event.altKey;
  return [...event.key].length === 1 && event.key !== " " && (!isCommand || event.getModifierState("AltGraph"));
}

function run(event, act) {
  event.preventDefault();
  act();
}

function escape(event) {
  if (isSidebarOpen.value) {
    isSidebarOpen.value = false;
    leave(event.target);
  } else if (editing.value) editing.value = null;
  else if (opened.value?.isBusy.value && event.target.id !== "search") opened.value.stop();
  else if (!chosen()) leave(event.target);
}

// Chooses the message around what was left, or the last one that is in view.
function leave(left) {
  const box = document.querySelector(".scroll")?.getBoundingClientRect();
  const inView = (one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return box && top < box.bottom && bottom > box.top;
  };
  const message = left.closest("[data-seq]") ?? messages().findLast(inView);
  if (message) choose(message);
  else if (isTyping(left)) left.blur();
}

function search() {
  isSidebarOpen.value = true;
  focusWhenShown("search");
}

// On a narrow screen the list slides in first, and what cannot be seen yet takes no focus.
function focusWhenShown(id, frames = 60) {
  const shown = document.getElementById(id);
  shown?.focus();
  if (shown && document.activeElement !== shown && frames) requestAnimationFrame(() => focusWhenShown(id, frames - 1));
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
  const next = all[all.findIndex((one) => one === chosen()) + by];
  if (next) choose(next);
  next?.scrollIntoView({ block: "nearest" });
}

function edit() {
  const message = chosen()?.dataset.role === "user" ? chosen() : newest("user");
  if (message) editing.value = Number(message.dataset.seq);
}

const list = () => (dialog.value = "shortcuts");

const COMMANDS = { k: search, "shift+o": () => beginAnew(), "/": list, "shift+/": list };

// What single keys do with the chosen message, or from there.
const ACTS = {
  "?": list,
  n: () => beginAnew(),
  "/": search,
  i: () => field()?.focus(),
  j: () => step(1),
  k: () => step(-1),
  e: edit,
  r: () => press("again", chosen()?.dataset.role === "assistant" ? chosen() : newest("assistant")),
  "[": () => press("version-before", chosen()),
  "]": () => press("version-after", chosen()),
  c: () => press("copy", chosen()),
  t: () => opened.value?.about.value && (dialog.value = "tree"),
  m: () => opened.value?.about.value && (dialog.value = "settings"),
  x: () => press("more"),
};
