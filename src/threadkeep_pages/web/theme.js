// Light, dark, or as the system is: the choice is kept in this browser.

import { keep, kept } from "./shelf.js";

export function applyTheme() {
  const chosen = kept("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

// From what is seen now to the other; and back to the system's when both are the same.
export function switchTheme() {
  const isSystemDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = (kept("theme") ?? (isSystemDark ? "dark" : "light")) === "dark";
  keep("theme", isDark ? "light" : "dark");
  applyTheme();
}
