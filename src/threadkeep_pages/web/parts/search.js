// What was said and matches: each hit with the words around it; it opens its branch at the message.

import { post } from "../api.js";
import { fetchSome } from "../conversations.js";
import { announce } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { addressOf, onLink } from "../router.js";
import { titleOf } from "../titles.js";
import { isSidebarOpen } from "../views.js";
import { t } from "../language.js";

const PAUSE = 180;

export function Hits({ text }) {
  const [found, setFound] = useState({ hits: [], state: "searching" });
  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(() => search(text, ending.signal, setFound), PAUSE);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [text]);
  return html`<section aria-label=${t("foundInMessages")} data-testid="hits">
    <h2>${t("inMessages")}</h2>
    ${found.state !== "done" && html`<p class="muted nothing">${found.state === "searching" ? t("searching") : found.state}</p>`}
    ${found.state === "done" && !found.hits.length && html`<p class="muted nothing">${t("nothingFound")}</p>`}
    <ul>${together(found.hits).map((hits) =>
      hits.map(
        (hit, at) =>
          html`<${Hit} key=${`${hit.conversation}-${hit.entry}`} hit=${hit}
      isFirst=${at === 0} />`,
      ),
    )}</ul>
  </section>`;
}

// Finds messages, and titles of all conversations, which the list above shows.
async function search(text, signal, setFound) {
  const asked = encodeURIComponent(text);
  try {
    const [page, titles] = await Promise.all([
      post("/v1/search", { q: text, limit: 30 }, { signal }),
      fetchSome(`/v1/conversations?limit=50&title=${asked}`),
    ]);
    if (signal.aborted) return;
    const hits = page.data.filter((hit) => hit.kind === "message");
    setFound({ hits, state: "done" });
    announce(
      t("found", { titles: t("titles", { n: titles.length }), messages: t("messagesCount", { n: hits.length }) }),
    );
  } catch (error) {
    if (!signal.aborted) setFound({ hits: [], state: error.message });
  }
}

// The hits of a conversation stand together, where its best one is.
function together(hits) {
  const groups = new Map();
  for (const hit of hits) groups.set(hit.conversation, [...(groups.get(hit.conversation) ?? []), hit]);
  return [...groups.values()];
}

/** @type {Record<string, TextKey>} */
const SPEAKERS = { user: "saidByYou", tool: "saidByTool" };

function Hit({ hit, isFirst }) {
  const onClick = (event) => {
    isSidebarOpen.value = false;
    onLink(event, hit.conversation, { at: hit.entry });
  };
  const title = titleOf({ id: hit.conversation, title: hit.title });
  return html`<li class="hit" data-testid="hit"><a href=${addressOf(hit.conversation, hit.entry)} title=${`${title}\n${hit.snippet}`} onClick=${onClick}>
    <strong dir="auto" class=${isFirst ? "" : "visually-hidden"}>${title}</strong>
    <span dir="auto">${SPEAKERS[hit.role] && t(SPEAKERS[hit.role])}${marked(hit)}</span>
  </a></li>`;
}

// Positions count characters as Python does, where an emoji is one.
function marked({ snippet, highlights }) {
  const letters = Array.from(snippet);
  const parts = [];
  let place = 0;
  for (const [start, end] of highlights) {
    parts.push(letters.slice(place, start).join(""), html`<mark>${letters.slice(start, end).join("")}</mark>`);
    place = end;
  }
  return [...parts, letters.slice(place).join("")];
}
