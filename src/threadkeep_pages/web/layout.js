// How wide the list at the side is, whether it is there at all, and which folders are folded; kept in this browser.

import { signal } from "./preact.js";
import { EVERYBODY, keep, kept } from "./shelf.js";

export const NARROWEST = 208;
export const WIDEST = 480;
const USUAL = 272;

export const width = signal(USUAL);
export const isCollapsed = signal(false);
/** @type {Signal<string[]>} */
export const folded = signal([]);

const within = (value) => Math.round(Math.min(WIDEST, Math.max(NARROWEST, value)));

export function start() {
  width.value = within(kept("list-width", USUAL, EVERYBODY));
  isCollapsed.value = kept("list-collapsed", false, EVERYBODY);
  folded.value = kept("folded", []);
}

/** @param {number} value */
export function resize(value) {
  width.value = within(value);
  keep("list-width", width.value, EVERYBODY);
}

/** @param {boolean} value */
export function collapse(value) {
  isCollapsed.value = value;
  keep("list-collapsed", value, EVERYBODY);
}

/** @param {string} name */
export function fold(name) {
  folded.value = folded.value.includes(name) ? folded.value.filter((one) => one !== name) : [...folded.value, name];
  keep("folded", folded.value);
}
