// The keyboard: everything that the mouse can do. Who types, writes: a printable key goes to the field, wherever the focus is.
// Single keys act only while a message is chosen (Esc leads there, and its frame shows it), and can be switched off. Which key
// does what stands in one table, and can be changed.

import { computed, signal } from "./preact.js";
import { go, route } from "./router.js";
import { groups } from "./grouping.js";
import { choose, chosen, field, messages } from "./focus.js";
import { collapse, isCollapsed } from "./layout.js";
import { keep, kept, onChange } from "./shelf.js";
import { beginAnew, dialog, editing, isSidebarOpen, opened } from "./views.js";

export const isOn = signal(true);
/** @type {Signal<Record<string, string>>} */
const changed = signal({});

/** @typedef {{ name: string, says: TextKey, keys: string, where: "fixed" | "anywhere" | "chosen", act?: () => void }} Shortcut */

// Presses the first button inside that does this (`data-action`), whatever its words are.
const press = (action, inside) => (inside ?? document).querySelector(`[data-action="${action}"]`)?.click();
const newest = (role) => messages().findLast((one) => one.dataset.role === role);
const list = () => (dialog.value = "shortcuts");
const opens = (name) => () => opened.value?.about.value && (dialog.value = name);

/** @type {Shortcut[]} */
const TABLE = [
  { name: "send", says: "send", keys: "Enter", where: "fixed" },
  { name: "line", says: "keyNewLine", keys: "Shift+Enter", where: "fixed" },
  { name: "back", says: "keyStop", keys: "Esc", where: "fixed" },
  { name: "search", says: "keySearch", keys: "Ctrl+K", where: "anywhere", act: search },
  { name: "new", says: "newConversation", keys: "Ctrl+Shift+O", where: "anywhere", act: () => beginAnew() },
  { name: "list", says: "keySide", keys: "Ctrl+B", where: "anywhere", act: side },
  { name: "above", says: "keyAbove", keys: "Alt+↑", where: "anywhere", act: () => walk(-1) },
  { name: "below", says: "keyBelow", keys: "Alt+↓", where: "anywhere", act: () => walk(1) },
  { name: "keys", says: "keyList", keys: "Ctrl+/", where: "anywhere", act: list },
  { name: "next", says: "keyNext", keys: "j", where: "chosen", act: () => step(1) },
  { name: "previous", says: "keyPrevious", keys: "k", where: "chosen", act: () => step(-1) },
  { name: "edit", says: "keyEdit", keys: "e", where: "chosen", act: edit },
  { name: "again", says: "regenerate", keys: "r", where: "chosen", act: again },
  { name: "copy", says: "keyCopy", keys: "c", where: "chosen", act: () => press("copy", chosen()) },
  { name: "before", says: "previousVersion", keys: "[", where: "chosen", act: () => press("version-before", chosen()) },
  { name: "after", says: "nextVersion", keys: "]", where: "chosen", act: () => press("version-after", chosen()) },
  { name: "tree", says: "branches", keys: "t", where: "chosen", act: opens("tree") },
  { name: "settings", says: "settings", keys: "m", where: "chosen", act: opens("settings") },
  { name: "more", says: "keyMore", keys: "x", where: "chosen", act: () => press("more") },
  { name: "begin", says: "newConversation", keys: "n", where: "chosen", act: () => beginAnew() },
  { name: "find", says: "keySearch", keys: "/", where: "chosen", act: search },
  { name: "write", says: "keyWrite", keys: "i", where: "chosen", act: () => field()?.focus() },
  { name: "help", says: "keyList", keys: "?", where: "chosen", act: list },
];

// Every shortcut with the keys that it has now.
export const shortcuts = computed(() => TABLE.map((one) => ({ ...one, keys: changed.value[one.name] ?? one.keys })));
export const isChanged = computed(() => Object.keys(changed.value).length > 0);

function write(now) {
  changed.value = now;
  keep("shortcuts", now);
}

/**
 * Gives a shortcut other keys, and returns the one that has them already, if there is one: then nothing changes.
 * @param {Shortcut} shortcut
 * @param {string} keys
 */
export function change({ name }, keys) {
  const other = shortcuts.value.find((one) => one.keys === keys && one.name !== name);
  if (!other) write({ ...changed.value, [name]: keys });
  return other ?? null;
}

export const reset = () => write({});

export function turn(on) {
  isOn.value = on;
  keep("keys", on);
}

export function start() {
  const read = () => {
    isOn.value = kept("keys", true);
    changed.value = kept("shortcuts", {});
  };
  read();
  onChange("shortcuts", read);
  addEventListener("keydown", onKey);
}

const ARROWS = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

// How a press of keys is written in the table: `Ctrl+Shift+O`, `Alt+↑`, `?`. On a Mac the command key is Ctrl. Nothing while only
// Shift or the like is down.
export function keysOf(event) {
  const { key } = event;
  if (/^(?:Shift|Control|Alt|Meta|AltGraph|CapsLock|Dead|Process|Unidentified)$/.test(key)) return "";
  const isText = [...key].length === 1;
  if (isText && !isCommand(event)) return key;
  const letter = isText ? key.toUpperCase() : (ARROWS[key] ?? key);
  // Where a sign is behind Shift on this keyboard, Shift says nothing more.
  const hasShift = event.shiftKey && (!isText || /\p{L}/u.test(key));
  const down = [(event.ctrlKey || event.metaKey) && "Ctrl", event.altKey && "Alt", hasShift && "Shift"];
  return [...down.filter(Boolean), letter === "?" ? "/" : letter].join("+");
}

const isCommand = (event) => (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState?.("AltGraph");
const isTyping = (target) => target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
const bound = (keys, where) => shortcuts.value.find((one) => one.keys === keys && one.where === where);

function onKey(event) {
  if (event.defaultPrevented || event.isComposing || dialog.value) return undefined;
  const keys = keysOf(event);
  const anywhere = bound(keys, "anywhere");
  if (anywhere) return run(event, anywhere.act);
  if (event.key === "Escape") return escape(event);
  if (isTyping(event.target) || event.target.closest("[role=menu]")) return undefined;
  const act = isOn.value && chosen() && bound(keys, "chosen")?.act;
  if (act) return run(event, act);
  // The browser puts what is typed or pasted where the focus is when this returns.
  return isText(event) || keys === "Ctrl+V" ? field()?.focus() : undefined;
}

// Whether a key writes something. A space presses buttons and scrolls, and nobody begins with it.
const isText = (event) => [...event.key].length === 1 && event.key !== " " && !isCommand(event);

function run(event, act) {
  event.preventDefault();
  act();
}

// One step back.
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

const isNarrow = () => matchMedia("(width < 48rem)").matches;

function search() {
  if (isNarrow()) isSidebarOpen.value = true;
  else collapse(false);
  focusWhenShown("search");
}

function side() {
  if (isNarrow()) isSidebarOpen.value = !isSidebarOpen.value;
  else collapse(!isCollapsed.value);
}

// On a narrow screen the list slides in first, and what cannot be seen yet takes no focus.
function focusWhenShown(id, frames = 60) {
  const shown = document.getElementById(id);
  shown?.focus();
  if (shown && document.activeElement !== shown && frames) requestAnimationFrame(() => focusWhenShown(id, frames - 1));
}

// To the conversation above or below in the list.
function walk(by) {
  const all = groups.value.flatMap(({ items }) => items);
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

function again() {
  press("again", chosen()?.dataset.role === "assistant" ? chosen() : newest("assistant"));
}
