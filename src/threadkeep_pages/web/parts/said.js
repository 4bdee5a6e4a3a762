// What a person said, and the field in which it is edited into a branch.

import { html, useLayoutEffect, useRef, useState } from "../preact.js";
import { Bubble } from "../render/bubble.js";
import { attachedFrom } from "../files.js";
import { choose, isByKeys, messages, toField } from "../focus.js";
import { editing } from "../views.js";
import { Button, Copy, Siblings } from "./actions.js";
import { Attached, Files } from "./attached.js";
import { IconButton } from "./icon.js";
import { t } from "../language.js";

export function Said({ conversation, message }) {
  if (editing.value === message.seq) return html`<${Edit} conversation=${conversation} message=${message} />`;
  return html`<article class="said" data-seq=${message.seq} data-role="user" tabindex="-1" aria-label=${t("you")}>
    <${Files} parts=${message.parts} />
    ${message.content && html`<${Bubble} text=${message.content} />`}
    <footer class="actions">
      <${Siblings} conversation=${conversation} message=${message} />
      <${Copy} text=${message.content} label=${t("copyMessage")} />
      <${IconButton} name="edit" label=${t("editMessage")} onClick=${() => (editing.value = message.seq)} />
    </footer>
  </article>`;
}

function Edit({ conversation, message }) {
  /** @type {{ current: HTMLTextAreaElement }} */
  const field = useRef(null);
  const [attached, setAttached] = useState(() => attachedFrom(message.parts));
  useLayoutEffect(() => {
    field.current.focus();
    field.current.setSelectionRange(message.content.length, message.content.length);
  }, []);
  const leave = (event) => {
    editing.value = null;
    // Who came by a key and leaves by one has chosen the message; who clicks goes on writing.
    if (event.type === "click" || !isByKeys()) return toField();
    return requestAnimationFrame(() => {
      const said = messages().find((one) => one.dataset.seq === String(message.seq));
      if (said) choose(said);
    });
  };
  const save = () => {
    const text = field.current.value.trim();
    editing.value = null;
    if (text || attached.length) conversation.edit(message, text, attached);
    toField();
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      leave(event);
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    }
  };
  return html`<article class="said editing" data-seq=${message.seq}>
    <${Attached} list=${attached} onRemove=${(one) => setAttached(attached.filter((other) => other !== one))} />
    <textarea ref=${field} dir="auto" aria-label=${t("editYours")} onKeyDown=${onKeyDown} defaultValue=${message.content} />
    <div class="edit-buttons">
      <span class="muted">${t("sentAsBranch")}</span>
      <${Button} label=${t("cancel")} onClick=${leave} />
      <${Button} label=${t("send")} class="button primary" onClick=${save} />
    </div>
  </article>`;
}
