// Long things, folded: the beginning is shown, the rest on request.

import { html, useState } from "../preact.js";
import { t } from "../language.js";

/** A text as it was written, with at most `lines` lines until the reader asks for all of it. */
export function Folded({ text, lines = 18, dress = (shown) => shown }) {
  const [isOpen, setOpen] = useState(false);
  const cut = endOf(text, lines);
  const shown = isOpen ? text : text.slice(0, cut);
  return html`
    <pre class="tk-pre" tabindex="0" dir="auto">${dress(shown)}</pre>
    ${
      cut < text.length &&
      html`<button type="button" class="tk-more" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      ${isOpen ? t("showLess") : t("showAllCharacters", { n: text.length })}
    </button>`
    }
  `;
}

const WIDEST = 160;

/** Return where so many lines end, or so many that very long lines would take as much room. */
function endOf(text, lines) {
  let end = 0;
  for (let line = 0; line < lines && end < text.length; line += 1) {
    const next = text.indexOf("\n", end);
    end = next < 0 ? text.length : next + 1;
  }
  return text.length - end < WIDEST && end <= lines * WIDEST ? text.length : Math.min(end, lines * WIDEST);
}
