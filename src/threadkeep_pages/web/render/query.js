// What was really looked for: a follow-up ("tell me more about that") is rewritten before anything is searched with it.

import { html } from "../preact.js";
import { Pairs } from "./json.js";
import { AWAY, safeUrl } from "./links.js";
import { isRecord, listOf, textOf } from "./value.js";
import { number, t } from "../language.js";

/** The items of kind "query" in a trace that something was looked for with, each on demand. */
export function RewrittenQuery({ trace }) {
  const wasSearched = (item) => isRecord(item) && item.kind === "query" && (item.route ?? "retrieve") === "retrieve";
  const items = listOf(trace).filter(wasSearched);
  return items.map((item, at) => html`<${Query} key=${at} item=${item} />`);
}

function Query({ item }) {
  const question = textOf(item.question);
  const words = listOf(item.words).map(textOf).join(" ");
  const looked = [textOf(item.rewritten) || question, words].filter(Boolean).join(" · ");
  const passages = listOf(item.passages);
  const told = [
    [t("lookedFor"), looked],
    [t("asked"), question === looked ? "" : question],
    [t("rewrittenBy"), item.by],
    [t("because"), item.why],
    [t("failedWith"), item.error],
  ];
  return html`<details class="tk-knot tk-query">
    <summary>${t("lookedUp")}</summary>
    <${Pairs} pairs=${told.filter(([, value]) => textOf(value) !== "")} />
    ${
      passages.length > 0 &&
      html`<ol class="tk-passages">
      ${passages.map((passage) => html`<li dir="auto"><${Passage} passage=${passage} /></li>`)}
    </ol>`
    }
  </details>`;
}

function Passage({ passage }) {
  if (!isRecord(passage)) return textOf(passage);
  const name = textOf(passage.title ?? passage.source ?? passage.id) || t("passage");
  const url = safeUrl(passage.url);
  const score =
    typeof passage.score === "number"
      ? number(passage.score, { minimumFractionDigits: 2, maximumFractionDigits: 2 })
      : "";
  return html`
    ${url ? html`<a href=${url} ...${AWAY}>${name}</a>` : html`<b>${name}</b>`}
    ${score && html`<span class="tk-note"> ${score}</span>`}
    ${passage.text && html`<span class="tk-passage"> ${textOf(passage.text).slice(0, 300)}</span>`}
  `;
}
