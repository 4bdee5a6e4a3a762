// What the users of a tenant have used of models this month, for its administrators, and what is left of the tenant's budget.

import { get } from "../api.js";
import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { SortedTable } from "../render/sorted.js";
import { money } from "../render/usage.js";
import { date, number, t } from "../language.js";

/** @type {TextKey[]} */
const LABELS = ["user", "answers", "read", "written", "cost"];
const MOST_USERS = 100;

export function Spending({ answer: { since, until, total, budgets } }) {
  const [page, setPage] = useState(/** @type {{ data: any[], next: string | null }} */ ({ data: [], next: null }));
  useEffect(() => {
    get(`/v1/usage/users?since=${since}&until=${until}&limit=${MOST_USERS}`).then(setPage, complain);
  }, [since, until]);
  const rows = [{ ...total, user: t("all") }, ...page.data].map((one) => [
    one.user,
    one.answers,
    one.input_tokens,
    one.output_tokens,
    one.costs.map((cost) => money({ ...cost, amount: Number(cost.amount) })).join(" + "),
  ]);
  return html`<p class="muted">${t("spendingHelp", { since: day(since), until: day(until) })}</p>
    ${budgets.map((left) => html`<p data-testid="budget">${t(left.period === "day" ? "leftToday" : "leftThisMonth", { left: amountOf(left.remaining, left.unit), limit: amountOf(left.limit, left.unit) })}</p>`)}
    <${SortedTable} columns=${LABELS.map((name) => ({ name, label: t(name) }))} rows=${rows} />
    ${page.next && html`<p class="muted">${t("thereIsMore")}</p>`}`;
}

const day = (text) => date(new Date(`${text}T12:00:00Z`), { dateStyle: "medium" });

const amountOf = (amount, unit) =>
  unit === "tokens"
    ? t("tokenCount", { n: Number(amount) })
    : number(Number(amount), { style: "currency", currency: unit });
