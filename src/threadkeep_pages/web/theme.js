// Light, dark, or as the system is: the choice is kept in this browser.

import { drop, keep, kept } from "./shelf.js";

export const THEMES = /** @type {const} */ (["", "light", "dark"]);

/** What was chosen; nothing is: as the system is. */
export const chosenTheme = () => kept("theme", "");

export function applyTheme() {
  const chosen = chosenTheme();
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

/** @param {string} name */
export function chooseTheme(name) {
  if (name) keep("theme", name);
  else drop("theme");
  applyTheme();
}
