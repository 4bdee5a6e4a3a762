// The line above a conversation: its title, how it is connected, who answers, and what can be done with it.

import { conversationPath } from "../api.js";
import { remove } from "../conversations.js";
import { copyCurl, copyMarkdown, copyPython, printAll } from "../copying.js";
import { html } from "../preact.js";
import { collapse, isCollapsed } from "../layout.js";
import { ROOT, go } from "../router.js";
import { assistantNamed, assistants, isScripted, modelOf, nameOf } from "../session.js";
import { beginAnew, dialog, isSidebarOpen } from "../views.js";
import { Icon, IconButton } from "./icon.js";
import { Menu } from "./menu.js";
import { canShare } from "./share.js";
import { Status } from "./status.js";
import { Title } from "./title.js";
import { titleOf } from "../titles.js";
import { t } from "../language.js";

export function Header({ conversation }) {
  const about = conversation?.about.value;
  return html`<header class="top">
    <${IconButton} name="menu" label=${t("openList")} class=${isCollapsed.value ? "" : "only-narrow"} data-testid="open-list" aria-expanded=${isSidebarOpen.value}
      onClick=${openList} />
    <div class="heading">
      ${about && html`<${Title} conversation=${conversation} />`}
      ${conversation && !about && /^(?:local|away)$/.test(conversation.phase.value) && html`<h1 class="title" dir="auto">${titleOf({ id: conversation.id, title: null })}</h1>`}
      ${about && assistants.value.length > 1 && html`<span class="assistant muted" data-testid="assistant">${nameOf(assistantNamed(about.assistant))}</span>`}
    </div>
    ${conversation && conversation.phase.value !== "gone" && html`<${Status} conversation=${conversation} />`}
    ${conversation?.readers.value > 1 && html`<${Presence} readers=${conversation.readers.value} />`}
    ${about?.temporary && html`<span class="badge" title=${t("temporaryHelp")} data-testid="temporary">${t("temporary")}</span>`}
    ${about && html`<${Model} about=${about} />`}
    ${about && html`<${IconButton} name="tree" label=${t("branches")} data-testid="branches" onClick=${() => (dialog.value = "tree")} />`}
    ${about && html`<${Menu} label=${t("more")} action="more" items=${itemsFor(conversation, about)} />`}
    <${IconButton} name="plus" label=${t("newConversation")} class=${isCollapsed.value ? "" : "only-narrow"} onClick=${() => beginAnew()} />
  </header>`;
}

function openList() {
  collapse(false);
  isSidebarOpen.value = matchMedia("(width < 48rem)").matches;
}

function Model({ about }) {
  const name = modelOf(about, assistantNamed(about.assistant));
  const text = isScripted(name) ? t("demoScripted") : name;
  return html`<button type="button" class="model" title=${t("modelHint", { model: text })} data-testid="model"
    onClick=${() => (dialog.value = "settings")}>${text}</button>`;
}

function Presence({ readers }) {
  const text = t("openInPlaces", { n: readers });
  return html`<span class="presence" role="img" aria-label=${text} title=${text} data-testid="presence">
    <${Icon} name="people" />${readers}
  </span>`;
}

function itemsFor(conversation, about) {
  const file = (format) =>
    ROOT + conversationPath(conversation.id, "/export", { format, head: conversation.branch.value || null });
  return [
    { label: t("settings"), icon: "sliders", run: () => (dialog.value = "settings") },
    ...(canShare ? [{ label: t("share"), icon: "share", run: () => (dialog.value = "share") }] : []),
    null,
    { label: t("copyMarkdown"), icon: "copy", run: () => copyMarkdown(conversation) },
    { label: t("copyCurl"), icon: "copy", run: () => copyCurl(conversation) },
    { label: t("copyPython"), icon: "copy", run: () => copyPython(conversation) },
    null,
    { label: t("print"), icon: "print", run: () => printAll(conversation) },
    { label: t("exportMarkdown"), icon: "download", href: file("markdown") },
    {
      label: t("exportJson"),
      icon: "download",
      href: ROOT + conversationPath(conversation.id, "/export", { format: "json" }),
    },
    { label: t("exportHtml"), icon: "download", href: file("html") },
    null,
    ...(about.temporary
      ? [{ label: t("keepConversation"), icon: "done", run: () => conversation.change({ temporary: false }) }]
      : []),
    {
      label: about.archived ? t("restore") : t("archive"),
      icon: "archive",
      run: () => conversation.change({ archived: !about.archived }),
    },
    {
      label: t("delete"),
      icon: "bin",
      kind: "danger",
      run: async () => (await remove(about)) && go(null),
    },
  ];
}
