// The list of conversations at the side: what begins a new one, a search, the rows, and what belongs to the person.

import { fetchFiltered } from "../conversations.js";
import { NARROWEST, WIDEST, collapse, isCollapsed, resize, width } from "../layout.js";
import { html } from "../preact.js";
import { ROOT } from "../router.js";
import { assistants, isSignedIn, me, nameOf, signOut } from "../session.js";
import { complain } from "../notices.js";
import { beginAnew, dialog, filter, isSidebarOpen, query } from "../views.js";
import { Icon, IconButton } from "./icon.js";
import { List } from "./list.js";
import { t } from "../language.js";

export function Sidebar() {
  return html`<nav class="sidebar" id="sidebar" aria-label=${t("conversations")} data-open=${isSidebarOpen.value} inert=${isCollapsed.value && !isSidebarOpen.value}>
    <div class="brand">
      <img src=${`${ROOT}/static/icon.svg`} alt="" width="26" height="26" /><span>Threadkeep</span>
      <${IconButton} name="close" label=${t("closeList")} class="only-narrow" onClick=${() => (isSidebarOpen.value = false)} />
      <${IconButton} name="side" label=${t("hideList")} class="only-wide" data-testid="collapse" onClick=${() => collapse(true)} />
    </div>
    <button type="button" class="new" data-testid="new" onClick=${() => beginAnew()}><${Icon} name="plus" /> ${t("newConversation")}</button>
    <label class="search">
      <${Icon} name="search" /><span class="visually-hidden">${t("filterAndSearch")}</span>
      <input id="search" type="search" placeholder=${t("search")} autocomplete="off" dir="auto" value=${query.value} data-testid="search"
        onInput=${(event) => (query.value = event.currentTarget.value)}
        onKeyDown=${(event) => event.key === "Escape" && (query.value = "")} />
    </label>
    <${Filter} />
    <div class="list" data-testid="conversations"><${List} /></div>
    <${Foot} />
    <${Edge} />
  </nav>`;
}

/** @type {Record<string, TextKey>} */
const STATUSES = { active: "statusActive", completed: "statusCompleted", abandoned: "statusAbandoned" };

function Filter() {
  const choose = (event) => {
    filter.value = event.currentTarget.value;
    if (filter.value) fetchFiltered(filter.value);
  };
  const option = ([value, label]) => html`<option value=${value} selected=${filter.value === value}>${label}</option>`;
  const who = assistants.value.length > 1 ? assistants.value : [];
  return html`<select class="filter" aria-label=${t("whichListed")} data-testid="filter" onChange=${choose}>
    ${option(["", t("allConversations")])}
    ${who.map((one) => option([`assistant=${one.name}`, nameOf(one)]))}
    ${Object.entries(STATUSES).map(([status, label]) => option([`status=${status}`, t(label)]))}
  </select>`;
}

function Foot() {
  const who = me.value;
  const open = (name) => () => (dialog.value = name);
  return html`<div class="foot">
    <${Entry} icon="quote" label=${t("prompts")} onClick=${open("prompts")} />
    <${Entry} icon="data" label=${t("yourData")} onClick=${open("data")} />
    <${Entry} icon="gear" label=${t("preferences")} onClick=${open("preferences")} />
    ${who?.role === "admin" && html`<${Entry} icon="shield" label=${t("administration")} onClick=${open("administration")} />`}
    <p><span class="who" dir="auto" title=${who ? t("userOfTenant", { user: who.user, tenant: who.tenant }) : ""}>${who?.signed_in ? who.user : t("thisMachine")}</span>
    ${
      isSignedIn.value &&
      html`<button type="button" class="link" data-testid="sign-out" onClick=${() => signOut().catch(complain)}>${t("signOut")}</button>`
    }</p>
  </div>`;
}

function Entry({ icon, label, onClick }) {
  return html`<button type="button" class="entry" onClick=${onClick}><${Icon} name=${icon} /><span>${label}</span></button>`;
}

// What the pointer drags between the list and the conversation; arrow keys move it, too.
function Edge() {
  const byKeys = (event) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (!step) return;
    event.preventDefault();
    resize(width.value + (document.dir === "rtl" ? -step : step));
  };
  const drag = (event) => {
    const edge = event.currentTarget;
    edge.setPointerCapture(event.pointerId);
    const move = ({ clientX }) => resize(document.dir === "rtl" ? innerWidth - clientX : clientX);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
  };
  return html`<div class="edge" role="separator" tabindex="0" aria-orientation="vertical" aria-label=${t("listWidth")} aria-controls="sidebar"
    aria-valuemin=${NARROWEST} aria-valuemax=${WIDEST} aria-valuenow=${width.value} onKeyDown=${byKeys} onPointerDown=${drag} />`;
}
