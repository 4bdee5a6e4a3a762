// What a person said, as a bubble: its text drawn as Markdown, a long one folded.

import { html, useState } from "../preact.js";
import { Markdown } from "./markdown.js";
import { t } from "../language.js";

const LONGEST = 3000; // characters, or so many lines, are shown before somebody asks for more
const MOST_LINES = 25;

export function Bubble({ text }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > LONGEST || text.split("\n", MOST_LINES + 1).length > MOST_LINES;
  return html`<div class="bubble" dir="auto" data-folded=${isLong && !isOpen}><${Markdown} text=${text} breaks /></div>
    ${
      isLong &&
      html`<button type="button" class="link unfold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
      ${isOpen ? t("showLess") : t("showAllOfIt")}</button>`
    }`;
}
