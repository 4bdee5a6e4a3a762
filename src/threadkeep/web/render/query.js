// What was really looked for: a follow-up ("tell me more about that") is rewritten before anything is searched with it.

import { html } from "../preact.js";
import { AWAY, safeUrl } from "./links.js";
import { isRecord, listOf, textOf } from "./value.js";

/** The items of kind "query" in a trace that something was looked for with, each on demand. */
export function RewrittenQuery({ trace }) {
  const wasSearched = (item) => isRecord(item) && item.kind === "query" && (item.route ?? "retrieve") === "retrieve";
  const items = listOf(trace).filter(wasSearched);
  return items.map((item, at) => html`<${Query} key=${at} item=${item} />`);
}

function Query({ item }) {
  const question = textOf(item.question);
  const looked = textOf(item.rewritten) || textOf(item.words) || question;
  const passages = listOf(item.passages);
  return html`<details class="tk-query">
    <summary>Looked for <q dir="auto">${looked}</q></summary>
    <dl class="tk-pairs">
      ${question && question !== looked && html`<div><dt>Asked</dt><dd dir="auto">${question}</dd></div>`}
      ${item.words && textOf(item.words) !== looked && html`<div><dt>Words</dt><dd dir="auto">${textOf(item.words)}</dd></div>`}
      ${item.by && html`<div><dt>Rewritten by</dt><dd dir="auto">${textOf(item.by)}</dd></div>`}
      ${item.why && html`<div><dt>Because</dt><dd dir="auto">${textOf(item.why)}</dd></div>`}
      ${item.error && html`<div><dt>Failed</dt><dd class="tk-error" dir="auto">${textOf(item.error)}</dd></div>`}
      ${typeof item.passages === "number" && html`<div><dt>Found</dt><dd>${item.passages === 1 ? "1 passage" : `${item.passages} passages`}</dd></div>`}
    </dl>
    ${passages.length > 0 && html`<ol class="tk-passages">${passages.map((passage) => html`<li dir="auto"><${Passage} passage=${passage} /></li>`)}</ol>`}
  </details>`;
}

function Passage({ passage }) {
  if (!isRecord(passage)) return textOf(passage);
  const name = textOf(passage.title ?? passage.source ?? passage.id) || "passage";
  const url = safeUrl(passage.url);
  const score = typeof passage.score === "number" ? passage.score.toFixed(2) : "";
  return html`
    ${url ? html`<a href=${url} ...${AWAY}>${name}</a>` : html`<b>${name}</b>`}
    ${score && html`<span class="tk-note"> ${score}</span>`}
    ${passage.text && html`<span class="tk-passage"> ${textOf(passage.text).slice(0, 300)}</span>`}
  `;
}
