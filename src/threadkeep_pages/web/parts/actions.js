// What can be done with one message: copy, edit, answer again, walk between siblings.

import { html } from "../preact.js";
import { copyText } from "../copying.js";
import { toField } from "../focus.js";
import { Icon, IconButton } from "./icon.js";
import { t } from "../language.js";

// ‹ 2/3 ›: the messages that continue the same entry. Walking only looks; it moves nobody's head.
export function Siblings({ conversation, message }) {
  const { siblings, seq } = message;
  if (!siblings || siblings.length < 2) return null;
  const place = siblings.indexOf(seq);
  const step = (by) => {
    // A second press goes on from where the first one leads to, also before that is read.
    const sought = siblings.indexOf(conversation.sought);
    const next = siblings[(sought >= 0 ? sought : place) + by];
    if (next) conversation.look(next);
  };
  return html`<span class="siblings" role="group" aria-label=${t("versions")} data-testid="siblings">
    <${IconButton} name="left" label=${t("previousVersion")} data-action="version-before" disabled=${place <= 0} onClick=${() => step(-1)} />
    <span>${place + 1}/${siblings.length}</span>
    <${IconButton} name="right" label=${t("nextVersion")} data-action="version-after" disabled=${place >= siblings.length - 1}
      onClick=${() => step(1)} />
  </span>`;
}

export function Copy({ text, label = t("copyMarkdown") }) {
  return html`<${IconButton} name="copy" label=${label} data-action="copy" onClick=${() => copyText(text)} />`;
}

export function Button({ icon, label, ...rest }) {
  return html`<button type="button" class="button" ...${rest}>${icon && html`<${Icon} name=${icon} />`}${label}</button>`;
}

/** Asks for another answer in place of one. */
export function answerAgain(conversation, message) {
  conversation.regenerate(message);
  toField();
}
