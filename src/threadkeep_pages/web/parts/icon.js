// An icon from the sheet; it takes the colour of the text around it and says nothing to a screen reader.

import { html } from "../preact.js";
import { ROOT, isAlone } from "../router.js";

const SHEET = isAlone ? "" : `${ROOT}/static/icons.svg`;

export function Icon({ name }) {
  return html`<svg class="icon" aria-hidden="true" focusable="false"><use href=${`${SHEET}#${name}`} /></svg>`;
}

// A button that shows only an icon; its label is its name and its hint.
export function IconButton({ name, label, class: kind = "", ...rest }) {
  return html`<button type="button" class=${`icon-button ${kind}`} aria-label=${label} title=${label} ...${rest}>
    <${Icon} name=${name} />
  </button>`;
}
