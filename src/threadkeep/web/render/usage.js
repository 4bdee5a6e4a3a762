// What an answer cost: the tokens of its model call, how full the context was, and what no longer fitted in.

import { html } from "../preact.js";
import { isRecord, listOf } from "./value.js";

const counted = (value) => (Number.isFinite(value) && value > 0 ? value : 0);
const written = (value) => value.toLocaleString("en");

/** One line on demand: tokens in and out, and the context as its trace tells of it. */
export function Usage({ message }) {
  const usage = isRecord(message?.usage) ? message.usage : null;
  const trace = listOf(message?.tool_trace).filter(isRecord);
  const context = trace.find((item) => item.kind === "context");
  if (!usage && !context) return null;
  const share = fullness(context);
  const total = usage ? counted(usage.input_tokens) + counted(usage.output_tokens) : counted(context.tokens);
  return html`<details class="tk-usage">
    <summary>
      ${written(total)} tokens${share !== null && ` · context ${percent(share)}`}
      ${context?.dropped === true && html` · <span class="tk-dropped">older part left out</span>`}
    </summary>
    <dl class="tk-pairs">
      ${usage && html`<${Tokens} usage=${usage} />`}
      ${context && html`<${Context} context=${context} share=${share} trace=${trace} />`}
    </dl>
  </details>`;
}

function Tokens({ usage }) {
  const cached = counted(usage.cached_tokens);
  return html`
    <${Pair} name="Read">${written(counted(usage.input_tokens))}${cached > 0 && ` (${written(cached)} from the cache)`}<//>
    <${Pair} name="Written">${written(counted(usage.output_tokens))}<//>
  `;
}

function Context({ context, share, trace }) {
  const [first, masked, budget] = [counted(context.first), counted(context.masked), counted(context.budget)];
  const recalled = recalledIn(trace);
  const before = first ? `everything before entry ${first}` : "the oldest messages";
  return html`
    <${Pair} name="Context">
      ${share !== null && html`<${Meter} share=${share} />`}
      ${written(counted(context.tokens))}${budget > 0 && ` of ${written(budget)} tokens`}
    <//>
    ${context.dropped === true && html`<${Pair} name="Left out">${before}; it is kept, the model did not see it<//>`}
    ${masked > 0 && html`<${Pair} name="Shortened">${`old results and answers before entry ${masked}`}<//>`}
    ${recalled > 0 && html`<${Pair} name="Recalled">${`earlier messages that matched: ${recalled}`}<//>`}
  `;
}

function Pair({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Meter({ share }) {
  return html`<span class="tk-meter" data-full=${share > 0.9} aria-hidden="true">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none"><rect width=${Math.max(share * 100, 1)} height="6" /></svg>
  </span>`;
}

function recalledIn(trace) {
  return trace.filter((item) => item.kind === "recall").reduce((sum, item) => sum + listOf(item.entries).length, 0);
}

/** Return how full the context was, from 0 to 1, where that is known. */
function fullness(context) {
  const budget = counted(context?.budget);
  return budget ? Math.min(counted(context.tokens) / budget, 1) : null;
}

function percent(share) {
  return share > 0 && share < 0.01 ? "under 1%" : `${Math.round(share * 100)}%`;
}
