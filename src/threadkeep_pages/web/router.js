// Which view the address names: `/` is a new conversation, `/c/<id>` a conversation, `?at=<entry>` a place in it; there is no
// other.

import { signal } from "./preact.js";

// What stands before every path of ours where a proxy serves us under a part of its host; mostly nothing.
export const ROOT = document.documentElement.dataset.root ?? "";
// Whether this is a conversation in a file of its own (`read.js`), with no server behind it.
export const isAlone = "alone" in document.documentElement.dataset;

function read() {
  const path = location.pathname.slice(ROOT.length);
  const match = path.match(/^\/c\/([^/]+)$/);
  const query = new URLSearchParams(location.search);
  const at = Number(query.get("at"));
  return {
    conversation: match ? decodeURIComponent(match[1]) : null,
    at: Number.isInteger(at) && at > 0 ? at : null,
    assistant: match ? null : query.get("assistant"),
    isUnknown: !match && path !== "/",
  };
}

export const route = signal(read());

addEventListener("popstate", () => {
  route.value = read();
});

export function addressOf(conversation, at) {
  if (!conversation) return `${ROOT}/`;
  return `${ROOT}/c/${encodeURIComponent(conversation)}${at ? `?at=${at}` : ""}`;
}

export function go(conversation, { at = null, instead = false } = {}) {
  history[instead ? "replaceState" : "pushState"](null, "", addressOf(conversation, at));
  route.value = read();
}

// Follows a click on a link of ours without loading the page anew.
export function onLink(event, conversation, options) {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(conversation, options);
}
