// Which parts of the page are open, and the conversation that the address names.

import { attachedTo, draftOf, keepAttached, keepDraft } from "./drafts.js";
import * as outbox from "./outbox.js";
import { OpenConversation } from "./conversation.js";
import { effect, signal, untracked } from "./preact.js";
import { go, route } from "./router.js";
import { markSeen } from "./unread.js";

export const isSidebarOpen = signal(false); // on a phone, where it covers the conversation
/** @type {Signal<"shortcuts" | "tree" | "settings" | "preferences" | "prompts" | "share" | "data" | "administration" | "image" | null>} */
export const dialog = signal(null);
/** @type {Signal<{ images: Pick<FilePart, "file" | "name">[], at: number }>} */
export const viewed = signal({ images: [], at: 0 }); // what the dialog "image" shows
/** @type {Signal<{ kind: "html" | "svg" | "markdown", text: string } | null>} */
export const artifact = signal(null); // what is shown beside the conversation
export const isLeaving = signal(false); // everything was deleted, the login too, and the receipt is being read
export const query = signal(""); // what is searched for
export const showsArchived = signal(false);
export const filter = signal(""); // which conversations are listed: "", or "assistant=…" or "status=…"
/** @type {Signal<About | null>} */
export const filed = signal(null); // the conversation whose folder is being chosen
/** @type {Signal<OpenConversation | null>} */
export const opened = signal(null); // the open conversation, or none
/** @type {Signal<string | null>} */
export const assistant = signal(null); // who shall answer in a new conversation
/** @type {Signal<{ model?: string, system?: string, options?: Record<string, unknown>, temporary?: boolean }>} */
export const wishes = signal({}); // how it shall be answered there
/** @type {Signal<number | null>} */
export const editing = signal(null); // the entry that is being edited

export function start() {
  effect(() => {
    const { conversation, at } = route.value;
    untracked(() => open(conversation, at));
  });
  // What is on the screen is seen.
  effect(() => {
    const conversation = opened.value;
    if (conversation?.phase.value === "ready" && !conversation.draft.value && !document.hidden) {
      markSeen(conversation.id, conversation.head.value);
    }
  });
  // A conversation that began in this browser gets its real address when the server has made it.
  effect(() => {
    const { conversation } = route.value;
    const watched = [outbox.items.value, outbox.taken.value];
    if (watched && outbox.isLocal(conversation)) {
      const made = outbox.createdFrom(conversation);
      if (made) untracked(() => move(conversation, made));
    }
  });
}

// Takes along what has been written meanwhile.
function move(local, made) {
  const text = draftOf(local);
  keepDraft(local, "");
  if (text) keepDraft(made, text);
  keepAttached(made, attachedTo(local));
  keepAttached(local, []);
  go(made, { instead: true });
}

function open(id, at) {
  const before = opened.value;
  if (before && before.id === id && before.phase.value !== "gone") {
    if (at) before.look(at, true);
    return;
  }
  before?.close();
  editing.value = null;
  artifact.value = null;
  isSidebarOpen.value = false;
  opened.value = id ? new OpenConversation(id, at) : null;
}

// Sends the first message of a new conversation.
/**
 * @param {string} content
 * @param {string} [name] of the assistant
 * @param {Attached[]} [attached]
 */
export function begin(content, name, attached) {
  const local = outbox.newLocal();
  const { model, system, options = {}, temporary } = wishes.value;
  const metadata = Object.keys(options).length ? { model_options: options } : undefined;
  outbox.add({
    conversation: local,
    content,
    attached,
    settings: { assistant: name, model, system, metadata, temporary },
  });
  wishes.value = {};
  go(local);
}

// Goes to an empty page with the cursor in the field.
/** @param {string | null} [name] */
export function beginAnew(name = null) {
  assistant.value = name;
  isSidebarOpen.value = false;
  go(null);
  requestAnimationFrame(() => document.getElementById("composer")?.focus());
}
