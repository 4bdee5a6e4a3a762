// The administrator's corner: who has stored how much, what models cost, what people think of answers and say, what is held, what the rules of keeping would do, who may come in,
// and who did what.

import { del, get, post } from "../api.js";
import { sizeOf } from "../render/files.js";
import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { SortedTable } from "../render/sorted.js";
import { jsonOf } from "../render/value.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Costs } from "./costs.js";
import { Dialog } from "./dialog.js";
import { TenantConversations } from "./reading.js";
import { date, number, rich, t } from "../language.js";

const LONGEST_DETAIL = 200;

/** @type {Record<string, { label: TextKey, path: string, Part: any }>} */
const PARTS = {
  usage: { label: "usage", path: "/v1/admin/usage", Part: Usage },
  costs: { label: "costs", path: "/v1/usage/tenant", Part: Costs },
  opinions: { label: "opinions", path: "/v1/admin/feedback?days=30", Part: Opinions },
  reading: { label: "conversations", path: "/v1/admin/conversations?limit=50", Part: TenantConversations },
  keeping: { label: "keeping", path: "/v1/admin/retention/preview?limit=100", Part: Keeping },
  holds: { label: "holds", path: "/v1/admin/holds", Part: Holds },
  keys: { label: "keys", path: "/v1/admin/keys", Part: Keys },
  audit: { label: "audit", path: "/v1/audit?limit=100", Part: Audit },
};

export function Administration() {
  const [name, setName] = useState("usage");
  const [found, setFound] = useState(/** @type {Record<string, any>} */ ({}));
  const { path, Part } = PARTS[name];
  const read = () => get(path).then((answer) => setFound((before) => ({ ...before, [name]: answer })), complain);
  useEffect(() => {
    read();
  }, [name]);
  return html`<${Dialog} title=${t("administration")} onClose=${() => (dialog.value = null)} class="wide tall" testid="administration">
    <div class="tab-line" role="group" aria-label=${t("whatIsShown")}>
      ${Object.entries(PARTS).map(
        ([key, { label }]) =>
          html`<button type="button" class="tab" key=${key} aria-pressed=${key === name} onClick=${() => setName(key)}>${t(label)}</button>`,
      )}
    </div>
    ${found[name] ? html`<${Part} answer=${found[name]} read=${read} />` : html`<p class="muted">${t("loading")}</p>`}
  <//>`;
}

const counted = (value) => number(value);
const timed = (text) => html`<time class="tk-short" datetime=${text}>${moment(text)}</time>`;
const DRAWN = {
  conversations: counted,
  entries: counted,
  goodAnswers: counted,
  badAnswers: counted,
  size: sizeOf,
  time: timed,
  due: timed,
};
/** @type {(labels: TextKey[], rows: any[][], empty?: string) => any} */
const table = (labels, rows, empty) =>
  html`<${SortedTable} columns=${labels.map((name) => ({ name, label: t(name), draw: DRAWN[name] }))} rows=${rows} empty=${empty} />`;
const moment = (text) => date(new Date(text), { dateStyle: "short", timeStyle: "medium" });

function Usage({ answer: { tenant, users } }) {
  const rows = [tenant, ...users].map((one) => [one.user ?? t("all"), one.conversations, one.entries, one.bytes]);
  return table(["user", "conversations", "entries", "size"], rows);
}

// What users thought of the answers of each model, in the last thirty days.
function Opinions({ answer: { data, is_whole: isWhole } }) {
  const rows = data.map((one) => [one.user ?? t("nobodyAnyMore"), one.model ?? t("answerGone"), one.up, one.down]);
  return html`<p class="muted">${t(isWhole ? "opinionsHelp" : "opinionsNewest")}</p>
    ${table(["user", "model", "goodAnswers", "badAnswers"], rows, t("noOpinions"))}`;
}

function Keeping({ answer: { data, has_more: hasMore } }) {
  const rows = data.map((plan) => [plan.conversation, plan.user, plan.action, plan.reason, plan.due]);
  return html`<p class="muted">${rich("keepingHelp", { file: html`<code>threadkeep.toml</code>` })}</p>
    ${table(["conversation", "user", "action", "rule", "due"], rows, t("nothingDue"))}
    ${hasMore && html`<p class="muted">${t("thereIsMore")}</p>`}`;
}

/** Return what sends the filled fields of a form, hands on the answer and reads the list again. */
const sending = (path, read, told) => async (event) => {
  event.preventDefault();
  const filled = [...new FormData(event.currentTarget)].filter(([, value]) => value);
  try {
    const answer = await post(path, Object.fromEntries(filled));
    told?.(answer);
    await read();
  } catch (error) {
    complain(error);
  }
};

function Holds({ answer: { data }, read }) {
  const remove = (hold) => del(`/v1/admin/holds/${encodeURIComponent(hold)}`).then(read, complain);
  return html`<p class="muted">${t("holdsHelp")}</p>
    <ul class="choices" data-testid="holds">${data.map(
      (hold) =>
        html`<li key=${hold.id} class="hold">
        <span dir="auto">${heldThing(hold)}</span>
        <${Button} label=${t("remove")} aria-label=${t("removeHold", { reason: hold.reason })} onClick=${() => remove(hold.id)} />
      </li>`,
    )}</ul>
    <form class="line-form" onSubmit=${sending("/v1/admin/holds", read)}>
      ${field("reason", { required: true, maxlength: 500 })}
      ${field("user", { placeholder: t("userElseAll") })}
      ${field("conversation", { placeholder: t("conversationElseAll") })}
      <${Button} type="submit" label=${t("hold")} class="button primary" />
    </form>`;
}

/** @type {(name: TextKey, how: object) => any} */
const field = (name, how) =>
  html`<div class="field"><label for=${`new-${name}`}>${t(name)}</label><input id=${`new-${name}`} name=${name} ...${how} /></div>`;

const roleOf = (role) => (role === "admin" ? t("roleAdmin") : t("roleUser"));

function Keys({ answer: { data }, read }) {
  const [made, setMade] = useState("");
  const revoke = (key) => del(`/v1/admin/keys/${encodeURIComponent(key)}`).then(read, complain);
  const until = (key) => (key.expires_at ? t("keyUntil", { time: moment(key.expires_at) }) : t("keyUntilRevoked"));
  return html`<p class="muted">${t("keysHelp")}</p>
    ${made && html`<p role="status">${rich("newKey", { key: html`<code data-testid="made-key">${made}</code>` })}</p>`}
    <ul class="choices" data-testid="keys">${data.map(
      (key) =>
        html`<li key=${key.id} class="hold">
        <span dir="auto">${key.user} (${roleOf(key.role)}), ${key.hint}…, ${key.revoked_at ? t("keyRevoked", { time: moment(key.revoked_at) }) : until(key)}</span>
        ${!key.revoked_at && html`<${Button} label=${t("revoke")} aria-label=${t("revokeKey", { hint: key.hint, user: key.user })} onClick=${() => revoke(key.id)} />`}
      </li>`,
    )}</ul>
    <form class="line-form" onSubmit=${sending("/v1/admin/keys", read, (answer) => setMade(answer.key))}>
      ${field("user", { required: true })}
      <div class="field"><label for="new-role">${t("role")}</label>
        <select id="new-role" name="role"><option value="user">${roleOf("user")}</option><option value="admin">${roleOf("admin")}</option></select></div>
      ${field("expires", { placeholder: t("expiresHint") })}
      <${Button} type="submit" label=${t("makeKey")} class="button primary" />
    </form>`;
}

function heldThing({ reason, conversation, user, by, at }) {
  return t("heldThing", { reason, what: conversation ?? user ?? t("everything"), by, at: moment(at) });
}

/** @param {string} text */
const cut = (text) => (text.length > LONGEST_DETAIL ? `${text.slice(0, LONGEST_DETAIL)}…` : text);

function Audit({ answer: { data, names } }) {
  const who = (actor) => names[actor] ?? actor;
  const details = (told) => (Object.keys(told).length > 0 ? cut(jsonOf(told, 0)) : "");
  const rows = data.map((act) => [act.at, who(act.actor), act.action, act.object, details(act.details)]);
  return table(["time", "who", "did", "with", "details"], rows, t("nothingOnRecord"));
}
