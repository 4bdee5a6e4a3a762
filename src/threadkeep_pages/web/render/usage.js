// What is known of an answer: its model, its tokens and what they cost, how full the context was and what no longer fitted in.

import { html } from "../preact.js";
import { isRecord, listOf } from "./value.js";
import { number, t } from "../language.js";

const counted = (value) => (Number.isFinite(value) && value > 0 ? value : 0);

const FIELDS = ["input_tokens", "output_tokens", "cached_tokens"];

/** Return what all model calls of some messages took together; null where nothing is known of any. */
export function usageOf(messages) {
  const known = messages.map((message) => message.usage).filter(isRecord);
  if (!known.length) return null;
  const sums = FIELDS.map((name) => [name, known.reduce((sum, usage) => sum + counted(usage[name]), 0)]);
  return { ...Object.fromEntries(sums), cost: costOf(known) };
}

// What all of them cost together; null where one has no price, or they have no currency in common.
function costOf(known) {
  const currency = known[0].cost?.currency;
  if (!currency || known.some((usage) => usage.cost?.currency !== currency)) return null;
  return { currency, amount: known.reduce((sum, usage) => sum + counted(Number(usage.cost.amount)), 0) };
}

/** Money as the reader writes it; of small amounts the first digits that are not zero. */
export const money = ({ amount, currency }) =>
  number(amount, { style: "currency", currency, ...(amount < 1 && { maximumSignificantDigits: 2 }) });

/**
 * One word on demand: who answered, tokens in and out of the whole turn and what they cost, and the context of its last message
 * as the trace tells of it.
 * @param {{ message: any, usage?: ReturnType<typeof usageOf>, by?: string }} props
 */
export function Usage({ message, usage = usageOf([message]), by = "" }) {
  const trace = listOf(message?.tool_trace).filter(isRecord);
  const context = trace.find((item) => item.kind === "context");
  if (!usage && !context && !by) return null;
  return html`<details class="tk-knot tk-usage">
    <summary>${t("details")}${context?.dropped === true && html` · <span class="tk-dropped">${t("olderLeftOut")}</span>`}</summary>
    <dl class="tk-pairs">
      ${by && html`<${Pair} name=${t("model")}><span class="by">${by}</span><//>`}
      ${usage && html`<${Tokens} usage=${usage} />`}
      ${context && html`<${Context} context=${context} share=${fullness(context)} />`}
    </dl>
  </details>`;
}

function Tokens({ usage }) {
  const [n, cached] = [counted(usage.input_tokens), counted(usage.cached_tokens)];
  return html`
    <${Pair} name=${t("read")}>${cached > 0 ? t("fromCache", { n, cached }) : number(n)}<//>
    <${Pair} name=${t("written")}>${number(counted(usage.output_tokens))}<//>
    ${usage.cost && html`<${Pair} name=${t("cost")}>${money(usage.cost)}<//>`}
  `;
}

function Context({ context, share }) {
  const [first, masked, budget] = [counted(context.first), counted(context.masked), counted(context.budget)];
  const before = first ? t("beforeEntry", { entry: String(first) }) : t("oldestMessages");
  const tokens = counted(context.tokens);
  return html`
    <${Pair} name=${t("context")}>
      ${share !== null && html`<${Meter} share=${share} />`}
      ${budget > 0 ? t("tokensOf", { n: tokens, budget }) : number(tokens)}
      ${share !== null && html` <span class="tk-share">${percent(share)}</span>`}
    <//>
    ${context.dropped === true && html`<${Pair} name=${t("leftOut")}>${before}<//>`}
    ${masked > 0 && html`<${Pair} name=${t("shortened")}>${t("shortenedBefore", { entry: String(masked) })}<//>`}
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

/** Return how full the context was, from 0 to 1, where that is known. */
function fullness(context) {
  const budget = counted(context?.budget);
  return budget ? Math.min(counted(context.tokens) / budget, 1) : null;
}

function percent(share) {
  const whole = (value) => number(value, { style: "percent", maximumFractionDigits: 0 });
  return share > 0 && share < 0.01 ? t("underOnePercent", { share: whole(0.01) }) : whole(share);
}
