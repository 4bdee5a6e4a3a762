// The line above a conversation: its title, how it is connected, who answers, and what can be done with it.

import { conversationPath } from "../api.js";
import { remove } from "../conversations.js";
import { copyCurl, copyMarkdown, copyPython, printAll } from "../copying.js";
import { html } from "../preact.js";
import { ROOT, go } from "../router.js";
import { assistantNamed, assistants, isScripted, modelOf, nameOf } from "../session.js";
import { beginAnew, dialog, isSidebarOpen } from "../views.js";
import { Icon, IconButton } from "./icon.js";
import { Menu } from "./menu.js";
import { Status } from "./status.js";
import { Title } from "./title.js";

export function Header({ conversation }) {
  const about = conversation?.about.value;
  return html`<header class="top">
    <${IconButton} name="menu" label="Open the list" class="only-narrow" aria-expanded=${isSidebarOpen.value}
      onClick=${() => (isSidebarOpen.value = true)} />
    ${about ? html`<${Title} conversation=${conversation} />` : html`<span class="title" />`}
    ${about && assistants.value.length > 1 && html`<span class="assistant muted" data-testid="assistant">${nameOf(assistantNamed(about.assistant))}</span>`}
    ${conversation && conversation.phase.value !== "gone" && html`<${Status} conversation=${conversation} />`}
    ${conversation?.readers.value > 1 && html`<${Presence} readers=${conversation.readers.value} />`}
    ${about && html`<${Model} about=${about} />`}
    ${about && html`<${IconButton} name="tree" label="Branches" data-testid="branches" onClick=${() => (dialog.value = "tree")} />`}
    ${about && html`<${Menu} label="More" action="more" items=${itemsFor(conversation, about)} />`}
    <${IconButton} name="plus" label="New conversation" class="only-narrow" onClick=${() => beginAnew()} />
  </header>`;
}

function Model({ about }) {
  const name = modelOf(about, assistantNamed(about.assistant));
  const text = isScripted(name) ? "demo · scripted" : name;
  return html`<button type="button" class="model" title=${`${text}: the model that answers; settings`} data-testid="model"
    onClick=${() => (dialog.value = "settings")}>${text}</button>`;
}

function Presence({ readers }) {
  const text = `Open in ${readers} places`;
  return html`<span class="presence" role="img" aria-label=${text} title=${text} data-testid="presence">
    <${Icon} name="people" />${readers}
  </span>`;
}

function itemsFor(conversation, about) {
  const file = (format) =>
    ROOT + conversationPath(conversation.id, "/export", { format, head: conversation.branch.value || null });
  return [
    { label: "Settings", icon: "sliders", run: () => (dialog.value = "settings") },
    null,
    { label: "Copy as Markdown", icon: "copy", run: () => copyMarkdown(conversation) },
    { label: "Copy as curl", icon: "copy", run: () => copyCurl(conversation) },
    { label: "Copy as Python", icon: "copy", run: () => copyPython(conversation) },
    null,
    { label: "Print", icon: "down", run: () => printAll(conversation) },
    { label: "Export Markdown", icon: "down", href: file("markdown") },
    {
      label: "Export JSON",
      icon: "down",
      href: ROOT + conversationPath(conversation.id, "/export", { format: "json" }),
    },
    { label: "Export HTML", icon: "down", href: file("html") },
    null,
    {
      label: about.archived ? "Restore from archive" : "Archive",
      icon: "archive",
      run: () => conversation.change({ archived: !about.archived }),
    },
    {
      label: "Delete",
      icon: "bin",
      kind: "danger",
      run: async () => (await remove(about)) && go(null),
    },
  ];
}
