// The sheet at the side: what belongs to this conversation, or the preferences of whoever reads it, never both at once. What
// `foot` holds stays in view, however far one scrolls.

import { html } from "../preact.js";
import { dialog, opened } from "../views.js";
import { Dialog } from "./dialog.js";
import { t } from "../language.js";

export function Sheet({ name, title, children, foot = null, onSubmit = null }) {
  const tab = (key, label) =>
    html`<button type="button" class="tab" aria-pressed=${key === name} onClick=${() => (dialog.value = key)}>${label}</button>`;
  const body = html`<div class="sheet-body">${children}</div>
    ${foot && html`<div class="sheet-foot">${foot}</div>`}`;
  return html`<${Dialog} title=${title} onClose=${() => (dialog.value = null)} class="sheet" testid=${name}>
    <div class="tab-line" role="group" aria-label=${t("settings")}>
      ${tab("settings", t(opened.value?.about.value ? "thisConversation" : "nextConversation"))}${tab("preferences", t("preferences"))}
    </div>
    ${onSubmit ? html`<form class="sheet-form" onSubmit=${onSubmit}>${body}</form>` : html`<div class="sheet-form">${body}</div>`}
  <//>`;
}
