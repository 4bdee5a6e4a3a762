// The page as a whole: the list at the side, and beside it a conversation, the first screen or the sign-in view.

import { needsKey } from "../api.js";
import { html, useEffect } from "../preact.js";
import { Steps } from "../render/steps.js";
import { isCollapsed, width } from "../layout.js";
import * as outbox from "../outbox.js";
import { ROOT, route } from "../router.js";
import { assistantNamed, load, phase } from "../session.js";
import { titleOf } from "../titles.js";
import { artifact, begin, beginAnew, dialog, filed, isLeaving, isSidebarOpen, opened } from "../views.js";
import { Button } from "./actions.js";
import { Administration } from "./admin.js";
import { Artifact } from "./artifact.js";
import { Viewer } from "./attached.js";
import { Branches } from "./branches.js";
import { Composer } from "./composer.js";
import { YourData } from "./data.js";
import { FirstScreen } from "./first.js";
import { FolderChoice } from "./folder.js";
import { Header } from "./header.js";
import { Messages } from "./messages.js";
import { Preferences } from "./preferences.js";
import { Prompts } from "./prompts.js";
import { Settings } from "./settings.js";
import { Share } from "./share.js";
import { Shortcuts } from "./shortcuts.js";
import { Sidebar } from "./sidebar.js";
import { SignIn } from "./signin.js";
import { Toasts } from "./toasts.js";
import { TrialSteps } from "./trial.js";
import { t } from "../language.js";

export function Shell() {
  if (needsKey.value && !isLeaving.value) return html`<${SignIn} /><${Toasts} />`;
  if (phase.value !== "ready") return html`<${Starting} />`;
  const conversation = opened.value;
  return html`<div class="shell" data-collapsed=${isCollapsed.value} style=${{ "--list": `${width.value}px` }}>
    ${!route.value.isUnknown && conversation?.phase.value !== "gone" && html`<a class="skip" href="#composer">${t("skip")}</a>`}
    <${Sidebar} />
    ${isSidebarOpen.value && html`<div class="veil" onClick=${() => (isSidebarOpen.value = false)} />`}
    <div class="stage">
      <${Header} conversation=${conversation} />
      ${conversation ? html`<${Talk} key=${conversation.id} conversation=${conversation} />` : route.value.isUnknown ? html`<${Unknown} />` : html`<${FirstScreen} />`}
    </div>
    ${artifact.value && conversation && html`<${Artifact} conversation=${conversation} what=${artifact.value} />`}
    ${filed.value && html`<${FolderChoice} key=${filed.value.id} about=${filed.value} />`}
    ${dialog.value === "shortcuts" && html`<${Shortcuts} />`}
    ${dialog.value === "tree" && conversation && html`<${Branches} conversation=${conversation} />`}
    ${dialog.value === "data" && html`<${YourData} />`}
    ${dialog.value === "administration" && html`<${Administration} />`}
    ${dialog.value === "settings" && html`<${Settings} conversation=${conversation} />`}
    ${dialog.value === "preferences" && html`<${Preferences} />`}
    ${dialog.value === "prompts" && html`<${Prompts} />`}
    ${dialog.value === "share" && conversation && html`<${Share} conversation=${conversation} />`}
    ${dialog.value === "image" && html`<${Viewer} />`}
    <${Toasts} />
  </div>`;
}

function Starting() {
  useEffect(() => {
    if (phase.value !== "away") return undefined;
    const timer = setInterval(load, 2000);
    return () => clearInterval(timer);
  }, [phase.value]);
  const text = phase.value === "away" ? t("tryingAgain") : "";
  return html`<main class="starting" id="main">
    <img src=${`${ROOT}/static/icon.svg`} alt="" width="44" height="44" /><p role="status">${text}</p>
  </main>`;
}

function Talk({ conversation }) {
  const about = conversation.about.value;
  const title = titleOf(about);
  useEffect(() => {
    document.title = `${title} · Threadkeep`;
    return () => (document.title = "Threadkeep");
  }, [title]);
  if (conversation.phase.value === "gone") return html`<${Gone} conversation=${conversation} />`;
  const states = assistantNamed(about?.assistant)?.states ?? [];
  const isLocal = conversation.phase.value === "local";
  const send = (content, attached) =>
    isLocal ? outbox.add({ conversation: conversation.id, content, attached }) : conversation.send(content, attached);
  const onStop = conversation.isBusy.value ? () => conversation.stop() : null;
  return html`<main class="talk" id="main">
    ${states.length > 0 && html`<div class="steps column"><${Steps} state=${conversation.state.value} states=${states} /></div>`}
    <${Messages} conversation=${conversation} />
    <div class="bottom"><div class="column">
      <${TrialSteps} conversation=${conversation} />
      <${Elsewhere} conversation=${conversation} />
      <${Composer} name=${conversation.id} onSend=${send} onStop=${onStop} placeholder=${t("writeMessage")}
        hint=${hintFor(conversation)} />
    </div></div>
  </main>`;
}

function hintFor(conversation) {
  if (outbox.trouble.value && outbox.waiting.value) return `${outbox.trouble.value} ${t("keptAndSent")}`;
  if (conversation.isBusy.value) return t("hintQueued");
  return matchMedia("(pointer: coarse)").matches ? "" : t("hintKeys");
}

// Says that this is not the branch that goes on: because the person looks elsewhere, or because it moved on.
function Elsewhere({ conversation }) {
  const { phase: state, isCurrent, hasMoved, cut } = conversation;
  const isAsked = outbox.itemsOf(conversation.id).some((item) => item.state === "stale");
  if (state.value !== "ready" || isCurrent.value || cut.value !== null || isAsked) return null;
  const text = hasMoved.value ? t("movedOn") : t("otherBranch");
  return html`<div class="elsewhere" role="group" aria-label=${t("anotherBranch")} data-testid="elsewhere" data-moved=${hasMoved.value}>
    <p>${text}</p>
    <${Button} label=${t("showNewest")} onClick=${() => conversation.look()} />
    ${
      hasMoved.value
        ? html`<${Button} label=${t("stayHere")} onClick=${() => conversation.stay()} />`
        : html`<${Button} label=${t("makeCurrent")} onClick=${() => conversation.choose()} />`
    }
  </div>`;
}

function Unknown() {
  return html`<main class="first" id="main"><div class="column gone" data-testid="unknown">
    <h1>${t("noSuchPage")}</h1>
    <p class="muted">${t("noSuchPageHelp")}</p>
    <${Button} label=${t("beginConversation")} class="button primary" onClick=${() => beginAnew()} />
  </div></main>`;
}

function Gone({ conversation }) {
  const lost = outbox.itemsOf(conversation.id);
  return html`<main class="first" id="main"><div class="column gone" data-testid="gone">
    <h1>${t("noSuchConversation")}</h1>
    <p class="muted">${t("noSuchConversationHelp")}</p>
    ${lost.map(
      (item) =>
        html`<div class="ask" key=${item.key}><p dir="auto">${outbox.wordsOf(item)}</p>
      <${Button} label=${t("sendInNew")} onClick=${() => {
        outbox.takeBack(item);
        begin(item.content, undefined, item.attached);
      }} />
      <${Button} label=${t("discard")} onClick=${() => outbox.discard(item)} /></div>`,
    )}
  </div></main>`;
}
