// The structured parts of an answer, each drawn in its own way. A type that this page does not know, and a block that
// cannot be drawn, is shown as the JSON that it is: nothing is lost, nothing breaks the page.

import { html, useErrorBoundary } from "../preact.js";
import { Chart } from "./chart.js";
import { Citations } from "./cite.js";
import { SplitCompare } from "./compare.js";
import { Json } from "./json.js";
import { Markdown } from "./markdown.js";
import { RankedList } from "./ranked.js";
import { SortedTable } from "./sorted.js";
import { isRecord, labelOf, listOf, textOf, wordsOf } from "./value.js";
import { t } from "../language.js";

const DRAWN = new Map([
  ["narrative", Narrative],
  ["ranked_list", RankedList],
  ["split_compare", SplitCompare],
  ["table", Table],
  ["chart", Chart],
  ["citation", ({ block }) => html`<${Citations} blocks=${block.all} />`],
]);

/** All blocks of a message, in order. */
export function Blocks({ blocks }) {
  const parts = grouped(listOf(blocks).filter(isRecord));
  if (parts.length === 0) return null;
  return html`<div class="tk-blocks">${parts.map((block, at) => html`<${Guarded} key=${at} block=${block} />`)}</div>`;
}

/** Return the blocks with citations that follow one another as one. */
function grouped(blocks) {
  const parts = [];
  for (const block of blocks) {
    const last = parts.at(-1);
    if (block.type !== "citation") parts.push(block);
    else if (last?.type === "citation") last.all.push(block);
    else parts.push({ type: "citation", all: [block] });
  }
  return parts;
}

function Guarded({ block }) {
  const [failure] = useErrorBoundary();
  const Drawn = failure ? Unknown : (DRAWN.get(block.type) ?? Unknown);
  return html`<div class="tk-block" data-type=${textOf(block.type)}><${Drawn} block=${block} /></div>`;
}

function Narrative({ block }) {
  return html`<${Markdown} text=${textOf(block.text)} />`;
}

function Table({ block }) {
  const listed = listOf(block.rows);
  const keys = [...new Set(listed.filter(isRecord).flatMap((row) => Object.keys(row)))];
  const given = listOf(block.columns);
  const names = given.length > 0 ? given : keys;
  const rows = listed.map((row) => cellsOf(row, names));
  const width = rows.reduce((most, row) => Math.max(most, row.length), names.length);
  const columns = Array.from({ length: width }, (_, at) => {
    const name = textOf(names[at]);
    return { name, label: at < given.length ? name : labelOf(name) };
  });
  return html`<${SortedTable} title=${wordsOf(block.title)} columns=${columns} rows=${rows} />`;
}

function cellsOf(row, names) {
  if (isRecord(row)) return names.map((name) => row[textOf(name)] ?? null);
  return Array.isArray(row) ? row : [row];
}

function Unknown({ block }) {
  const { type, ...fields } = block;
  return html`<div class="tk-unknown">
    <p class="tk-label" dir="auto">${labelOf(textOf(type) || t("block"))}</p>
    <${Json} value=${fields.all ?? fields} />
  </div>`;
}
