// The list of conversations at the side: grouped by day, live, with a filter that also searches in what was said.

import { busy, conversations, fetchFiltered, isLoaded, loadMore, next } from "../conversations.js";
import { filing } from "../filing.js";
import { html } from "../preact.js";
import * as outbox from "../outbox.js";
import { ROOT, route } from "../router.js";
import { assistants, isSignedIn, me, nameOf, signOut } from "../session.js";
import { complain } from "../notices.js";
import { switchTheme } from "../theme.js";
import { beginAnew, dialog, filter, isSidebarOpen, query, showsArchived } from "../views.js";
import { Icon, IconButton } from "./icon.js";
import { LocalRow, Row } from "./row.js";
import { Hits } from "./search.js";
import { date, day, inOrder, t } from "../language.js";

const DAY = 24 * 3600 * 1000;

export function Sidebar() {
  return html`<nav class="sidebar" id="sidebar" aria-label=${t("conversations")} data-open=${isSidebarOpen.value}>
    <div class="brand">
      <img src=${`${ROOT}/static/icon.svg`} alt="" width="26" height="26" /><span>Threadkeep</span>
      <${IconButton} name="close" label=${t("closeList")} class="only-narrow" onClick=${() => (isSidebarOpen.value = false)} />
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

function List() {
  const text = query.value.trim().toLowerCase();
  const [field, value] = filter.value.split("=");
  const wanted = (item) =>
    (text ? (item.title ?? "").toLowerCase().includes(text) : item.archived === showsArchived.value) &&
    (!field || item[field] === value);
  const found = conversations.value.filter(wanted);
  // Of what is further down in the list it is not known.
  const mayHaveArchived = next.value || conversations.value.some((item) => item.archived);
  const turnArchive = () => {
    showsArchived.value = !showsArchived.value;
    if (showsArchived.value) fetchFiltered("archived=true");
  };
  return html`
    ${!text && html`<${Unsent} />`}
    ${inGroups(found).map(
      ([name, items]) =>
        html`<section key=${name}>
      <h2>${name}</h2>
      <ul>${items.map(
        (item) =>
          html`<${Row} key=${item.id} about=${item} state=${busy.value[item.id]}
        isOpen=${route.value.conversation === item.id} />`,
      )}</ul>
    </section>`,
    )}
    ${
      !found.length &&
      isLoaded.value &&
      !text &&
      html`<p class="muted nothing">
      ${filter.value ? t("nothingFound") : showsArchived.value ? t("nothingArchived") : t("noConversations")}</p>`
    }
    ${text && html`<${Hits} text=${query.value.trim()} />`}
    ${
      next.value &&
      !text &&
      html`<button type="button" class="button wide"
      onClick=${() => loadMore().catch(complain)}>${t("showOlder")}</button>`
    }
    ${
      !text &&
      (mayHaveArchived || showsArchived.value) &&
      html`<button type="button" class="link archive" onClick=${turnArchive}>
      ${showsArchived.value ? t("backToAll") : t("archived")}</button>`
    }`;
}

// Conversations that exist only in this browser, because their first message could not be sent yet.
function Unsent() {
  const names = [...new Set(outbox.items.value.map((item) => item.conversation).filter(outbox.isLocal))];
  if (!names.length) return null;
  return html`<section><h2>${t("waitingToBeSent")}</h2><ul>
    ${names.map(
      (name) =>
        html`<${LocalRow} key=${name} name=${name} text=${outbox.wordsOf(outbox.itemsOf(name)[0])}
      isOpen=${route.value.conversation === name} />`,
    )}
  </ul></section>`;
}

function Foot() {
  const who = me.value;
  return html`<div class="foot">
    <span class="who" dir="auto" title=${who ? t("userOfTenant", { user: who.user, tenant: who.tenant }) : ""}>${who?.signed_in ? who.user : t("thisMachine")}</span>
    ${who?.role === "admin" && html`<${IconButton} name="people" label=${t("administration")} onClick=${() => (dialog.value = "administration")} />`}
    <${IconButton} name="archive" label=${t("yourData")} onClick=${() => (dialog.value = "data")} />
    <${IconButton} name="theme" label=${t("lightOrDark")} onClick=${switchTheme} />
    <${IconButton} name="keys" label=${t("keyboardShortcuts")} onClick=${() => (dialog.value = "shortcuts")} />
    ${
      isSignedIn.value &&
      html`<${IconButton} name="leave" label=${t("signOut")} data-testid="sign-out"
      onClick=${() => signOut().catch(complain)} />`
    }
  </div>`;
}

// What is pinned first, then folders by name, then days.
function inGroups(items) {
  const today = new Date().setHours(0, 0, 0, 0);
  const placed = items.map((item) => ({ item, ...filing.value[item.id] }));
  const folders = [...new Set(placed.flatMap(({ folder }) => folder ?? []))];
  folders.sort(inOrder);
  /** @type {Map<string, About[]>} */
  const groups = new Map([t("pinned"), ...folders].map((name) => [name, []]));
  for (const { item, folder } of placed) {
    const name = item.pinned ? t("pinned") : folder || dayOf(new Date(item.updated_at), today);
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return [...groups].filter(([, listed]) => listed.length);
}

function dayOf(moment, today) {
  const time = moment.getTime();
  if (time >= today) return day(0);
  if (time >= today - DAY) return day(-1);
  if (time >= today - 7 * DAY) return t("lastSevenDays");
  return date(moment, { month: "long", year: "numeric" });
}
