// A chart as SVG made of nodes: axes, a legend, the values under the pointer, and the numbers themselves as a table for
// whoever wants or needs to read them. Series differ by colour, by dashes and by the shape of their points.

import { html, useLayoutEffect, useRef, useState } from "../preact.js";
import { Bars, Lines, Mark } from "./marks.js";
import { Pie } from "./pie.js";
import { scale, ticks, valueTicks, written } from "./scale.js";
import { describe, readChart } from "./series.js";
import { SortedTable } from "./sorted.js";
import { wordsOf } from "./value.js";
import { t } from "../language.js";

const LETTER = 7.2;
const FEW = 8;
/** @type {Record<string, TextKey>} */
const AXES = { dates: "axisDate", names: "axisName" };

/** The block {chart, series, labels?, title?, unit?}. */
export function Chart({ block }) {
  const chart = readChart(block);
  const values = chart.series.flatMap((one) => one.values).filter((value) => value !== null);
  const title = wordsOf(block.title);
  const caption = title && html`<figcaption class="tk-title" dir="auto">${title}</figcaption>`;
  if (values.length === 0) {
    return html`<figure class="tk-chart">${caption}<p class="tk-none">${t("nothingToDraw")}</p></figure>`;
  }
  return html`<figure class="tk-chart">
    ${caption}
    <${chart.kind === "pie" ? Pie : Drawing} chart=${chart} values=${values} title=${title} spoken=${describe(block, chart)} />
    ${chart.left > 0 && html`<p class="tk-note">${t("moreSeries", { n: chart.left })}</p>`}
    <details class="tk-numbers">
      <summary>${t("numbers")}</summary>
      <${Numbers} chart=${chart} />
    </details>
  </figure>`;
}

function Numbers({ chart }) {
  const columns = [
    { name: "x", label: AXES[chart.axis] ? t(AXES[chart.axis]) : "x" },
    ...chart.series.map(({ name }) => ({ name, label: name })),
  ];
  const rows = chart.places.map(({ label }, at) => [label, ...chart.series.map(({ values }) => values[at])]);
  return html`<${SortedTable} columns=${columns} rows=${rows} />`;
}

function Drawing({ chart, values, title, spoken }) {
  const [box, width] = useWidth();
  const [near, setNear] = useState(-1);
  // A short unit stands with each number, a longer one once above them.
  const isShort = chart.unit.length <= 2;
  const frame = layOut(chart, values, isShort ? chart.unit : "", width);
  const [point, leave] = [(event) => setNear(nearest(frame.xs, event.offsetX)), () => setNear(-1)];
  const x = frame.xs[near];
  const Marks = chart.kind === "bar" ? Bars : Lines;
  return html`<div class="tk-plot" ref=${box}>
    <svg width=${width} height=${frame.height} role="img" aria-label=${spoken}
      onPointerMove=${point} onPointerLeave=${leave}>
      <${Axes} frame=${frame} chart=${chart} unit=${isShort ? chart.unit : ""} />
      ${!isShort && html`<text class="tk-unit" x="0" y="10">${chart.unit}</text>`}
      ${near >= 0 && html`<line class="tk-near" x1=${x} x2=${x} y1=${frame.top} y2=${frame.bottom} />`}
      <${Marks} frame=${frame} chart=${chart} near=${near} />
    </svg>
    <${Legend} chart=${chart} title=${title} near=${near} />
  </div>`;
}

/** Return a reference for an element and how wide that element is. */
function useWidth() {
  /** @type {{ current: Element }} */
  const box = useRef(null);
  const [width, setWidth] = useState(560);
  useLayoutEffect(() => {
    const measure = () => box.current && setWidth(Math.max(220, Math.floor(box.current.clientWidth)));
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

/** Return where everything goes in a drawing of this width. */
function layOut({ kind, axis, places, unit: whole }, values, unit, width) {
  const height = width < 480 ? 220 : 260;
  const steps = valueTicks(values, kind, height / 55);
  const widest = Math.max(...steps.map((step) => written(step, unit).length));
  const [left, right, top, bottom] = [widest * LETTER + 12, width - 14, whole === unit ? 12 : 26, height - 28];
  const slot = (right - left) / places.length;
  const ends = [places[0].at, places.at(-1).at];
  const along = ends[0] === ends[1] ? () => (left + right) / 2 : scale(...ends, left + 8, right - 8);
  const xs = places.map(({ at }, place) => (axis === "names" ? left + slot * (place + 0.5) : along(at)));
  const y = scale(steps[0], steps.at(-1), bottom, top);
  return { width, height, left, right, top, bottom, steps, slot, xs, along, y };
}

function Axes({ frame, chart, unit }) {
  const { left, right, bottom, steps, y } = frame;
  return html`<g class="tk-axes">
    ${steps.map(
      (step) =>
        html`<g>
        <line class=${step === 0 ? "tk-zero" : ""} x1=${left} x2=${right} y1=${y(step)} y2=${y(step)} />
        <text x=${left - 8} y=${y(step)} dy="0.32em" text-anchor="end">${written(step, unit)}</text>
      </g>`,
    )}
    ${namesBelow(frame, chart).map(
      ({ x, text, whole }) =>
        html`<text x=${x} y=${bottom + 19} text-anchor="middle">
        ${text}<title>${whole}</title>
      </text>`,
    )}
  </g>`;
}

/** Return the words under the x axis, as many as fit without touching. */
function namesBelow(frame, { axis, places }) {
  const { left, right, slot, xs, along } = frame;
  if (axis === "numbers" && places.length > 1) {
    const steps = ticks(places[0].at, places.at(-1).at, (right - left) / 90);
    const inside = steps.filter((step) => step >= places[0].at && step <= places.at(-1).at);
    return inside.map((step) => ({ x: along(step), text: written(step), whole: String(step) }));
  }
  // A few names are shortened to fit; of many, some are left out.
  const longest = Math.max(...places.map(({ label }) => label.length));
  const step = places.length > FEW || axis === "dates" ? Math.ceil(Math.min(longest * LETTER + 8, 120) / slot) : 1;
  const fitting = Math.max(3, Math.floor((slot * step - 6) / LETTER));
  let end = -Infinity;
  return places.flatMap(({ label }, place) => {
    if (place % step !== 0) return [];
    const text = label.length > fitting ? `${label.slice(0, fitting - 1)}…` : label;
    const half = (text.length * LETTER) / 2;
    const x = Math.min(Math.max(xs[place], half), frame.width - half);
    if (x - half < end + 6) return [];
    end = x + half;
    return [{ x, text, whole: label }];
  });
}

function nearest(xs, x) {
  return xs.reduce((best, at, place) => (Math.abs(at - x) < Math.abs(xs[best] - x) ? place : best), 0);
}

/** The names of the series; while the pointer is over the drawing, with the values there. */
function Legend({ chart, title, near }) {
  const [{ name: only }] = chart.series;
  if (chart.series.length < 2 && near < 0) {
    return only === title ? null : html`<p class="tk-legend" aria-hidden="true">${only}</p>`;
  }
  // One that is there only while the pointer is must not move what is below it.
  const place = chart.series.length < 2 && only === title ? "tk-legend tk-over" : "tk-legend";
  return html`<p class=${place} aria-hidden="true">
    ${near >= 0 && html`<b>${chart.places[near].label}</b>`}
    ${chart.series.map(
      ({ name, values }, at) =>
        html`<span>
        <${Sample} at=${at} isBar=${chart.kind === "bar"} />
        ${name}${near >= 0 && values[near] !== null && html` <b>${written(values[near], chart.unit)}</b>`}
      </span>`,
    )}
  </p>`;
}

function Sample({ at, isBar }) {
  return html`<svg width="26" height="12" class=${`tk-s${at}`}>
    ${isBar && html`<rect class="tk-fill" x="6" width="12" height="12" rx="2" />`}
    ${!isBar && html`<line x1="0" x2="26" y1="6" y2="6" /><${Mark} shape=${at} x=${13} y=${6} />`}
  </svg>`;
}
