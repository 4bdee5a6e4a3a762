// Sharing: links by which anybody can read the version of a conversation that is shown, up to an answer; and the end of them.

import { conversationPath, del, get, post } from "../api.js";
import { copyText } from "../copying.js";
import { date, number, t } from "../language.js";
import { announce, complain } from "../notices.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { addressOf } from "../router.js";
import { titleOf } from "../titles.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";

export const canShare = "share" in document.documentElement.dataset;
const DAYS = [1, 7, 30, 365];
const MOST_LISTED = 100;
const MOST_LETTERS = 60;

const moment = (text) => date(new Date(text), { dateStyle: "medium", timeStyle: "short" });
const days = (count) => number(count, { style: "unit", unit: "day", unitDisplay: "long" });

export function Share({ conversation }) {
  const [links, setLinks] = useState(/** @type {any[] | null} */ (null));
  const [made, setMade] = useState("");
  const [lasts, setLasts] = useState("");
  const [head, setHead] = useState(0);
  const path = (rest = "") => conversationPath(conversation.id, `/shares${rest}`);
  const read = () => get(path()).then(({ data }) => setLinks(data), complain);
  useEffect(() => {
    read();
  }, []);
  const make = async () => {
    try {
      const link = await post(path(), { head: head || conversation.branch.value || null, expires: lasts || null });
      setMade(location.origin + link.path);
      await read();
    } catch (error) {
      complain(error);
    }
  };
  const stop = async (link) => {
    try {
      await del(path(`/${link.id}`));
      setMade("");
      announce(t("linkStopped"));
    } catch (error) {
      complain(error);
    }
    await read();
  };
  return html`<${Dialog} title=${t("shareTitle")} onClose=${() => (dialog.value = null)} testid="share">
    <p class="muted">${t("shareHelp")}</p>
    <div class="settings"><${UpTo} conversation=${conversation} choose=${setHead} />
    <div class="field"><label for="lasts">${t("linkLasts")}</label>
      <select id="lasts" onChange=${(event) => setLasts(event.currentTarget.value)}>
        <option value="">${t("untilStopped")}</option>
        ${DAYS.map((count) => html`<option value=${`${count}d`} key=${count}>${days(count)}</option>`)}
      </select>
    </div></div>
    <p><${Button} label=${t("makeLink")} class=${`button ${made ? "" : "primary"}`} onClick=${make} /></p>
    ${made && html`<${Made} link=${made} key=${made} />`}
    ${Boolean(links?.length) && html`<h3>${t("links")}</h3>`}
    <ul class="choices" data-testid="links">${links?.map(
      (link) =>
        html`<li class="hold" key=${link.id}><span>${told(link)}</span>
        <${Button} label=${t("stopSharing")} class="button danger" onClick=${() => stop(link)} /></li>`,
    )}</ul>
  <//>`;
}

// Where a link ends: at the newest message, or at an earlier answer that was given to its end.
function UpTo({ conversation, choose }) {
  const messages = conversation.messages.value.slice(0, -1).filter(({ isDraft }) => !isDraft);
  const answers = messages.filter(({ role, tool_calls: calls }) => role === "assistant" && !calls?.length).reverse();
  return html`<div class="field"><label for="head">${t("linkUpTo")}</label>
    <select id="head" onChange=${(event) => choose(Number(event.currentTarget.value))}>
      <option value="0">${t("newestMessage")}</option>
      ${answers.map(({ seq, content }) => html`<option value=${seq} key=${seq}>${beginningOf(content)}</option>`)}
    </select>
  </div>`;
}

const beginningOf = (text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text);

function told({ created_at: since, expires_at: until }) {
  return until
    ? t("linkUntil", { since: moment(since), until: moment(until) })
    : t("linkSince", { since: moment(since) });
}

// The address is known here and now only: the server keeps no more of it than it needs to know it again.
function Made({ link }) {
  /** @type {{ current: HTMLInputElement }} */
  const field = useRef(null);
  useEffect(() => {
    field.current.focus();
    field.current.select();
  }, []);
  return html`<div class="settings"><div class="field"><label for="link">${t("yourLink")}</label>
    <input id="link" ref=${field} readonly dir="ltr" value=${link} aria-describedby="link-hint" />
    <small class="muted" id="link-hint">${t("linkOnce")}</small></div></div>
    <p><${Button} icon="copy" label=${t("copyLink")} class="button primary" onClick=${() => copyText(link)} /></p>`;
}

/** In *Your data*: everything that is shared, with the end of it. */
export function SharedConversations() {
  const [found, setFound] = useState(/** @type {any[] | null} */ (null));
  const read = () =>
    get(`/v1/conversations?shared=true&limit=${MOST_LISTED}`).then(({ data }) => setFound(data), complain);
  useEffect(() => {
    read();
  }, []);
  const stop = async (about) => {
    try {
      await del(conversationPath(about.id, "/shares"));
      announce(t("linkStopped"));
    } catch (error) {
      complain(error);
    }
    await read();
  };
  return html`<h3>${t("sharedConversations")}</h3>
    ${found?.length === 0 && html`<p class="muted">${t("noneShared")}</p>`}
    <ul class="choices" data-testid="shared">${found?.map(
      (about) =>
        html`<li class="hold" key=${about.id}>
        <a href=${addressOf(about.id)} onClick=${() => (dialog.value = null)} dir="auto">${titleOf(about)}</a>
        <${Button} label=${t("stopSharing")} aria-label=${t("stopSharingOf", { title: titleOf(about) })} class="button danger" onClick=${() => stop(about)} /></li>`,
    )}</ul>`;
}
