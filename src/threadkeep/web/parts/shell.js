// The page as a whole: the list at the side, and beside it a conversation, the first screen or the sign-in view.

import { needsKey } from "../api.js";
import { html, useEffect } from "../preact.js";
import { Steps } from "../render/steps.js";
import * as outbox from "../outbox.js";
import { ROOT, route } from "../router.js";
import { assistantNamed, load, phase } from "../session.js";
import { titleOf } from "../titles.js";
import { begin, beginAnew, dialog, filed, isSidebarOpen, opened } from "../views.js";
import { Button } from "./actions.js";
import { Administration } from "./admin.js";
import { Branches } from "./branches.js";
import { Composer } from "./composer.js";
import { YourData } from "./data.js";
import { FirstScreen } from "./first.js";
import { FolderChoice } from "./folder.js";
import { Header } from "./header.js";
import { Messages } from "./messages.js";
import { Settings } from "./settings.js";
import { Shortcuts } from "./shortcuts.js";
import { Sidebar } from "./sidebar.js";
import { SignIn } from "./signin.js";
import { Toasts } from "./toasts.js";
import { TrialSteps } from "./trial.js";

export function Shell() {
  if (needsKey.value) return html`<${SignIn} /><${Toasts} />`;
  if (phase.value !== "ready") return html`<${Starting} />`;
  const conversation = opened.value;
  return html`<div class="shell">
    ${!route.value.isUnknown && conversation?.phase.value !== "gone" && html`<a class="skip" href="#composer">Skip to the message field</a>`}
    <${Sidebar} />
    ${isSidebarOpen.value && html`<div class="veil" onClick=${() => (isSidebarOpen.value = false)} />`}
    <div class="stage">
      <${Header} conversation=${conversation} />
      ${conversation ? html`<${Talk} key=${conversation.id} conversation=${conversation} />` : route.value.isUnknown ? html`<${Unknown} />` : html`<${FirstScreen} />`}
    </div>
    ${filed.value && html`<${FolderChoice} key=${filed.value.id} about=${filed.value} />`}
    ${dialog.value === "shortcuts" && html`<${Shortcuts} />`}
    ${dialog.value === "tree" && conversation && html`<${Branches} conversation=${conversation} />`}
    ${dialog.value === "data" && html`<${YourData} />`}
    ${dialog.value === "administration" && html`<${Administration} />`}
    ${dialog.value === "settings" && html`<${Settings} conversation=${conversation} />`}
    <${Toasts} />
  </div>`;
}

function Starting() {
  useEffect(() => {
    if (phase.value !== "away") return undefined;
    const timer = setInterval(load, 2000);
    return () => clearInterval(timer);
  }, [phase.value]);
  const text = phase.value === "away" ? "The server cannot be reached. Trying again …" : "";
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
  const send = (text) =>
    isLocal ? outbox.add({ conversation: conversation.id, content: text }) : conversation.send(text);
  const onStop = conversation.isBusy.value ? () => conversation.stop() : null;
  return html`<main class="talk" id="main">
    ${states.length > 0 && html`<div class="steps column"><${Steps} state=${conversation.state.value} states=${states} /></div>`}
    <${Messages} conversation=${conversation} />
    <div class="bottom"><div class="column">
      <${TrialSteps} conversation=${conversation} />
      <${Elsewhere} conversation=${conversation} />
      <${Composer} name=${conversation.id} onSend=${send} onStop=${onStop} placeholder="Write a message …"
        hint=${hintFor(conversation)} />
    </div></div>
  </main>`;
}

function hintFor(conversation) {
  if (outbox.trouble.value && outbox.waiting.value)
    return outbox.trouble.value + " What you write is kept in this browser and sent once.";
  if (conversation.isBusy.value) return "You can go on writing: your message is queued behind the answer.";
  return matchMedia("(pointer: coarse)").matches ? "" : "Enter sends, Shift+Enter makes a new line.";
}

// Says that this is not the branch that goes on: because the person looks elsewhere, or because it moved on.
function Elsewhere({ conversation }) {
  const { phase: state, isCurrent, hasMoved, cut } = conversation;
  const isAsked = outbox.itemsOf(conversation.id).some((item) => item.state === "stale");
  if (state.value !== "ready" || isCurrent.value || cut.value !== null || isAsked) return null;
  const text = hasMoved.value
    ? "This conversation went on elsewhere, in another tab or on another device."
    : "You are looking at another branch. What you write continues this one.";
  return html`<div class="elsewhere" role="group" aria-label="Another branch" data-testid="elsewhere" data-moved=${hasMoved.value}>
    <p>${text}</p>
    <${Button} label="Show the newest" onClick=${() => conversation.look()} />
    ${
      hasMoved.value
        ? html`<${Button} label="Stay here" onClick=${() => conversation.stay()} />`
        : html`<${Button} label="Make this the current one" onClick=${() => conversation.choose()} />`
    }
  </div>`;
}

function Unknown() {
  return html`<main class="first" id="main"><div class="column gone" data-testid="unknown">
    <h1>There is no such page.</h1>
    <p class="muted">The address may be misspelt. Your conversations are in the list at the side.</p>
    <${Button} label="Begin a conversation" class="button primary" onClick=${() => beginAnew()} />
  </div></main>`;
}

function Gone({ conversation }) {
  const lost = outbox.itemsOf(conversation.id);
  return html`<main class="first" id="main"><div class="column gone" data-testid="gone">
    <h1>There is no such conversation.</h1>
    <p class="muted">It was deleted, or it belongs to somebody else.</p>
    ${lost.map(
      (item) =>
        html`<div class="ask" key=${item.key}><p dir="auto">${item.content}</p>
      <${Button} label="Send it in a new conversation" onClick=${() => {
        outbox.discard(item);
        begin(item.content);
      }} />
      <${Button} label="Discard" onClick=${() => outbox.discard(item)} /></div>`,
    )}
  </div></main>`;
}
