// What stands for the values in a chart: bars beside each other, or lines with a point of its own shape for each series.

import { html } from "../preact.js";

const MOST_POINTS = 40;

/** Groups of bars, one group for each place. */
export function Bars({ frame, chart, near }) {
  const { slot, xs, y, steps } = frame;
  const ground = y(Math.min(Math.max(0, steps[0]), steps.at(-1)));
  const wide = Math.min((slot * 0.72) / chart.series.length, 48);
  const half = (wide * chart.series.length) / 2;
  return chart.series.map(
    ({ name, values }, at) =>
      html`<g class=${`tk-s${at}`}>
      ${values.map((value, place) => {
        if (value === null) return null;
        const [top, tall] = [Math.min(y(value), ground), Math.abs(y(value) - ground)];
        return html`<rect class="tk-fill" data-far=${near >= 0 && near !== place} x=${xs[place] - half + wide * at + 0.5}
          y=${top} width=${Math.max(wide - 1, 0.5)} height=${Math.max(tall, 0.5)} rx=${Math.min(2, wide / 4)}>
          <title>${`${name}, ${chart.places[place].label}: ${value}`}</title>
        </rect>`;
      })}
    </g>`,
  );
}

/** A line, an area or single points for each series; a missing value leaves a gap. */
export function Lines({ frame, chart, near }) {
  const { xs, y, steps } = frame;
  const ground = y(Math.min(Math.max(0, steps[0]), steps.at(-1)));
  return chart.series.map(({ values }, at) => {
    const runs = runsOf(values).map((run) => run.map((place) => [round(xs[place]), round(y(values[place]))]));
    const points = runs.flat();
    const isDotted = chart.kind === "scatter" || points.length <= MOST_POINTS;
    const below = (run) => `M${run[0][0]},${ground}L${run.join("L")}L${run.at(-1)[0]},${ground}Z`;
    return html`<g class=${`tk-s${at}`}>
      ${chart.kind === "area" && runs.map((run) => html`<path class="tk-area" d=${below(run)} />`)}
      ${chart.kind !== "scatter" && runs.map((run) => html`<path class="tk-line" d=${`M${run.join("L")}`} />`)}
      ${isDotted && points.map(([px, py]) => html`<${Mark} shape=${at} x=${px} y=${py} />`)}
      ${near >= 0 && values[near] !== null && html`<${Mark} shape=${at} x=${xs[near]} y=${y(values[near])} size=${5} />`}
    </g>`;
  });
}

/** Return the places of a series that follow one another without a gap. */
function runsOf(values) {
  const runs = [];
  values.forEach((value, place) => {
    if (value === null) return;
    if (runs.at(-1)?.at(-1) === place - 1) runs.at(-1).push(place);
    else runs.push([place]);
  });
  return runs;
}

const round = (value) => Math.round(value * 10) / 10;

const SHAPES = [
  null,
  "M-1,-1H1V1H-1Z",
  "M0,-1.25L1.2,.95H-1.2Z",
  "M0,-1.35L1.35,0L0,1.35L-1.35,0Z",
  "M0,1.25L1.2,-.95H-1.2Z",
  "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
];

/** The point of a series: a circle, a square, a triangle … */
export function Mark({ shape, x, y, size = 3 }) {
  const path = SHAPES[shape % SHAPES.length];
  if (!path) return html`<circle class="tk-fill" cx=${x} cy=${y} r=${size} />`;
  return html`<path class="tk-fill" d=${path} transform=${`translate(${x} ${y}) scale(${size})`} />`;
}
