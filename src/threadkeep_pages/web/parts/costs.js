// What the models of a tenant were used for this month, and what it cost: by model and by user.

import { get } from "../api.js";
import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { money } from "../render/usage.js";
import { SortedTable } from "../render/sorted.js";
import { number, t } from "../language.js";

const MOST = 100;

/** @typedef {{ answers: number, input_tokens: number, output_tokens: number, costs: { amount: string, currency: string }[] }} Sums */

/** @type {{ name: string, label: TextKey }[]} */
const COLUMNS = [
  { name: "answers", label: "answers" },
  { name: "read", label: "tokensRead" },
  { name: "written", label: "tokensWritten" },
  { name: "cost", label: "cost" },
];

/** @param {Sums} sums */
const cells = (sums) => [
  sums.answers,
  sums.input_tokens,
  sums.output_tokens,
  sums.costs.map(({ amount, currency }) => money({ amount: Number(amount), currency })).join(" + "),
];

/** What is left of a budget, in money or in tokens. */
const amountOf = (amount, unit) =>
  unit === "tokens"
    ? t("tokenCount", { n: Number(amount) })
    : number(Number(amount), { style: "currency", currency: unit });

/** @param {TextKey} first */
const columns = (first) => [
  { name: first, label: t(first) },
  ...COLUMNS.map(({ name, label }) => ({ name, label: t(label) })),
];

export function Costs({ answer }) {
  const [users, setUsers] = useState(/** @type {(Sums & { user: string })[]} */ ([]));
  useEffect(() => {
    get(`/v1/usage/users?limit=${MOST}`).then(({ data }) => setUsers(data), complain);
  }, []);
  return html`<p class="muted">${t("costsHelp")}</p>
    ${answer.budgets.map((left) => html`<p data-testid="budget">${t(left.period === "day" ? "leftToday" : "leftThisMonth", { left: amountOf(left.remaining, left.unit), limit: amountOf(left.limit, left.unit) })}</p>`)}
    <${SortedTable} columns=${columns("model")} rows=${byModel(answer.data).map(([model, sums]) => [model, ...cells(sums)])} empty=${t("noAnswersYet")} />
    ${users.length > 0 && html`<${SortedTable} columns=${columns("user")} rows=${users.map((one) => [one.user, ...cells(one)])} />`}`;
}

/**
 * The sums of all days together.
 * @param {(Sums & { model: string | null })[]} rows
 * @returns {[string, Sums][]}
 */
function byModel(rows) {
  /** @type {Map<string, Sums>} */
  const found = new Map();
  for (const { model, ...row } of rows) {
    const name = model ?? t("otherModels");
    const sums = found.get(name) ?? { answers: 0, input_tokens: 0, output_tokens: 0, costs: [] };
    sums.answers += row.answers;
    sums.input_tokens += row.input_tokens;
    sums.output_tokens += row.output_tokens;
    for (const { amount, currency } of row.costs) {
      const same = sums.costs.find((cost) => cost.currency === currency);
      if (same) same.amount = String(Number(same.amount) + Number(amount));
      else sums.costs = [...sums.costs, { amount, currency }];
    }
    found.set(name, sums);
  }
  return [...found];
}
