// JSON for people: a flat object as a list of names and values, anything else indented and coloured.

import { html } from "../preact.js";
import { Folded } from "./fold.js";
import { isRecord, jsonOf, textOf } from "./value.js";

const MOST_PAIRS = 24;
const LONGEST_VALUE = 300;
const LONGEST_COLOURED = 40_000;
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)/g;

/** A JSON value. */
export function Json({ value }) {
  if (isFlat(value)) return html`<${Pairs} pairs=${Object.entries(value)} />`;
  return html`<${Folded} text=${jsonOf(value)} dress=${coloured} />`;
}

/** Names with their values, side by side. */
export function Pairs({ pairs }) {
  return html`<dl class="tk-pairs">
    ${pairs.map(
      ([name, value]) =>
        html`<div>
        <dt dir="auto">${name}</dt>
        <dd dir="auto" data-type=${value === null ? "null" : typeof value}>${textOf(value) || String(value)}</dd>
      </div>`,
    )}
  </dl>`;
}

function isFlat(value) {
  if (!isRecord(value)) return false;
  const values = Object.values(value);
  const isPlain = (item) => item === null || (typeof item !== "object" && String(item).length <= LONGEST_VALUE);
  return values.length > 0 && values.length <= MOST_PAIRS && values.every(isPlain);
}

/** Return indented JSON with its parts marked; a very long one stays plain. */
function coloured(text) {
  if (text.length > LONGEST_COLOURED) return text;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKENS)) {
    const [whole, string, colon, word] = match;
    parts.push(text.slice(end, match.index));
    const kind = string ? (colon ? "key" : "string") : word ? "word" : "number";
    parts.push(html`<span class=${`tk-json-${kind}`}>${string ?? whole}</span>`, colon ?? "");
    end = match.index + whole.length;
  }
  return [...parts, text.slice(end)];
}
