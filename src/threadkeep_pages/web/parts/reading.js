// What an administrator sees of the conversations of others: a list, and one of them as text. Both are put on record.

import { conversationPath, get } from "../api.js";
import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { Button } from "./actions.js";
import { date, t } from "../language.js";

const PAGE = 50;

/** @typedef {About & { user: string }} Owned */

export function TenantConversations({ answer }) {
  const [found, setFound] = useState(/** @type {{ data: Owned[], next: string | null }} */ (answer));
  const [opened, open] = useState(/** @type {Owned | null} */ (null));
  const more = async () => {
    try {
      const page = await get(`/v1/admin/conversations?limit=${PAGE}&after=${encodeURIComponent(found.next ?? "")}`);
      setFound({ data: [...found.data, ...page.data], next: page.next });
    } catch (error) {
      complain(error);
    }
  };
  if (opened) return html`<${Transcript} about=${opened} onBack=${() => open(null)} />`;
  return html`<p class="muted">${t("readingHelp")}</p>
    <ul class="choices" data-testid="tenant-conversations">${found.data.map(
      (one) =>
        html`<li key=${one.id}><button type="button" class="choice line" onClick=${() => open(one)}>
        <span dir="auto">${one.title?.trim() || t("newConversation")}</span>
        <span class="muted" dir="auto">${one.user}</span>
        <time class="muted" datetime=${one.updated_at}>${date(new Date(one.updated_at), { dateStyle: "short" })}</time>
      </button></li>`,
    )}</ul>
    ${!found.data.length && html`<p class="muted">${t("noConversations")}</p>`}
    ${found.next && html`<${Button} label=${t("showOlder")} onClick=${more} />`}`;
}

function Transcript({ about, onBack }) {
  const [page, setPage] = useState(/** @type {{ messages: Message[], before: number | null } | null} */ (null));
  const read = async (/** @type {number | null} */ before = null) => {
    try {
      const path = conversationPath(about.id, "", { limit: PAGE, before }).replace("/v1/", "/v1/admin/");
      const got = await get(path);
      setPage((now) => ({ messages: [...got.messages, ...(now?.messages ?? [])], before: got.before }));
    } catch (error) {
      complain(error);
    }
  };
  useEffect(() => {
    read();
  }, []);
  return html`<div class="transcript" data-testid="transcript">
    <p><${Button} label=${t("backToAll")} onClick=${onBack} /> <strong dir="auto">${about.title?.trim() || t("newConversation")}</strong> <span class="muted" dir="auto">${about.user}</span></p>
    ${!page && html`<p class="muted">${t("loading")}</p>`}
    ${page?.before && html`<${Button} label=${t("showOlder")} onClick=${() => read(page.before)} />`}
    ${page?.messages.map((one) => html`<${Said} key=${one.seq} message=${one} user=${about.user} />`)}
  </div>`;
}

function Said({ message, user }) {
  const { role, content, feedback } = message;
  const who = role === "user" ? user : role === "assistant" ? t("assistant") : role;
  const thumb = feedback?.rating && t(feedback.rating === "up" ? "goodAnswer" : "badAnswer");
  return html`<div class="utterance"><h3 dir="auto">${who}</h3><p class="fixed" dir="auto">${content}</p>
    ${thumb && html`<p class="muted">${thumb}${feedback.comment && html`: <span dir="auto">${feedback.comment}</span>`}</p>`}
  </div>`;
}
