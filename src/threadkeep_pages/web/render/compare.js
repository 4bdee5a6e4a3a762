// Two things side by side. Two objects with names and values become one table with a row for each name, so that the eye
// can compare; anything else becomes two panels, which stand above each other on a phone.

import { html } from "../preact.js";
import { Json } from "./json.js";
import { Markdown } from "./markdown.js";
import { columnFormat, isRecord, labelOf, textOf, wordsOf } from "./value.js";
import { t } from "../language.js";

/** The block {leftTitle, rightTitle, left, right, title?}. */
export function SplitCompare({ block }) {
  const titles = [textOf(block.leftTitle) || t("left"), textOf(block.rightTitle) || t("right")];
  const sides = [block.left, block.right];
  const isAligned = sides.every((side) => isRecord(side) && Object.keys(side).length > 0);
  return html`
    ${wordsOf(block.title) && html`<p class="tk-title" dir="auto">${block.title}</p>`}
    <${isAligned ? Aligned : Panels} titles=${titles} sides=${sides} />
  `;
}

function Aligned({ titles, sides }) {
  const names = [...new Set(sides.flatMap(Object.keys))];
  return html`<table class="tk-compare" role="table">
    <thead role="rowgroup">
      <tr role="row">
        <td role="cell" />
        ${titles.map((title) => html`<th scope="col" role="columnheader" dir="auto">${title}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${names.map((name) => html`<${Line} name=${name} values=${sides.map((side) => own(side, name))} />`)}
    </tbody>
  </table>`;
}

function own(side, name) {
  return Object.hasOwn(side, name) ? side[name] : null;
}

function Line({ name, values }) {
  const format = columnFormat(name, values);
  return html`<tr role="row">
    <th scope="row" role="rowheader" dir="auto">${labelOf(name)}</th>
    ${values.map(
      (value) => html`<td role="cell" dir="auto">${format(value) || html`<span class="tk-none">–</span>`}</td>`,
    )}
  </tr>`;
}

function Panels({ titles, sides }) {
  const format = columnFormat("", sides);
  return html`<div class="tk-panels">
    ${titles.map(
      (title, at) =>
        html`<div>
        <p class="tk-label" dir="auto">${title}</p>
        <${Side} side=${sides[at]} format=${format} />
      </div>`,
    )}
  </div>`;
}

function Side({ side, format }) {
  if (side === null || side === undefined || side === "") return html`<p class="tk-none">–</p>`;
  if (typeof side === "string") return html`<${Markdown} text=${side} />`;
  if (Array.isArray(side)) {
    return html`<ul>
      ${side.map((item) => html`<li dir="auto">${textOf(item)}</li>`)}
    </ul>`;
  }
  return isRecord(side) ? html`<${Json} value=${side} />` : html`<p class="tk-figure">${format(side)}</p>`;
}
