// Parts of a whole as a ring: beside it what each part is, how much, and its share. While the pointer is over a part, the
// middle tells of that one instead of the whole.

import { html, useState } from "../preact.js";
import { written } from "./scale.js";
import { number, t } from "../language.js";

const SIZE = 184;
const [OUTER, INNER] = [SIZE / 2 - 2, SIZE / 2 - 34];
const MOST_PARTS = 6;
const percent = (share) => number(share, { style: "percent", maximumFractionDigits: 1 });
const MIDDLE = 16;

/** Return the parts of a chart that has one series without negative values: {label, value, share, from}, clockwise. */
function partsOf({ places, series: [{ values }] }) {
  const all = places.map(({ label }, at) => ({ label, value: values[at] })).filter(({ value }) => value > 0);
  const kept = new Set([...all].sort((one, other) => other.value - one.value).slice(0, MOST_PARTS - 1));
  const shown = all.length > MOST_PARTS ? all.filter((part) => kept.has(part)) : all;
  const rest = all.filter((part) => !shown.includes(part));
  const parts = rest.length > 0 ? [...shown, { label: t("others", { n: rest.length }), value: sum(rest) }] : shown;
  const total = sum(parts);
  let from = 0;
  return parts.map((part) => {
    const share = part.value / total;
    from += share;
    return { ...part, share, from: from - share };
  });
}

const sum = (parts) => parts.reduce((total, { value }) => total + value, 0);

/** Return the parts in words, for those who do not see the ring. */
export const partsInWords = (chart) =>
  partsOf(chart)
    .map(({ label, share }) => `${label} ${percent(share)}`)
    .join(", ");

/** The ring with its legend. Where the values are shares already, they are not told twice. */
export function Pie({ chart, spoken }) {
  const [near, setNear] = useState(-1);
  const isShares = chart.unit === "%";
  const unit = chart.unit.length <= 2 ? chart.unit : "";
  const parts = partsOf(chart);
  const isFar = (at) => near >= 0 && near !== at;
  const pointed = (at) => ({ onPointerEnter: () => setNear(at), onPointerLeave: () => setNear(-1) });
  return html`<div class="tk-pie">
    <svg viewBox=${`0 0 ${SIZE} ${SIZE}`} width=${SIZE} height=${SIZE} role="img" aria-label=${spoken}>
      ${parts.map(
        (part, at) =>
          html`<g class=${`tk-s${at}`}>
          <path class="tk-fill tk-part" data-far=${isFar(at)} d=${ring(part)} fill-rule="evenodd" ...${pointed(at)}>
            <title>${`${part.label}: ${part.value}`}</title>
          </path>
        </g>`,
      )}
      <${Middle} part=${parts[near]} total=${sum(parts)} unit=${unit} name=${(!unit && chart.unit) || t("total")} />
    </svg>
    <table class="tk-parts" aria-hidden="true"><tbody>
      ${parts.map(
        ({ label, value, share }, at) =>
          html`<tr data-far=${isFar(at)} ...${pointed(at)}>
          <td class=${`tk-s${at}`}><svg width="12" height="12"><rect class="tk-fill" width="12" height="12" rx="2" /></svg></td>
          <th dir="auto">${label}</th>
          <td class="tk-number">${written(value, unit)}</td>
          ${!isShares && html`<td class="tk-number tk-share">${percent(share)}</td>`}
        </tr>`,
      )}
    </tbody></table>
  </div>`;
}

function Middle({ part, total, unit, name }) {
  const [told, value] = part ? [part.label, written(part.value, unit)] : [name, written(total, unit)];
  const short = told.length > MIDDLE ? `${told.slice(0, MIDDLE - 1)}…` : told;
  return html`<g class="tk-middle" aria-hidden="true" text-anchor="middle">
    <text x=${SIZE / 2} y=${SIZE / 2 - 4}>${value}</text>
    <text class="tk-middle-name" x=${SIZE / 2} y=${SIZE / 2 + 14}>${short}</text>
  </g>`;
}

/** Return the outline of one part. A part that is all is two whole circles, which no single arc can draw. */
function ring({ from, share }) {
  if (share > 0.9999) return circle(OUTER) + circle(INNER);
  const large = share > 0.5 ? 1 : 0;
  const [begin, end] = [from, from + share];
  const outer = `M${point(begin, OUTER)}A${OUTER} ${OUTER} 0 ${large} 1 ${point(end, OUTER)}`;
  return `${outer}L${point(end, INNER)}A${INNER} ${INNER} 0 ${large} 0 ${point(begin, INNER)}Z`;
}

function circle(radius) {
  const [top, bottom] = [point(0, radius), point(0.5, radius)];
  return `M${top}A${radius} ${radius} 0 1 1 ${bottom}A${radius} ${radius} 0 1 1 ${top}Z`;
}

/** Return where a share of the way around is, clockwise from the top. */
function point(share, radius) {
  const angle = share * 2 * Math.PI;
  return [SIZE / 2 + radius * Math.sin(angle), SIZE / 2 - radius * Math.cos(angle)]
    .map((at) => at.toFixed(2))
    .join(" ");
}
