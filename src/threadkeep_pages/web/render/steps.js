// Where a guided conversation stands, as steps. A state that is no step on the way (an error) is shown beside them.

import { html } from "../preact.js";
import { isRecord, labelOf, listOf, textOf } from "./value.js";
import { t } from "../language.js";

/** `states` are the names in order; `state.state` is the current one. */
export function Steps({ state, states }) {
  const current = textOf(isRecord(state) ? state.state : state);
  const names = listOf(states)
    .map(textOf)
    .filter((name) => name && (name !== "error" || name === current));
  const way = names.filter((name) => name !== "error");
  const at = way.indexOf(current);
  if (way.length === 0) return null;
  const isOver = at === way.length - 1;
  return html`<nav class="tk-steps" aria-label=${t("progress")}>
    <p class="tk-steps-now">
      <b class=${at < 0 ? "tk-error" : ""}>${labelOf(current || t("notBegun"))}</b>
      ${at >= 0 && html` <span>${t("stepOf", { n: at + 1, all: way.length })}</span>`}
    </p>
    <ol>
      ${way.map(
        (name, place) =>
          html`<li data-is=${stand(place, at, isOver)} aria-current=${place === at ? "step" : undefined}>
          <span class="tk-step-dot" aria-hidden="true" />
          <span class="tk-step-name" dir="auto">${labelOf(name)}</span>
          <span class="tk-offscreen">${place < at || (place === at && isOver) ? t("stepDone") : ""}</span>
        </li>`,
      )}
    </ol>
  </nav>`;
}

function stand(place, at, isOver) {
  if (place < at || (place === at && isOver)) return "done";
  return place === at ? "now" : "later";
}
