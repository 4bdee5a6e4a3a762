// The title of a conversation; a click makes it a field.

import { html, useRef, useState } from "../preact.js";
import { titleOf } from "../titles.js";
import { t } from "../language.js";

export function Title({ conversation }) {
  const about = conversation.about.value;
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    const save = (text) => {
      setEdited(false);
      if (text.trim() && text.trim() !== about.title) conversation.change({ title: text.trim() });
    };
    return html`<${TitleField} title=${about.title ?? ""} onSave=${save} onLeave=${() => setEdited(false)} />`;
  }
  return html`<h1 class="title" dir="auto">
    <button type="button" class="plain" title=${t("renameHint", { title: titleOf(about) })} onClick=${() => setEdited(true)} data-testid="title">${titleOf(about)}</button>
  </h1>`;
}

// A field for a title. Leaving it saves, whether by Enter or by going elsewhere; Escape does not.
export function TitleField({ title, onSave, onLeave }) {
  const isOver = useRef(false);
  const end = (run) => {
    if (isOver.current) return;
    isOver.current = true;
    run();
  };
  const onKeyDown = (event) => {
    const { value } = event.currentTarget;
    event.stopPropagation();
    if (event.key === "Enter" && !event.isComposing) end(() => onSave(value));
    if (event.key === "Escape") end(onLeave);
  };
  const onBlur = (event) => {
    const { value } = event.currentTarget;
    end(() => onSave(value));
  };
  return html`<input class="title-field" aria-label=${t("titleField")} dir="auto" maxlength="500" defaultValue=${title} onKeyDown=${onKeyDown}
    ref=${(field) => field && !field.dataset.ready && ready(field)} onBlur=${onBlur} />`;
}

function ready(field) {
  field.dataset.ready = "true";
  field.focus();
  field.select();
}
