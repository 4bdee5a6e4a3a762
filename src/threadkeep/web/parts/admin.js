// The administrator's corner: who has stored how much, what is held, what the rules of keeping would do, who may come in,
// and who did what.

import { del, get, post } from "../api.js";
import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { SortedTable } from "../render/sorted.js";
import { jsonOf } from "../render/value.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";

const PARTS = {
  usage: { label: "Usage", path: "/v1/admin/usage", Part: Usage },
  keeping: { label: "Keeping", path: "/v1/admin/retention/preview?limit=100", Part: Keeping },
  holds: { label: "Holds", path: "/v1/admin/holds", Part: Holds },
  keys: { label: "Keys", path: "/v1/admin/keys", Part: Keys },
  audit: { label: "Audit", path: "/v1/audit?limit=100", Part: Audit },
};

export function Administration() {
  const [name, setName] = useState("usage");
  const [found, setFound] = useState(/** @type {Record<string, any>} */ ({}));
  const { path, Part } = PARTS[name];
  const read = () => get(path).then((answer) => setFound((before) => ({ ...before, [name]: answer })), complain);
  useEffect(() => {
    read();
  }, [name]);
  return html`<${Dialog} title="Administration" onClose=${() => (dialog.value = null)} class="wide" testid="administration">
    <div class="tabs" role="group" aria-label="What is shown">
      ${Object.entries(PARTS).map(
        ([key, { label }]) =>
          html`<button type="button" class="button" key=${key} aria-pressed=${key === name} onClick=${() => setName(key)}>${label}</button>`,
      )}
    </div>
    ${found[name] ? html`<${Part} answer=${found[name]} read=${read} />` : html`<p class="muted">Loading …</p>`}
  <//>`;
}

const table = (labels, rows, empty) =>
  html`<${SortedTable} columns=${labels.map((label) => ({ name: label, label }))} rows=${rows} empty=${empty} />`;
const moment = (text) => new Date(text).toLocaleString();

function Usage({ answer: { tenant, users } }) {
  const rows = [tenant, ...users].map((one) => [one.user ?? "all", one.conversations, one.entries, one.bytes]);
  return table(["User", "Conversations", "Entries", "Bytes"], rows);
}

function Keeping({ answer: { data, has_more: hasMore } }) {
  const rows = data.map((plan) => [plan.conversation, plan.user, plan.action, plan.reason, moment(plan.due)]);
  return html`<p class="muted">What the rules of keeping would do now. They are set with <code>threadkeep retention</code>.</p>
    ${table(["Conversation", "User", "Action", "Rule", "Due"], rows, "Nothing is due.")}
    ${hasMore && html`<p class="muted">There is more.</p>`}`;
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
  return html`<p class="muted">What is held is not deleted, whatever the rules say.</p>
    <ul class="choices" data-testid="holds">${data.map(
      (hold) =>
        html`<li key=${hold.id} class="hold">
        <span dir="auto">${hold.reason}: ${hold.conversation ?? hold.user ?? "everything"} (${hold.by}, ${moment(hold.at)})</span>
        <${Button} label="Remove" aria-label=${`Remove the hold ${hold.reason}`} onClick=${() => remove(hold.id)} />
      </li>`,
    )}</ul>
    <form class="tabs" onSubmit=${sending("/v1/admin/holds", read)}>
      <input name="reason" required maxlength="500" aria-label="Reason" placeholder="Reason" />
      <input name="user" aria-label="User" placeholder="User (else all)" />
      <input name="conversation" aria-label="Conversation" placeholder="Conversation (else all)" />
      <${Button} type="submit" label="Hold" class="button primary" />
    </form>`;
}

function Keys({ answer: { data }, read }) {
  const [made, setMade] = useState("");
  const revoke = (key) => del(`/v1/admin/keys/${encodeURIComponent(key)}`).then(read, complain);
  const until = (key) => (key.expires_at ? `until ${moment(key.expires_at)}` : "until it is revoked");
  return html`<p class="muted">Whoever has a key is let in as its user. Its secret is shown once, when it is made.</p>
    ${made && html`<p role="status">The new key: <code data-testid="made-key">${made}</code></p>`}
    <ul class="choices" data-testid="keys">${data.map(
      (key) =>
        html`<li key=${key.id} class="hold">
        <span dir="auto">${key.user} (${key.role}), ${key.hint}…, ${key.revoked_at ? `revoked ${moment(key.revoked_at)}` : until(key)}</span>
        ${!key.revoked_at && html`<${Button} label="Revoke" aria-label=${`Revoke the key ${key.hint}… of ${key.user}`} onClick=${() => revoke(key.id)} />`}
      </li>`,
    )}</ul>
    <form class="tabs" onSubmit=${sending("/v1/admin/keys", read, (answer) => setMade(answer.key))}>
      <input name="user" required aria-label="User" placeholder="User" />
      <select name="role" aria-label="Role"><option value="user">user</option><option value="admin">admin</option></select>
      <input name="expires" aria-label="Expires after" placeholder="Expires after (90d; else never)" />
      <${Button} type="submit" label="Make a key" class="button primary" />
    </form>`;
}

function Audit({ answer: { data, names } }) {
  const who = (actor) => names[actor] ?? actor;
  const rows = data.map((act) => [moment(act.at), who(act.actor), act.action, act.object, jsonOf(act.details, 0)]);
  return table(["Time", "Who", "Did", "With", "Details"], rows, "Nothing is on record.");
}
