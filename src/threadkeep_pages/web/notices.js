// Short notes to the person: toasts that go away, and the one polite region that a screen reader hears.

import { signal } from "./preact.js";

const SHOWN = 6000;
let number = 0;

/** @type {Signal<Toast[]>} */
export const toasts = signal([]);
export const announced = signal("");

export function announce(text) {
  announced.value = text;
}

export function dismiss(id) {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

// Shows a note. `action` is { label, run }; `seconds` says how long it can be used. What can be done is also announced.
/**
 * @param {string} text
 * @param {{ kind?: string, action?: Toast["action"], seconds?: number }} [how]
 */
export function note(text, { kind = "plain", action = null, seconds = SHOWN / 1000 } = {}) {
  const id = ++number;
  toasts.value = [...toasts.value, { id, text, kind, action, until: Date.now() + seconds * 1000 }];
  setTimeout(() => dismiss(id), seconds * 1000);
  if (action) announce(text);
  return id;
}

export function complain(error) {
  if (error?.status !== 401) note(error?.message ?? String(error), { kind: "danger" });
}
