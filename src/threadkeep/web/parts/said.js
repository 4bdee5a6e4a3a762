// What a person said: a bubble, with its text as it was written, and the field in which it is edited into a branch.

import { html, useLayoutEffect, useRef } from "../preact.js";
import { editing } from "../views.js";
import { Button, Copy, Siblings } from "./actions.js";
import { IconButton } from "./icon.js";

export function Said({ conversation, message }) {
  if (editing.value === message.seq) return html`<${Edit} conversation=${conversation} message=${message} />`;
  return html`<article class="said" data-seq=${message.seq} data-role="user" tabindex="-1" aria-label="You">
    <div class="bubble" dir="auto">${message.content}</div>
    <footer class="actions">
      <${Siblings} conversation=${conversation} message=${message} />
      <${Copy} text=${message.content} label="Copy this message" />
      <${IconButton} name="edit" label="Edit this message: makes a branch" onClick=${() => (editing.value = message.seq)} />
    </footer>
  </article>`;
}

function Edit({ conversation, message }) {
  /** @type {{ current: HTMLTextAreaElement }} */
  const field = useRef(null);
  useLayoutEffect(() => {
    field.current.focus();
    field.current.setSelectionRange(message.content.length, message.content.length);
  }, []);
  const leave = () => {
    editing.value = null;
    const said = () => /** @type {HTMLElement | null} */ (document.querySelector(`[data-seq="${message.seq}"]`));
    requestAnimationFrame(() => said()?.focus());
  };
  const save = () => {
    const text = field.current.value.trim();
    editing.value = null;
    if (text) conversation.edit(message, text);
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      leave();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    }
  };
  return html`<article class="said editing" data-seq=${message.seq}>
    <textarea ref=${field} dir="auto" aria-label="Edit your message" onKeyDown=${onKeyDown} defaultValue=${message.content} />
    <div class="edit-buttons">
      <span class="muted">Sent as a new branch; the old one stays.</span>
      <${Button} label="Cancel" onClick=${leave} />
      <${Button} label="Send" class="button primary" onClick=${save} />
    </div>
  </article>`;
}
