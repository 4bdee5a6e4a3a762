// A ranked list: rows in order of merit as a table, the best first, each score with a bar that shows it at a glance.

import { html } from "../preact.js";
import { SortedTable } from "./sorted.js";
import { isRecord, labelOf, listOf, numberOf, wordsOf } from "./value.js";
import { t } from "../language.js";

const FIRST = ["ticker", "symbol", "name", "title", "label", "score"];
const IS_RANK = new Set(["rank", "#", "position"]);

/** The block {rows: [{ticker, name, score, …}], title?}. */
export function RankedList({ block }) {
  const records = listOf(block.rows).map((row) => (isRecord(row) ? row : { name: row }));
  const names = [...new Set(records.flatMap((row) => Object.keys(row)))].filter((name) => !IS_RANK.has(name));
  const ordered = [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))];
  const columns = ordered.map((name) => ({ name, label: labelOf(name), draw: drawing(name, records) }));
  const rows = records.map((row) => ordered.map((name) => (Object.hasOwn(row, name) ? row[name] : null)));
  const measure = [wordsOf(block.measure), wordsOf(block.unit)].filter(Boolean).join(", ");
  return html`
    <${SortedTable} title=${wordsOf(block.title)} columns=${columns} rows=${rows} numbered empty=${t("emptyList")} />
    ${measure && html`<p class="tk-note tk-measure" dir="auto">${t("score", { measure })}</p>`}
  `;
}

function drawing(name, records) {
  if (name === "ticker" || name === "symbol") return (_, shown) => shown && html`<b class="tk-ticker">${shown}</b>`;
  if (name !== "score") return undefined;
  const most = Math.max(...records.map((row) => Math.abs(numberOf(row.score) ?? 0)));
  return (value, shown) => scored(numberOf(value), most, shown);
}

function scored(score, most, shown) {
  if (score === null || most <= 0) return shown;
  const share = Math.min(100, (Math.abs(score) / most) * 100);
  return html`<span class="tk-score" data-below=${score < 0}>
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${share} height="8" /></svg>${shown}
  </span>`;
}
