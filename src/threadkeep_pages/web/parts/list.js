// The rows of the list at the side, in groups: what is pinned, folders, days. Only those in view are elements of the page, so
// that ten thousand cost what fifty cost; the next ones are asked for when somebody comes near the end.

import { busy, fetchFiltered, isLoaded, listed, loadMore, next } from "../conversations.js";
import { groups } from "../grouping.js";
import { fold, folded } from "../layout.js";
import { complain } from "../notices.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import * as outbox from "../outbox.js";
import { route } from "../router.js";
import { filter, query, showsArchived } from "../views.js";
import { Icon } from "./icon.js";
import { LocalRow, Row } from "./row.js";
import { Hits } from "./search.js";
import { t } from "../language.js";

const BEYOND = 20; // rows above and below what is in view
const USUAL_HEIGHT = 36;

export function List() {
  const text = query.value.trim();
  const isWhole = !text && !filter.value && !showsArchived.value;
  // Of what is further down in the list it is not known.
  const mayHaveArchived = next.value || listed.value.some((item) => item.archived);
  const turnArchive = () => {
    showsArchived.value = !showsArchived.value;
    if (showsArchived.value) fetchFiltered("archived=true");
  };
  return html`
    ${!text && html`<${Unsent} />`}
    <${Rows} isWhole=${isWhole} />
    ${
      !groups.value.length &&
      isLoaded.value &&
      !text &&
      html`<p class="muted nothing">
      ${filter.value ? t("nothingFound") : showsArchived.value ? t("nothingArchived") : t("noConversations")}</p>`
    }
    ${text && html`<${Hits} text=${text} />`}
    ${
      next.value &&
      !text &&
      !isWhole &&
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

// Those of all rows that are in view, each as high as the others.
function Rows({ isWhole }) {
  /** @type {{ current: HTMLElement }} */
  const area = useRef(null);
  const [view, setView] = useState({ from: 0, to: 60, height: USUAL_HEIGHT });
  const count = groups.value.reduce((sum, { items }) => sum + 1 + items.length, 0);
  useLayoutEffect(() => {
    const scroller = /** @type {HTMLElement} */ (area.current.parentElement);
    const look = () => {
      const height = area.current.querySelector(".row")?.getBoundingClientRect().height || USUAL_HEIGHT;
      const top = scroller.scrollTop - area.current.offsetTop + scroller.offsetTop;
      const from = Math.max(0, Math.floor(top / height) - BEYOND);
      const to = Math.ceil((top + scroller.clientHeight) / height) + BEYOND;
      setView((before) =>
        before.from === from && before.to === to && before.height === height ? before : { from, to, height },
      );
    };
    look();
    const watched = new ResizeObserver(look);
    watched.observe(scroller);
    scroller.addEventListener("scroll", look, { passive: true });
    return () => {
      watched.disconnect();
      scroller.removeEventListener("scroll", look);
    };
  }, []);
  const isNearEnd = view.to >= count;
  useEffect(() => {
    if (isWhole && isNearEnd && next.value && isLoaded.value) loadMore().catch(complain);
  }, [isWhole, isNearEnd, next.value, isLoaded.value]);
  let at = 0;
  const shown = groups.value.map((group) => {
    const start = at;
    at += 1 + group.items.length;
    if (at <= view.from || start >= view.to) return null;
    const first = Math.max(0, view.from - start - 1);
    return html`<${Section} key=${`${group.isFolder}${group.name}`} group=${group} isHeaded=${start >= view.from} first=${first}
      items=${group.items.slice(first, Math.max(0, view.to - start - 1))} />`;
  });
  const sizes = {
    height: `${count * view.height}px`,
    paddingBlockStart: `${Math.min(view.from, count) * view.height}px`,
  };
  return html`<div class="rows" ref=${area} style=${sizes} aria-busy=${isWhole && isNearEnd && Boolean(next.value)}>${shown}</div>`;
}

function Section({ group, items, first, isHeaded }) {
  const { name, isFolder } = group;
  const isFolded = isFolder && folded.value.includes(name);
  return html`<section aria-label=${name}>
    ${
      isHeaded &&
      html`<h2 dir="auto">${
        isFolder
          ? html`<button type="button" class="plain" aria-expanded=${!isFolded} onClick=${() => fold(name)}><${Icon} name="folder" /><span>${name}</span></button>`
          : name
      }</h2>`
    }
    <ul>${items.map(
      (item, place) =>
        html`<${Row} key=${item.id} about=${item} state=${busy.value[item.id]} place=${first + place + 1} of=${group.items.length}
      isOpen=${route.value.conversation === item.id} />`,
    )}</ul>
  </section>`;
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
