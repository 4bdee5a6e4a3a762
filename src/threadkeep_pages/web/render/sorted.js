// A table whose columns can be sorted by the reader. Values that are missing stay at the end, whichever way it is sorted.

import { html, useLayoutEffect, useMemo, useRef, useState } from "../preact.js";
import { tableTools } from "./tabular.js";
import { columnFormat, numberOf, textOf } from "./value.js";
import { inOrder, t } from "../language.js";

const AT_FIRST = 50;
const MOST_COLUMNS = 40;
const LONG = 28;

/**
 * `columns` are {name, label, draw?}, `rows` are arrays of values in their order. `numbered` puts the place of each row in
 * the given order before it; sorting does not change that number. `draw(value, column, shown)` may return its own cell.
 */
export function SortedTable({ title, columns, rows, numbered = false, empty = t("noRows") }) {
  const [order, setOrder] = useState({ column: -1, down: false });
  const [isWhole, setWhole] = useState(false);
  const shown = columns.slice(0, MOST_COLUMNS);
  const formats = useMemo(() => shown.map(({ name }, at) => columnFormat(name, valuesOf(rows, at))), [columns, rows]);
  const places = useMemo(() => sorted(rows, order), [rows, order]);
  const numeric = useMemo(() => shown.map((_, at) => isNumeric(rows, at)), [columns, rows]);
  const turn = (column) => setOrder(next(order, column, column >= 0 && numeric[column]));
  if (rows.length === 0) return html`<p class="tk-none">${empty}</p>`;
  return html`
    <div class="tk-scroll" tabindex="0" role="group" aria-label=${title || t("table")}>
      <table class="tk-table">
        ${title && html`<caption dir="auto">${title}</caption>`}
        <thead>
          <tr>
            ${numbered && html`<${Head} label="#" spoken=${t("rank")} column=${-1} number=${true} ...${{ order, turn }} />`}
            ${shown.map(
              ({ label }, at) =>
                html`<${Head} label=${label} column=${at} number=${numeric[at]} ...${{ order, turn }} />`,
            )}
          </tr>
        </thead>
        <tbody>
          ${places.slice(0, isWhole ? undefined : AT_FIRST).map(
            (place) =>
              html`<tr key=${place}>
              ${numbered && html`<td class="tk-number tk-rank">${place + 1}</td>`}
              ${shown.map((column, at) => {
                const [format, number] = [formats[at], numeric[at]];
                return html`<${Cell} value=${rows[place][at]} column=${column} format=${format} number=${number} />`;
              })}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <${Tools} read=${() => texts(shown, formats, places, rows)} />
    ${
      rows.length > AT_FIRST &&
      html`<button type="button" class="tk-more" aria-expanded=${isWhole} onClick=${() => setWhole(!isWhole)}>
      ${isWhole ? t("showLess") : t("showAllRows", { n: rows.length })}
    </button>`
    }
  `;
}

function Tools({ read }) {
  const box = useRef(null);
  const now = useRef(read);
  now.current = read;
  useLayoutEffect(() => box.current.replaceChildren(tableTools(() => now.current())), []);
  return html`<div ref=${box} />`;
}

/** Return the whole table in the order that it is shown in, as texts; numbers whole, as a program would read them. */
function texts(columns, formats, places, rows) {
  const written = (value, at) => (typeof value === "number" ? String(value) : formats[at](value));
  return [
    columns.map(({ label }) => label),
    ...places.map((place) => columns.map((_, at) => written(rows[place][at], at))),
  ];
}

function Head({ label, spoken, order, column, turn, number }) {
  const isChosen = order.column === column;
  const way = isChosen ? (order.down ? "descending" : "ascending") : "none";
  const name = spoken ?? (label ? undefined : t("column", { n: column + 1 }));
  return html`<th scope="col" aria-sort=${way} class=${number ? "tk-number" : ""}>
    <button type="button" dir="auto" aria-label=${name} onClick=${() => turn(column)}>
      ${label}<span class="tk-arrow" aria-hidden="true">${isChosen ? (order.down ? "↓" : "↑") : ""}</span>
    </button>
  </th>`;
}

function Cell({ value, column, format, number }) {
  const shown = format(value);
  const drawn = column.draw?.(value, shown) ?? shown;
  const whole = typeof value === "number" && String(value) !== shown ? String(value) : undefined;
  const look = number ? "tk-number" : shown.length > LONG ? "tk-long" : "";
  return html`<td dir="auto" title=${whole} class=${look}>
    ${drawn === "" ? html`<span class="tk-none">–</span>` : drawn}
  </td>`;
}

const valuesOf = (rows, column) => rows.map((row) => row[column]);

function isNumeric(rows, at) {
  const values = valuesOf(rows, at).filter((value) => value !== null && value !== undefined && value !== "");
  return values.length > 0 && values.every((value) => numberOf(value) !== null);
}

/** Return the order after a press: numbers begin with the largest, words with A; the other way at the second press. */
function next(order, column, isNumber) {
  if (order.column === column) return { column, down: !order.down };
  return { column, down: isNumber };
}

/** Return the places of the rows in the order that they are shown in. */
function sorted(rows, { column, down }) {
  const places = rows.map((_, place) => place);
  if (column < 0) return down ? places.reverse() : places;
  const sign = down ? -1 : 1;
  return places.sort((a, b) => compare(rows[a][column], rows[b][column], sign) || a - b);
}

function compare(one, other, sign) {
  const [a, b] = [textOf(one), textOf(other)];
  if (a === "" || b === "") return (a === "" ? 1 : 0) - (b === "" ? 1 : 0);
  const [x, y] = [numberOf(one), numberOf(other)];
  if (x !== null && y !== null) return sign * (x - y);
  return sign * inOrder(a, b);
}
