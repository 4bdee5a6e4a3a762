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

/** @param {Sums} sums @param {string | undefined} currency the one of all rows, if there is one */
const cells = ({ answers, input_tokens: read, output_tokens: written, costs }, currency) => [
  answers,
  read,
  written,
  currency
    ? Number(costs[0]?.amount ?? 0)
    : costs.map(({ amount, currency: own }) => money({ amount: Number(amount), currency: own })).join(" + "),
];

/** What is left of a budget, in money or in tokens. */
const amountOf = (amount, unit) =>
  unit === "tokens"
    ? t("tokenCount", { n: Number(amount) })
    : number(Number(amount), { style: "currency", currency: unit });

/** @param {TextKey} first @param {[string, Sums][]} rows */
function table(first, rows) {
  const currencies = [...new Set(rows.flatMap(([, { costs }]) => costs.map(({ currency }) => currency)))];
  const currency = currencies.length === 1 ? currencies[0] : undefined;
  const drawn = (name) => (value) =>
    name !== "cost" ? number(value) : currency ? money({ amount: value, currency }) : value;
  const columns = [
    { name: first, label: t(first) },
    ...COLUMNS.map(({ name, label }) => ({ name, label: t(label), draw: drawn(name) })),
  ];
  const shown = rows.map(([one, sums]) => [one, ...cells(sums, currency)]);
  return html`<${SortedTable} columns=${columns} rows=${shown} empty=${t("noAnswersYet")} />`;
}

export function Costs({ answer }) {
  const [users, setUsers] = useState(/** @type {(Sums & { user: string })[]} */ ([]));
  useEffect(() => {
    get(`/v1/usage/users?limit=${MOST}`).then(({ data }) => setUsers(data), complain);
  }, []);
  return html`<p class="muted">${t("costsHelp")}</p>
    ${answer.budgets.map((left) => html`<p data-testid="budget">${t(left.period === "day" ? "leftToday" : "leftThisMonth", { left: amountOf(left.remaining, left.unit), limit: amountOf(left.limit, left.unit) })}</p>`)}
    ${table("model", byModel(answer.data))}
    ${
      users.length > 0 &&
      table(
        "user",
        users.map((one) => [one.user, one]),
      )
    }`;
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
