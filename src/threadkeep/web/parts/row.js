// One conversation in the list: a link, a mark while an answer runs or waits, and a menu.

import { change, remove } from "../conversations.js";
import { html, useState } from "../preact.js";
import { addressOf, go, onLink, route } from "../router.js";
import { isSidebarOpen } from "../views.js";
import { Menu } from "./menu.js";
import { TitleField, titleOf } from "./title.js";

const MARKS = { running: "An answer is being written", waiting: "Waits for your approval" };

export function Row({ about, isOpen, state }) {
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    const save = (text) => {
      setEdited(false);
      if (text.trim() && text.trim() !== about.title) change(about.id, { title: text.trim() });
    };
    return html`<li class="row"><${TitleField} title=${about.title ?? ""} onSave=${save} onLeave=${() => setEdited(false)} /></li>`;
  }
  const items = [
    { label: "Rename", icon: "edit", run: () => setEdited(true) },
    {
      label: about.archived ? "Take out of the archive" : "Archive",
      icon: "archive",
      run: () => change(about.id, { archived: !about.archived }),
    },
    { label: "Delete", icon: "bin", kind: "danger", run: () => leave(about) },
  ];
  const onClick = (event) => {
    isSidebarOpen.value = false;
    onLink(event, about.id);
  };
  return html`<li class="row" data-open=${isOpen} data-testid="conversation">
    <a href=${addressOf(about.id)} aria-current=${isOpen ? "page" : undefined} dir="auto" onClick=${onClick}>${titleOf(about)}</a>
    ${MARKS[state] && html`<span class="mark" data-state=${state} role="img" aria-label=${MARKS[state]} title=${MARKS[state]} />`}
    <${Menu} label=${`More about ${titleOf(about)}`} items=${items} />
  </li>`;
}

async function leave(about) {
  if ((await remove(about)) && route.value.conversation === about.id) go(null);
}

export function LocalRow({ name, text, isOpen }) {
  return html`<li class="row" data-open=${isOpen} data-testid="unsent">
    <a href=${addressOf(name)} aria-current=${isOpen ? "page" : undefined} dir="auto" onClick=${(event) => onLink(event, name)}>${text}</a>
  </li>`;
}
