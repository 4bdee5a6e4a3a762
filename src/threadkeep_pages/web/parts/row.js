// One conversation in the list: a link, a mark while an answer runs or waits, and a menu.

import { change, remove } from "../conversations.js";
import { assistantNamed, assistants, nameOf } from "../session.js";
import { isUnread } from "../unread.js";
import { html, useState } from "../preact.js";
import { addressOf, go, onLink, route } from "../router.js";
import { filed, isSidebarOpen } from "../views.js";
import { Menu } from "./menu.js";
import { titleOf } from "../titles.js";
import { TitleField } from "./title.js";
import { t } from "../language.js";

/** @type {Record<string, TextKey>} */
const MARKS = {
  running: "markRunning",
  waiting: "markWaiting",
  unread: "markUnread",
};

export function Row({ about, isOpen, state, place = undefined, of = undefined }) {
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    const save = (text) => {
      setEdited(false);
      if (text.trim() && text.trim() !== about.title) change(about.id, { title: text.trim() });
    };
    return html`<li class="row"><${TitleField} title=${about.title ?? ""} onSave=${save} onLeave=${() => setEdited(false)} /></li>`;
  }
  const items = [
    { label: t("rename"), icon: "edit", run: () => setEdited(true) },
    {
      label: about.pinned ? t("unpin") : t("pin"),
      icon: "pin",
      run: () => change(about.id, { pinned: !about.pinned }),
    },
    { label: t("moveToFolder"), icon: "folder", run: () => (filed.value = about) },
    {
      label: about.archived ? t("restore") : t("archive"),
      icon: "archive",
      run: () => change(about.id, { archived: !about.archived }),
    },
    { label: t("delete"), icon: "bin", kind: "danger", run: () => leave(about) },
  ];
  const onClick = (event) => {
    isSidebarOpen.value = false;
    onLink(event, about.id);
  };
  const mark = MARKS[state] ? state : !isOpen && isUnread(about) ? "unread" : "";
  const who = assistants.value.length > 1 ? nameOf(assistantNamed(about.assistant)) : "";
  const title = titleOf(about);
  return html`<li class="row" data-open=${isOpen} data-mark=${mark} data-testid="conversation" aria-setsize=${of} aria-posinset=${place}>
    <a href=${addressOf(about.id)} aria-current=${isOpen ? "page" : undefined} dir="auto" title=${who ? `${title} (${who})` : title} onClick=${onClick}>
      <span>${title}</span>
    </a>
    ${mark && html`<span class="mark" data-state=${mark} role="img" aria-label=${t(MARKS[mark])} title=${t(MARKS[mark])} />`}
    <${Menu} label=${t("moreAbout", { title })} items=${items} />
  </li>`;
}

async function leave(about) {
  if ((await remove(about)) && route.value.conversation === about.id) go(null);
}

export function LocalRow({ name, text, isOpen }) {
  return html`<li class="row" data-open=${isOpen} data-testid="unsent">
    <a href=${addressOf(name)} aria-current=${isOpen ? "page" : undefined} dir="auto" title=${text} onClick=${(event) => onLink(event, name)}>${text}</a>
  </li>`;
}
